-- Tenants, documents, chunks, answers. Each tenant table carries workspace_id in its primary key and in every
-- foreign key, so that a row can never refer to another workspace's row.

CREATE TABLE users (
    id uuid PRIMARY KEY,
    issuer text NOT NULL,
    subject text NOT NULL,
    email text,
    display_name text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT users_issuer_subject_key UNIQUE (issuer, subject)
);

CREATE TABLE workspaces (
    id uuid PRIMARY KEY,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    corpus_version text NOT NULL DEFAULT md5(''),
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE memberships (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id uuid NOT NULL REFERENCES users (id),
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_user_id_idx ON memberships (user_id);

CREATE TABLE invitations (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    token_sha256 text NOT NULL,
    role text NOT NULL CHECK (role IN ('owner', 'member')),
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    accepted_by uuid REFERENCES users (id),
    accepted_at timestamptz,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT invitations_token_sha256_key UNIQUE (token_sha256)
);

-- What was made from one file's bytes, once in a workspace, however many documents hold these bytes.
CREATE TABLE contents (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    blob_key text NOT NULL,
    media_type text NOT NULL,
    size_bytes bigint NOT NULL,
    status text NOT NULL DEFAULT 'queued'
        CHECK (status IN ('queued', 'parsing', 'chunking', 'embedding', 'ready', 'failed')),
    done integer NOT NULL DEFAULT 0,
    total integer NOT NULL DEFAULT 0,
    reason text,
    detail text,
    warnings text[] NOT NULL DEFAULT '{}',
    page_count integer NOT NULL DEFAULT 0,
    chunk_count integer NOT NULL DEFAULT 0,
    parser_version text NOT NULL DEFAULT '',
    chunker_version text NOT NULL DEFAULT '',
    embedding_model text NOT NULL DEFAULT '',
    created_by uuid NOT NULL REFERENCES users (id),
    attempts integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, sha256),
    CONSTRAINT contents_ready_has_chunks CHECK (status <> 'ready' OR chunk_count > 0),
    CONSTRAINT contents_failed_has_reason CHECK ((status = 'failed') = (reason IS NOT NULL))
);

CREATE TABLE documents (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    visibility text NOT NULL CHECK (visibility IN ('workspace', 'restricted')),
    identifiers text[] NOT NULL DEFAULT '{}',
    named_by uuid NOT NULL REFERENCES users (id),
    latest_version_id uuid,
    current_version_id uuid,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);
-- A name is taken once among what the whole workspace sees, and once among the restricted documents that one person
-- named: a restricted document must not be noticed by its name either.
CREATE UNIQUE INDEX documents_workspace_name_key ON documents (workspace_id, name) WHERE visibility = 'workspace';
CREATE UNIQUE INDEX documents_restricted_name_key ON documents (workspace_id, named_by, name)
    WHERE visibility = 'restricted';
CREATE INDEX documents_created_idx ON documents (workspace_id, created_at, id);
CREATE INDEX documents_current_version_idx ON documents (workspace_id, current_version_id);
CREATE INDEX documents_latest_version_idx ON documents (workspace_id, latest_version_id);

CREATE TABLE versions (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    document_id uuid NOT NULL,
    content_sha256 text NOT NULL,
    number integer NOT NULL,
    created_by uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT versions_document_content_key UNIQUE (workspace_id, document_id, content_sha256),
    CONSTRAINT versions_document_number_key UNIQUE (workspace_id, document_id, number),
    FOREIGN KEY (workspace_id, document_id) REFERENCES documents (workspace_id, id) ON DELETE CASCADE,
    -- Deferred: when a workspace is deleted, its contents go before the versions that refer to them.
    FOREIGN KEY (workspace_id, content_sha256) REFERENCES contents (workspace_id, sha256)
        DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX versions_content_idx ON versions (workspace_id, content_sha256);
ALTER TABLE documents
    ADD CONSTRAINT documents_latest_version_fkey FOREIGN KEY (workspace_id, latest_version_id)
        REFERENCES versions (workspace_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT documents_current_version_fkey FOREIGN KEY (workspace_id, current_version_id)
        REFERENCES versions (workspace_id, id) DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE document_grants (
    workspace_id uuid NOT NULL,
    document_id uuid NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (workspace_id, document_id, user_id),
    FOREIGN KEY (workspace_id, document_id) REFERENCES documents (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, user_id) REFERENCES memberships (workspace_id, user_id) ON DELETE CASCADE
);
CREATE INDEX document_grants_user_idx ON document_grants (workspace_id, user_id);

-- The canonical text: page texts in order of their numbers, joined, are the text that all offsets count in.
CREATE TABLE pages (
    workspace_id uuid NOT NULL,
    content_sha256 text NOT NULL,
    number integer NOT NULL,
    label text NOT NULL,
    start_offset integer NOT NULL,
    text text NOT NULL,
    furniture text[] NOT NULL DEFAULT '{}',
    has_text boolean NOT NULL,
    PRIMARY KEY (workspace_id, content_sha256, number),
    FOREIGN KEY (workspace_id, content_sha256) REFERENCES contents (workspace_id, sha256) ON DELETE CASCADE
);

CREATE TABLE chunks (
    workspace_id uuid NOT NULL,
    id uuid NOT NULL,
    content_sha256 text NOT NULL,
    ordinal integer NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    page_start integer NOT NULL,
    page_end integer NOT NULL,
    heading text NOT NULL,
    text text NOT NULL,
    token_count integer NOT NULL,
    identifiers text[] NOT NULL,
    tsv tsvector NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT chunks_ordinal_key UNIQUE (workspace_id, content_sha256, ordinal),
    CONSTRAINT chunks_offsets_check CHECK (start_offset >= 0 AND end_offset > start_offset),
    FOREIGN KEY (workspace_id, content_sha256) REFERENCES contents (workspace_id, sha256) ON DELETE CASCADE
);
CREATE INDEX chunks_tsv_idx ON chunks USING gin (workspace_id, tsv);
CREATE INDEX chunks_identifiers_idx ON chunks USING gin (workspace_id, identifiers);

-- Narrow on purpose: an exact scan of one workspace reads only this table.
CREATE TABLE chunk_embeddings (
    workspace_id uuid NOT NULL,
    model text NOT NULL,
    chunk_id uuid NOT NULL,
    content_sha256 text NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (workspace_id, model, chunk_id),
    FOREIGN KEY (workspace_id, chunk_id) REFERENCES chunks (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX chunk_embeddings_chunk_idx ON chunk_embeddings (workspace_id, chunk_id);

CREATE TABLE conversations (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE answers (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    conversation_id uuid,
    question text NOT NULL,
    standalone_question text NOT NULL,
    status text NOT NULL CHECK (status IN ('answered', 'partial', 'abstained')),
    reason text,
    missing text[] NOT NULL DEFAULT '{}',
    claim_count integer NOT NULL,
    path text NOT NULL,
    model text NOT NULL,
    prompt_version text NOT NULL,
    corpus_version text NOT NULL,
    context_chunk_ids uuid[] NOT NULL DEFAULT '{}',
    score double precision NOT NULL,
    input_tokens integer NOT NULL DEFAULT 0,
    output_tokens integer NOT NULL DEFAULT 0,
    cost_microusd bigint NOT NULL DEFAULT 0,
    model_calls integer NOT NULL DEFAULT 0,
    trace_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT answers_abstained_has_reason CHECK ((status = 'abstained') = (reason IS NOT NULL)),
    FOREIGN KEY (workspace_id, conversation_id) REFERENCES conversations (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX answers_user_idx ON answers (workspace_id, user_id, created_at);
CREATE INDEX answers_conversation_idx ON answers (workspace_id, conversation_id);

-- A claim lives in the rows of its citations, so that deleting a document takes its quotes and claims with it.
CREATE TABLE answer_citations (
    workspace_id uuid NOT NULL,
    answer_id uuid NOT NULL,
    n integer NOT NULL,
    claim integer NOT NULL,
    claim_text text NOT NULL,
    conflict integer,
    chunk_id uuid NOT NULL,
    document_id uuid NOT NULL,
    version_id uuid NOT NULL,
    page integer NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    quote text NOT NULL,
    PRIMARY KEY (workspace_id, answer_id, n),
    FOREIGN KEY (workspace_id, answer_id) REFERENCES answers (workspace_id, id) ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, document_id) REFERENCES documents (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX answer_citations_document_idx ON answer_citations (workspace_id, document_id);

-- Row-level security: the second wall behind the WHERE of each statement. Unset or empty variables match nothing.
ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspaces FORCE ROW LEVEL SECURITY;
CREATE POLICY workspace_isolation ON workspaces
    USING (
        id = nullif(current_setting('app.workspace_id', true), '')::uuid
        OR id IN (
            SELECT workspace_id FROM memberships
            WHERE user_id = nullif(current_setting('app.user_id', true), '')::uuid
        )
    )
    WITH CHECK (id = nullif(current_setting('app.workspace_id', true), '')::uuid);

ALTER TABLE memberships ENABLE ROW LEVEL SECURITY;
ALTER TABLE memberships FORCE ROW LEVEL SECURITY;
-- Bound to a workspace: its rows. Bound to a user: their own rows. Bound to both: that one row, so that whether
-- somebody may enter is decided rightly even by a statement that forgot to ask for whom or where.
CREATE POLICY workspace_isolation ON memberships
    USING (
        coalesce(
            workspace_id = nullif(current_setting('app.workspace_id', true), '')::uuid,
            user_id = nullif(current_setting('app.user_id', true), '')::uuid
        )
        AND coalesce(user_id = nullif(current_setting('app.user_id', true), '')::uuid, true)
    )
    WITH CHECK (workspace_id = nullif(current_setting('app.workspace_id', true), '')::uuid);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY[
        'invitations', 'contents', 'documents', 'versions', 'document_grants', 'pages', 'chunks',
        'chunk_embeddings', 'conversations', 'answers', 'answer_citations'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', tenant_table);
        EXECUTE format(
            'CREATE POLICY workspace_isolation ON %I '
            'USING (workspace_id = nullif(current_setting(''app.workspace_id'', true), '''')::uuid) '
            'WITH CHECK (workspace_id = nullif(current_setting(''app.workspace_id'', true), '''')::uuid)',
            tenant_table
        );
    END LOOP;
END
$$;

-- The last owner stays: checked under a lock on the workspace, so that two owners cannot leave at the same time.
-- It runs with the caller's rights: who may change a membership row may also see that workspace's rows.
CREATE FUNCTION keep_one_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM workspaces WHERE id = OLD.workspace_id FOR NO KEY UPDATE;
    IF FOUND AND NOT EXISTS (
        SELECT 1 FROM memberships WHERE workspace_id = OLD.workspace_id AND role = 'owner'
    ) THEN
        RAISE EXCEPTION 'a workspace keeps at least one owner'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'memberships_keep_one_owner';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER memberships_keep_one_owner AFTER DELETE OR UPDATE OF role ON memberships
    FOR EACH ROW WHEN (OLD.role = 'owner') EXECUTE FUNCTION keep_one_owner();

-- corpus_version: one hash over what retrieval would use, whatever statement changed it.
CREATE FUNCTION refresh_corpus_version(target uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM workspaces WHERE id = target FOR NO KEY UPDATE;
    UPDATE workspaces SET corpus_version = (
        SELECT md5(coalesce(string_agg(
            concat_ws(':', d.id, c.sha256, c.parser_version, c.chunker_version, c.embedding_model), ',' ORDER BY d.id
        ), ''))
        FROM documents d
        JOIN versions v ON v.workspace_id = d.workspace_id AND v.id = d.current_version_id
        JOIN contents c ON c.workspace_id = v.workspace_id AND c.sha256 = v.content_sha256
        WHERE d.workspace_id = target
    )
    WHERE id = target;
END
$$;

CREATE FUNCTION corpus_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM refresh_corpus_version(OLD.workspace_id);
    ELSE
        PERFORM refresh_corpus_version(NEW.workspace_id);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER documents_corpus_inserted AFTER INSERT ON documents
    FOR EACH ROW WHEN (NEW.current_version_id IS NOT NULL) EXECUTE FUNCTION corpus_changed();
CREATE TRIGGER documents_corpus_changed AFTER UPDATE OF current_version_id ON documents
    FOR EACH ROW WHEN (OLD.current_version_id IS DISTINCT FROM NEW.current_version_id)
    EXECUTE FUNCTION corpus_changed();
CREATE TRIGGER documents_corpus_deleted AFTER DELETE ON documents
    FOR EACH ROW WHEN (OLD.current_version_id IS NOT NULL) EXECUTE FUNCTION corpus_changed();
CREATE TRIGGER contents_corpus_changed AFTER UPDATE OF parser_version, chunker_version, embedding_model ON contents
    FOR EACH ROW WHEN (OLD.status = 'ready') EXECUTE FUNCTION corpus_changed();

-- The few looks across workspaces. They return ids only; the work itself then runs inside one workspace.
CREATE FUNCTION find_invitation(wanted_sha256 text) RETURNS TABLE (workspace_id uuid, id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT i.workspace_id, i.id FROM invitations i WHERE i.token_sha256 = wanted_sha256
$$;

CREATE FUNCTION find_unfinished_contents(silent_for interval)
    RETURNS TABLE (workspace_id uuid, sha256 text, created_by uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT c.workspace_id, c.sha256, c.created_by FROM contents c
    WHERE c.status NOT IN ('ready', 'failed') AND c.updated_at < now() - silent_for
      AND NOT EXISTS (
          SELECT 1 FROM procrastinate_jobs j
          WHERE j.lock = concat_ws(':', 'ingest', c.workspace_id, c.sha256) AND j.status IN ('todo', 'doing'))
    ORDER BY c.updated_at LIMIT 1000
$$;

REVOKE ALL ON FUNCTION find_invitation(text), find_unfinished_contents(interval) FROM PUBLIC;
GRANT SELECT ON invitations, contents, procrastinate_jobs TO groundeddocs_maintenance;
ALTER FUNCTION find_invitation(text) OWNER TO groundeddocs_maintenance;
ALTER FUNCTION find_unfinished_contents(interval) OWNER TO groundeddocs_maintenance;
SET ROLE groundeddocs_maintenance;
GRANT EXECUTE ON FUNCTION find_invitation(text), find_unfinished_contents(interval) TO groundeddocs_app;
RESET ROLE;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO groundeddocs_app;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO groundeddocs_app;
REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM groundeddocs_app;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO groundeddocs_auditor;
