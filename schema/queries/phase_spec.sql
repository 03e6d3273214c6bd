SELECT spec FROM phase WHERE id = :phase
