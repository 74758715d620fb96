-- What a workspace waits for in a lane goes back by the cost of a run that comes before it.
-- The rows are locked in one order, so that two such statements never wait for each other.
UPDATE procrastinate_jobs
SET priority = greatest(priority::bigint - :cost, -:last_tag)
WHERE id IN (
    SELECT own.id FROM procrastinate_jobs AS own
    WHERE own.args ->> 'workspace_id' = :workspace_id AND own.queue_name = :lane AND own.status = 'todo'
    ORDER BY own.id FOR UPDATE
)
