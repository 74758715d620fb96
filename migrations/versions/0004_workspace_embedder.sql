-- The embedder that a workspace's owner has chosen: the one in this service, the one of its model server, or whichever
-- the service is configured with. embedding_model stays what questions are compared by; it follows when all is embedded.

ALTER TABLE workspaces
    ADD COLUMN embedder text NOT NULL DEFAULT 'default'
        CONSTRAINT workspaces_embedder_known CHECK (embedder IN ('default', 'local', 'remote'));

-- Workspaces that chose this embedder and are not searched by its model yet. Without a choice, as the code that still
-- runs calls it, those that follow the configuration.
SET ROLE groundeddocs_maintenance;
DROP FUNCTION find_workspaces_of_other_models(text);
CREATE FUNCTION find_workspaces_of_other_models(wanted text, chosen text DEFAULT 'default')
    RETURNS TABLE (workspace_id uuid, created_by uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT w.id, w.created_by FROM workspaces w
    WHERE w.embedder = chosen AND w.embedding_model NOT IN ('', wanted) ORDER BY w.id LIMIT 1000
$$;
REVOKE ALL ON FUNCTION find_workspaces_of_other_models(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_workspaces_of_other_models(text, text) TO groundeddocs_app;
RESET ROLE;
