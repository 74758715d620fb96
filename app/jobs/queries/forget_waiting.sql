-- Takes waiting jobs out of the queue, in the order of their ids like `move_back`.
DELETE FROM procrastinate_jobs
WHERE id IN (
    SELECT waiting.id FROM procrastinate_jobs AS waiting
    WHERE waiting.queueing_lock = ANY(:locks) AND waiting.status = 'todo'
    ORDER BY waiting.id FOR UPDATE
)
