-- Whether a job of another workspace could run now if a slot of this lane were free.
SELECT EXISTS (
    SELECT FROM procrastinate_jobs AS waiting
    WHERE waiting.status = 'todo' AND waiting.queue_name = :lane
      AND (waiting.scheduled_at IS NULL OR waiting.scheduled_at <= now())
      AND waiting.args ->> 'workspace_id' IS DISTINCT FROM :workspace_id
      AND NOT EXISTS (
          SELECT FROM procrastinate_jobs AS running WHERE running.lock = waiting.lock AND running.status = 'doing'
      )
)
