-- Takes all waiting jobs of a workspace out of the queue, in the order of their ids like `move_back`.
DELETE FROM procrastinate_jobs
WHERE id IN (
    SELECT waiting.id FROM procrastinate_jobs AS waiting
    WHERE waiting.args ->> 'workspace_id' = :workspace_id AND waiting.status = 'todo'
      AND waiting.task_name = ANY(:tasks)
    ORDER BY waiting.id FOR UPDATE
)
