-- neighbours: the chunks before and after some chunks, of contents that this user can search now; each under the name
-- by which a search gives it, which is that of the oldest document.

WITH member AS MATERIALIZED (
    -- Read anew in each statement: who was removed meanwhile reads nothing.
    SELECT m.role FROM memberships m WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
),
source AS MATERIALIZED (
    SELECT DISTINCT ON (d.current_content) d.current_content AS content_sha256, d.id AS document_id, d.name,
           d.current_version_id AS version_id
    FROM member m
    JOIN documents d ON d.workspace_id = :workspace_id AND d.current_content = ANY (CAST(:contents AS text[]))
    WHERE d.visibility = 'workspace'
       OR EXISTS (
           SELECT 1 FROM document_grants g
           WHERE g.workspace_id = :workspace_id AND g.document_id = d.id AND g.user_id = :user_id)
       -- What nobody may read any more, since its readers have left, falls to the owners.
       OR (m.role = 'owner' AND NOT EXISTS (
           SELECT 1 FROM document_grants g WHERE g.workspace_id = :workspace_id AND g.document_id = d.id))
    ORDER BY d.current_content, d.created_at, d.id
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
