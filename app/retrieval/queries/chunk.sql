-- chunk: one chunk, readable through any version of a document that this user may read, so that old citations open.
-- Chunks are stored batch by batch before their content is ready; until then they do not exist for anyone.
-- The version that is current comes first, then the oldest document.

SELECT c.id AS chunk_id, d.id AS document_id, d.name AS document_name, v.id AS version_id, c.content_sha256, c.ordinal,
       c.page_start, c.page_end, c.start_offset, c.end_offset, c.text, c.heading, c.token_count,
       ARRAY(
           SELECT p.start_offset FROM pages p
           WHERE p.workspace_id = :workspace_id AND p.content_sha256 = c.content_sha256
             AND p.number BETWEEN c.page_start AND c.page_end
           ORDER BY p.number
       ) AS page_offsets
FROM chunks c
JOIN contents o ON o.workspace_id = :workspace_id AND o.sha256 = c.content_sha256 AND o.status = 'ready'
JOIN versions v ON v.workspace_id = :workspace_id AND v.content_sha256 = c.content_sha256
JOIN readable_documents(:workspace_id, :user_id) AS d ON d.id = v.document_id
WHERE c.workspace_id = :workspace_id
  AND c.id = :chunk_id
ORDER BY (d.current_version_id = v.id) DESC NULLS LAST, d.created_at, d.id
LIMIT 1
