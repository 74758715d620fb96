-- What the tag of a new job is made from. The clock is the tag of the running job that came last; while none runs, the
-- one that would be next. Each part reads one end of an index, however many jobs wait: the lane of the clock is written
-- as an expression, since an index over the names of lanes would be read to its end before statistics are there.
SELECT
    coalesce(
        (
            SELECT -running.priority FROM procrastinate_jobs AS running
            WHERE running.status = 'doing' AND running.queue_name || '' = :lane
            ORDER BY running.priority LIMIT 1
        ),
        (
            SELECT -waiting.priority FROM procrastinate_jobs AS waiting
            WHERE waiting.status = 'todo' AND waiting.queue_name || '' = :lane
            ORDER BY waiting.priority DESC LIMIT 1
        ),
        0
    ) AS clock,
    last.tag AS last_tag,
    coalesce(last.size_bytes, 0) AS last_size_bytes
FROM (SELECT) AS nothing
LEFT JOIN LATERAL (
    SELECT -own.priority AS tag, substring(own.args ->> 'size_bytes' FROM '^\d{1,18}$')::bigint AS size_bytes
    FROM procrastinate_jobs AS own
    WHERE own.args ->> 'workspace_id' = :workspace_id AND own.queue_name = :lane AND own.status IN ('todo', 'doing')
    ORDER BY own.priority LIMIT 1
) AS last ON true
