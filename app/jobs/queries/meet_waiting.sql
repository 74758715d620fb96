-- Lets the job that waits under a lock serve one more wish. Its row is held, so that it does not begin before what the
-- wish is about is committed. A job without a time waits for a slot only; of two times the earlier or the later one holds.
UPDATE procrastinate_jobs
SET scheduled_at = CASE
    WHEN CAST(:latest AS boolean) THEN greatest(scheduled_at, CAST(:at AS timestamptz))
    WHEN scheduled_at <= CAST(:at AS timestamptz) THEN scheduled_at
    WHEN scheduled_at IS NOT NULL THEN CAST(:at AS timestamptz)
END
WHERE queueing_lock = :lock AND status = 'todo'
RETURNING id
