-- When some time from now is, by the clock that the queue gives out its jobs by: that of a worker may be wrong.
SELECT now() + CAST(:after AS interval)
