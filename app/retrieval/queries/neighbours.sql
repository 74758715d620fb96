-- neighbours: the chunks before and after some chunks, of contents that this user can search now; each under the name
-- by which a search gives it, which is that of the oldest document.

WITH source AS MATERIALIZED (
    SELECT DISTINCT ON (r.current_content) r.current_content AS content_sha256, r.id AS document_id, r.name,
           r.current_version_id AS version_id
    FROM readable_documents(:workspace_id, :user_id) AS r
    WHERE r.current_content = ANY (CAST(:contents AS text[]))
    ORDER BY r.current_content, r.created_at, r.id
),
wanted AS (
    SELECT DISTINCT a.content_sha256, a.ordinal + s.step AS ordinal
    FROM unnest(CAST(:contents AS text[]), CAST(:ordinals AS integer[])) AS a (content_sha256, ordinal)
    CROSS JOIN (VALUES (-1), (1)) AS s (step)
)
SELECT c.id AS chunk_id, s.document_id, s.name AS document_name, s.version_id, c.content_sha256, c.ordinal,
       c.page_start, c.page_end, c.start_offset, c.end_offset, c.text, c.heading, c.token_count,
       ARRAY(
           SELECT p.start_offset FROM pages p
           WHERE p.workspace_id = :workspace_id AND p.content_sha256 = c.content_sha256
             AND p.number BETWEEN c.page_start AND c.page_end
           ORDER BY p.number
       ) AS page_offsets
FROM wanted w
JOIN source s ON s.content_sha256 = w.content_sha256
JOIN chunks c ON c.workspace_id = :workspace_id AND c.content_sha256 = w.content_sha256 AND c.ordinal = w.ordinal
ORDER BY c.content_sha256, c.ordinal
