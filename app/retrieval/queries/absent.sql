-- absent: the numbers of those identifiers of a question that no current document of this reader holds in any of their
-- forms, in its text, its headings or its name. Numbers are never synonyms: what is absent cannot be answered.

WITH member AS MATERIALIZED (
    SELECT m.role FROM memberships m WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
),
readable AS MATERIALIZED (
    SELECT d.current_content AS content_sha256, d.identifiers
    FROM member m
    JOIN documents d ON d.workspace_id = :workspace_id AND d.current_content IS NOT NULL
    WHERE d.visibility = 'workspace'
       OR EXISTS (
           SELECT 1 FROM document_grants g
           WHERE g.workspace_id = :workspace_id AND g.document_id = d.id AND g.user_id = :user_id)
       -- What nobody may read any more, since its readers have left, falls to the owners.
       OR (m.role = 'owner' AND NOT EXISTS (
           SELECT 1 FROM document_grants g WHERE g.workspace_id = :workspace_id AND g.document_id = d.id))
)
SELECT a.number
FROM unnest(CAST(:identifiers AS text[]), CAST(:identifier_numbers AS integer[])) AS a (identifier, number)
GROUP BY a.number
HAVING NOT EXISTS (SELECT 1 FROM readable r WHERE r.identifiers && array_agg(a.identifier))
   AND NOT EXISTS (
       SELECT 1 FROM chunks c
       WHERE c.workspace_id = :workspace_id AND c.identifiers && array_agg(a.identifier)
         AND c.content_sha256 IN (SELECT r.content_sha256 FROM readable r))
ORDER BY a.number
