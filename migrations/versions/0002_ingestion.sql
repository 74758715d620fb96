-- Leases and dead letters of the queue, boxes of the words on a page, the model that a workspace is searched with,
-- and a corpus_version whose cost does not grow with the number of documents.

-- A claim is held while its lease lasts; its holder renews it. Page numbers without text are what an owner is told.
-- A run that resumes a stage does not begin it at 0: the pace is that of the steps since then.
ALTER TABLE contents
    ADD COLUMN lease_until timestamptz,
    ADD COLUMN stage_started_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN stage_started_done integer NOT NULL DEFAULT 0,
    ADD COLUMN pages_without_text integer[] NOT NULL DEFAULT '{}';

-- Where the words of a page stand, packed (app/core/boxes.py); the size is in points, and unknown for texts.
ALTER TABLE pages
    ADD COLUMN width real,
    ADD COLUMN height real,
    ADD COLUMN boxes bytea NOT NULL DEFAULT '';

-- What came lately: read at every upload of a new document.
CREATE INDEX versions_created_idx ON versions (workspace_id, created_at);

-- The model that questions are compared by. Empty until the first content is ready; changed at once for the whole
-- workspace, when every ready content has vectors of the new model.
ALTER TABLE workspaces ADD COLUMN embedding_model text NOT NULL DEFAULT '';

-- Jobs that were given up. The nil workspace holds those whose payload names no workspace; only operators see them.
CREATE TABLE dead_letters (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    task text NOT NULL,
    payload jsonb NOT NULL,
    content_sha256 text,
    reason text NOT NULL,
    detail text NOT NULL,
    attempts integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    requeued_at timestamptz,
    requeued_by uuid REFERENCES users (id),
    PRIMARY KEY (workspace_id, id)
);
CREATE INDEX dead_letters_created_idx ON dead_letters (workspace_id, created_at, id);
CREATE UNIQUE INDEX dead_letters_open_content_key ON dead_letters (workspace_id, content_sha256)
    WHERE requeued_at IS NULL AND content_sha256 IS NOT NULL;

-- Keys of stored bytes that no content refers to yet, or any more. Written before the bytes, so that a power cut
-- between the two leaves nothing behind that nobody knows of. No foreign key: it outlives its workspace.
CREATE TABLE pending_blobs (
    workspace_id uuid NOT NULL,
    blob_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, blob_key)
);
CREATE INDEX pending_blobs_created_idx ON pending_blobs (created_at);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['dead_letters', 'pending_blobs'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format(
            'CREATE POLICY workspace_isolation ON %I '
            'USING (workspace_id = nullif(current_setting(''app.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = nullif(current_setting(''app.workspace_id'', true), '''')::uuid)',
            tenant_table
        );
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO groundeddocs_app', tenant_table);
        EXECUTE format('GRANT SELECT ON %I TO groundeddocs_auditor', tenant_table);
    END LOOP;
END
$$;

CREATE FUNCTION forget_dead_letters() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM dead_letters WHERE workspace_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER workspaces_forget_dead_letters AFTER DELETE ON workspaces
    FOR EACH ROW EXECUTE FUNCTION forget_dead_letters();

-- What a workspace waits for, last one first, for the fair share: read at every upload.
CREATE INDEX procrastinate_jobs_workspace_idx ON procrastinate_jobs ((args ->> 'workspace_id'), queue_name, priority)
    WHERE status IN ('todo', 'doing');

-- Who holds or waits for a lock. The queue asks this of each job that may be next: without it, 10,000 jobs that came
-- before the planner's statistics of them cost 7 seconds at each fetch, with it 0.1.
CREATE INDEX procrastinate_jobs_held_lock_idx ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing');

-- Jobs come in bursts and go again: its statistics, and the ends of its indexes, are kept fresh.
ALTER TABLE procrastinate_jobs SET (
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- Jobs that ended without success, of which there are few; each sweep looks for them.
CREATE INDEX procrastinate_jobs_ended_idx ON procrastinate_jobs (id) WHERE status IN ('failed', 'aborted', 'cancelled');

GRANT SELECT ON pending_blobs, workspaces TO groundeddocs_maintenance;
SET ROLE groundeddocs_maintenance;

-- A content is left behind when its lease, or without one its last change, is older than this and no job is for it.
CREATE OR REPLACE FUNCTION find_unfinished_contents(silent_for interval)
    RETURNS TABLE (workspace_id uuid, sha256 text, created_by uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.workspace_id, c.sha256, c.created_by FROM contents c
    WHERE c.status NOT IN ('ready', 'failed') AND greatest(c.updated_at, c.lease_until) < now() - silent_for
      AND NOT EXISTS (
          SELECT 1 FROM procrastinate_jobs j
          WHERE j.lock = concat_ws(':', 'ingest', c.workspace_id, c.sha256) AND j.status IN ('todo', 'doing'))
    ORDER BY c.updated_at LIMIT 1000
$$;

CREATE FUNCTION find_pending_blobs(older_than interval) RETURNS TABLE (workspace_id uuid, blob_key text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT p.workspace_id, p.blob_key FROM pending_blobs p
    WHERE p.created_at < now() - older_than ORDER BY p.created_at LIMIT 1000
$$;

CREATE FUNCTION find_workspaces_of_other_models(wanted text) RETURNS TABLE (workspace_id uuid, created_by uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT w.id, w.created_by FROM workspaces w
    WHERE w.embedding_model NOT IN ('', wanted) ORDER BY w.id LIMIT 1000
$$;

REVOKE ALL ON FUNCTION find_pending_blobs(interval), find_workspaces_of_other_models(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_pending_blobs(interval), find_workspaces_of_other_models(text) TO groundeddocs_app;
RESET ROLE;

-- corpus_version: a hash over the set of (document, current content hash, parser, chunker, embedder). Each document
-- keeps its own term, and the workspace the exclusive or of all terms: one change costs the same in a workspace of
-- ten documents and of ten thousand. A document is in the set once, so no term can meet itself and vanish.
ALTER TABLE workspaces ADD COLUMN corpus_terms bit(128) NOT NULL DEFAULT repeat('0', 128)::bit(128);
ALTER TABLE workspaces ALTER COLUMN corpus_version SET DEFAULT md5(repeat('0', 128));
ALTER TABLE documents ADD COLUMN corpus_term bit(128) NOT NULL DEFAULT repeat('0', 128)::bit(128);

DROP TRIGGER documents_corpus_inserted ON documents;
DROP TRIGGER documents_corpus_changed ON documents;
DROP TRIGGER documents_corpus_deleted ON documents;
DROP TRIGGER contents_corpus_changed ON contents;
DROP FUNCTION corpus_changed();
DROP FUNCTION refresh_corpus_version(uuid);

-- Both rows are held until the end of the transaction: whoever changes one of them at the same time is either waited
-- for and seen here, or waits and sees this document. One after the other, each as it is now: a join of both would lose
-- a version that was given another content meanwhile.
CREATE FUNCTION set_corpus_term() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    content text;
    term bit(128);
BEGIN
    SELECT v.content_sha256 INTO content FROM versions v
    WHERE v.workspace_id = NEW.workspace_id AND v.id = NEW.current_version_id
    FOR SHARE;
    SELECT ('x' || md5(concat_ws(
        ':', NEW.id, c.sha256, c.parser_version, c.chunker_version, c.embedding_model
    )))::bit(128) INTO term FROM contents c
    WHERE c.workspace_id = NEW.workspace_id AND c.sha256 = content
    FOR SHARE;
    NEW.corpus_term := coalesce(term, repeat('0', 128)::bit(128));
    RETURN NEW;
END
$$;
CREATE TRIGGER documents_corpus_term_first BEFORE INSERT ON documents
    FOR EACH ROW EXECUTE FUNCTION set_corpus_term();
-- A term that somebody writes is another one, and is set rightly again; a new name changes none.
CREATE TRIGGER documents_corpus_term BEFORE UPDATE ON documents
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.id, OLD.current_version_id, OLD.corpus_term)
        IS DISTINCT FROM (NEW.workspace_id, NEW.id, NEW.current_version_id, NEW.corpus_term)
    ) EXECUTE FUNCTION set_corpus_term();

-- Once for each statement: a thousand documents that change together change their workspace's row once.
CREATE FUNCTION add_corpus_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspaces w
    SET corpus_terms = w.corpus_terms # c.terms, corpus_version = md5((w.corpus_terms # c.terms)::text)
    FROM (SELECT workspace_id, bit_xor(corpus_term) AS terms FROM changed GROUP BY workspace_id) c
    WHERE w.id = c.workspace_id AND c.terms <> repeat('0', 128)::bit(128);
    RETURN NULL;
END
$$;
CREATE TRIGGER documents_corpus_inserted AFTER INSERT ON documents
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION add_corpus_terms();
CREATE TRIGGER documents_corpus_deleted AFTER DELETE ON documents
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION add_corpus_terms();

CREATE FUNCTION change_corpus_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE workspaces w
    SET corpus_terms = w.corpus_terms # c.terms, corpus_version = md5((w.corpus_terms # c.terms)::text)
    FROM (
        SELECT workspace_id, bit_xor(corpus_term) AS terms FROM (
            SELECT workspace_id, corpus_term FROM before UNION ALL SELECT workspace_id, corpus_term FROM after
        ) both_sides GROUP BY workspace_id
    ) c
    WHERE w.id = c.workspace_id AND c.terms <> repeat('0', 128)::bit(128);
    RETURN NULL;
END
$$;
CREATE TRIGGER documents_corpus_changed AFTER UPDATE ON documents
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION change_corpus_terms();

-- What a term is made of can come or change beside the document's row: a term that is written is set again. Progress
-- is written to contents all the time; that touches no document.
CREATE FUNCTION touch_documents_of_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE documents d SET corpus_term = ~d.corpus_term
    FROM versions v
    JOIN (
        SELECT workspace_id, sha256, parser_version, chunker_version, embedding_model FROM after
        EXCEPT
        SELECT workspace_id, sha256, parser_version, chunker_version, embedding_model FROM before
    ) c ON c.workspace_id = v.workspace_id AND c.sha256 = v.content_sha256
    WHERE d.workspace_id = v.workspace_id AND d.current_version_id = v.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER contents_corpus_changed AFTER UPDATE ON contents
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT
    EXECUTE FUNCTION touch_documents_of_contents();

CREATE FUNCTION touch_documents_of_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE documents d SET corpus_term = ~d.corpus_term
    FROM versions v
    WHERE v.workspace_id = NEW.workspace_id AND v.content_sha256 = NEW.sha256
      AND d.workspace_id = NEW.workspace_id AND d.current_version_id = v.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER contents_corpus_inserted AFTER INSERT ON contents
    FOR EACH ROW EXECUTE FUNCTION touch_documents_of_content();

CREATE FUNCTION touch_document_of_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE documents d SET corpus_term = ~d.corpus_term
    WHERE d.workspace_id = NEW.workspace_id AND d.current_version_id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER versions_corpus_changed AFTER INSERT OR UPDATE ON versions
    FOR EACH ROW EXECUTE FUNCTION touch_document_of_version();

-- What is there already. Migrations run as the owner of the tables, whom FORCE binds to no workspace: lifted meanwhile.
ALTER TABLE workspaces NO FORCE ROW LEVEL SECURITY;
ALTER TABLE documents NO FORCE ROW LEVEL SECURITY;
ALTER TABLE versions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE contents NO FORCE ROW LEVEL SECURITY;
UPDATE workspaces SET corpus_version = md5(corpus_terms::text);
UPDATE documents SET corpus_term = ~corpus_term WHERE current_version_id IS NOT NULL;
UPDATE workspaces w SET embedding_model = coalesce((
    SELECT max(c.embedding_model) FROM contents c WHERE c.workspace_id = w.id AND c.status = 'ready'
), '');
ALTER TABLE workspaces FORCE ROW LEVEL SECURITY;
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
ALTER TABLE versions FORCE ROW LEVEL SECURITY;
ALTER TABLE contents FORCE ROW LEVEL SECURITY;
