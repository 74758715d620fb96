-- corpus_state: how much of the workspace this user can search now, and what is still on its way.

SELECT count(d.id) AS documents_readable,
       count(d.current_version_id) AS documents_ready,
       count(d.id) FILTER (WHERE c.status NOT IN ('ready', 'failed')) AS documents_in_progress,
       (SELECT w.corpus_version FROM workspaces w WHERE w.id = :workspace_id) AS corpus_version
FROM documents d
LEFT JOIN versions v ON v.workspace_id = :workspace_id AND v.id = d.latest_version_id
LEFT JOIN contents c ON c.workspace_id = :workspace_id AND c.sha256 = v.content_sha256
WHERE d.workspace_id = :workspace_id
  AND EXISTS (
      -- Read anew in each statement: who was removed meanwhile reads nothing. What nobody may read any more, since its
      -- readers have left, falls to the owners.
      SELECT 1 FROM memberships m
      WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
        AND (d.visibility = 'workspace'
             OR EXISTS (
                 SELECT 1 FROM document_grants g
                 WHERE g.workspace_id = :workspace_id AND g.document_id = d.id AND g.user_id = :user_id)
             OR (m.role = 'owner' AND NOT EXISTS (
                 SELECT 1 FROM document_grants g
                 WHERE g.workspace_id = :workspace_id AND g.document_id = d.id))))
