SELECT state FROM v_workflow WHERE workflow = :workflow
