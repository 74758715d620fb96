-- corpus_state: how much of the workspace this user can search now, and what is still on its way.

SELECT count(d.id) AS documents_readable,
       count(d.current_version_id) AS documents_ready,
       count(d.id) FILTER (WHERE c.status NOT IN ('ready', 'failed')) AS documents_in_progress,
       (SELECT w.corpus_version FROM workspaces w WHERE w.id = :workspace_id) AS corpus_version
FROM readable_documents(:workspace_id, :user_id) AS d
LEFT JOIN versions v ON v.workspace_id = :workspace_id AND v.id = d.latest_version_id
LEFT JOIN contents c ON c.workspace_id = :workspace_id AND c.sha256 = v.content_sha256
