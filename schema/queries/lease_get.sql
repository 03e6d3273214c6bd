SELECT owner, pid, host FROM lease
