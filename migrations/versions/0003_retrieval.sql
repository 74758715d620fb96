-- Words for BM25 with the frequencies of each workspace alone, the text search configuration of each content, vectors in
-- cells of near ones, and what a reader may read in one place.

-- All locks at once and before any work, so that waiting for them costs nothing when it is in vain.
LOCK TABLE workspaces, contents, documents, versions, chunks, chunk_embeddings IN ACCESS EXCLUSIVE MODE;

-- language is an ISO 639-1 code, empty where none is told; counted says that the words of a content are in word_counts.
-- What is there already was all read as English.
ALTER TABLE contents
    ADD COLUMN language text NOT NULL DEFAULT '',
    ADD COLUMN text_search text NOT NULL DEFAULT 'english',
    ADD COLUMN counted boolean NOT NULL DEFAULT false;
-- One name that Postgres does not know would end every search of its workspace.
ALTER TABLE contents
    ALTER COLUMN text_search SET DEFAULT 'simple',
    ADD CONSTRAINT contents_text_search_exists CHECK (text_search::regconfig IS NOT NULL);

-- How many chunks are searched in a workspace, and how many words they have.
ALTER TABLE workspaces
    ADD COLUMN searched_chunks bigint NOT NULL DEFAULT 0,
    ADD COLUMN searched_words bigint NOT NULL DEFAULT 0;

-- The content that is searched under a document's name, by the trigger that also sets its term of corpus_version.
-- The index holds all that tells who may read what: a search looks at every document of its workspace.
ALTER TABLE documents ADD COLUMN current_content text;
CREATE INDEX documents_current_content_idx ON documents (workspace_id, current_content) INCLUDE (visibility, id);
CREATE INDEX documents_identifiers_idx ON documents USING gin (workspace_id, identifiers);

-- A word of one workspace, as a text search configuration takes it. Its number is another one in each workspace, so that
-- an index over all of them holds, for each number, the chunks of one workspace only: neither time nor ranking depends on
-- what others store. It is another one in each configuration: "die" is rare in English, and no word in German. The word
-- of no letters stands once in every chunk, so that its count is how many a configuration has. An identifier has a number
-- of its own, whatever word it is as well.
CREATE FUNCTION word_number(workspace uuid, configuration text, lexeme text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN hashtextextended(workspace::text || configuration || ':' || lexeme, 0);
CREATE FUNCTION identifier_number(workspace uuid, identifier text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN hashtextextended(workspace::text || identifier, 1);

-- The words of a text and how often each stands in it, then the word of no letters and the identifiers, with 2 for those
-- at the start of a line, where clauses are numbered, and 1 for others; length counts the words alone.
CREATE FUNCTION words_of(
    workspace uuid, configuration text, searched text, body text, identifiers text[],
    OUT length integer, OUT words bigint[], OUT counts smallint[]
) LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(w.count) FILTER (WHERE w.is_lexeme), 0)::integer,
           coalesce(array_agg(w.word), '{}'), coalesce(array_agg(w.count::smallint), '{}')
    FROM (
        SELECT word_number(workspace, configuration, l.lexeme) AS word, cardinality(l.positions) AS count,
               true AS is_lexeme
        FROM unnest(to_tsvector(configuration::regconfig, searched)) AS l
        UNION ALL
        SELECT word_number(workspace, configuration, ''), 1, false
        UNION ALL
        SELECT identifier_number(workspace, i), CASE
                   WHEN body ~* concat('(^|\n)[^\w\n]*v?', regexp_replace(i, '(\W)', '\\\1', 'g'), '(?!\w|[.-]\d)')
                   THEN 2 ELSE 1 END, false
        FROM unnest(identifiers) AS i
    ) AS w
$$;

-- The words of a chunk and how often each stands in it. Narrow on purpose: ranking reads nothing else of a chunk. No
-- index begins with the workspace: the numbers of words tell it already, and to read two indexes takes longer.
CREATE TABLE chunk_words (
    workspace_id uuid NOT NULL,
    chunk_id uuid NOT NULL,
    content_sha256 text NOT NULL,
    length integer NOT NULL,
    words bigint[] NOT NULL,
    counts smallint[] NOT NULL
);
ALTER TABLE chunk_words ALTER COLUMN words SET STORAGE MAIN, ALTER COLUMN counts SET STORAGE MAIN;

-- In how many searched chunks of a workspace a word stands.
CREATE TABLE word_counts (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    word bigint NOT NULL,
    chunks integer NOT NULL,
    PRIMARY KEY (workspace_id, word)
);

-- What is there already, all at once and before there are triggers: content by content, the count of a frequent word
-- would be changed thousands of times in one transaction, each time past all its older versions. Migrations run as the
-- owner of the tables, whom FORCE binds to no workspace: lifted meanwhile.
ALTER TABLE workspaces NO FORCE ROW LEVEL SECURITY;
ALTER TABLE documents NO FORCE ROW LEVEL SECURITY;
ALTER TABLE versions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE contents NO FORCE ROW LEVEL SECURITY;
ALTER TABLE chunks NO FORCE ROW LEVEL SECURITY;
INSERT INTO chunk_words (workspace_id, chunk_id, content_sha256, length, words, counts)
SELECT c.workspace_id, c.id, c.content_sha256, w.length, w.words, w.counts
FROM chunks c
CROSS JOIN LATERAL words_of(c.workspace_id, 'english', c.heading || E'\n' || c.text, c.text, c.identifiers) AS w;
UPDATE documents d SET current_content = v.content_sha256
FROM versions v WHERE v.workspace_id = d.workspace_id AND v.id = d.current_version_id;
UPDATE contents c SET counted = true
WHERE EXISTS (SELECT 1 FROM documents d WHERE d.workspace_id = c.workspace_id AND d.current_content = c.sha256);
INSERT INTO word_counts (workspace_id, word, chunks)
SELECT w.workspace_id, u.word, count(*)
FROM chunk_words w
JOIN contents c ON c.workspace_id = w.workspace_id AND c.sha256 = w.content_sha256 AND c.counted
CROSS JOIN unnest(w.words) AS u (word)
GROUP BY w.workspace_id, u.word;
UPDATE workspaces s SET searched_chunks = t.chunks, searched_words = t.words
FROM (
    SELECT w.workspace_id, count(*) AS chunks, sum(w.length) AS words
    FROM chunk_words w
    JOIN contents c ON c.workspace_id = w.workspace_id AND c.sha256 = w.content_sha256 AND c.counted
    GROUP BY w.workspace_id
) t
WHERE s.id = t.workspace_id;
ALTER TABLE chunk_words
    ADD PRIMARY KEY (chunk_id, workspace_id),
    ADD FOREIGN KEY (workspace_id, chunk_id) REFERENCES chunks (workspace_id, id) ON DELETE CASCADE;
CREATE INDEX chunk_words_content_idx ON chunk_words (content_sha256, workspace_id);
CREATE INDEX chunk_words_words_idx ON chunk_words USING gin (words);
ALTER TABLE chunks DROP COLUMN tsv, DROP COLUMN identifiers;

-- What is known of the cells of a workspace and model: how many vectors a search looks at, as a multiple of the square
-- root of all; for how many vectors the cells were made; and what the last comparison with an exact scan found.
CREATE TABLE vector_layouts (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    model text NOT NULL,
    generation integer NOT NULL,
    made_for integer NOT NULL,
    breadth real NOT NULL CHECK (breadth > 0),
    recall real CHECK (recall BETWEEN 0 AND 1),
    compared_at timestamptz,
    PRIMARY KEY (workspace_id, model)
);
-- Vectors of one workspace and model that are near each other, around a centroid. A search looks at all vectors of the
-- nearest cells, and at those that are in none: all of them in a small workspace, the newest ones in a large one. It looks
-- into cells only while there is a layout, which stays as long as they.
CREATE TABLE vector_cells (
    workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    model text NOT NULL,
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    generation integer NOT NULL,
    size integer NOT NULL DEFAULT 0,
    centroid halfvec NOT NULL,
    PRIMARY KEY (workspace_id, model, id),
    FOREIGN KEY (workspace_id, model) REFERENCES vector_layouts (workspace_id, model) DEFERRABLE INITIALLY DEFERRED
);
-- A cell that holds a vector cannot go: every vector is found under its cell or under none. Both are looked at when all is
-- done, since with a workspace its layouts go before its cells, and these before its vectors.
ALTER TABLE chunk_embeddings
    ADD COLUMN cell bigint,
    DROP CONSTRAINT chunk_embeddings_pkey,
    ADD PRIMARY KEY (workspace_id, chunk_id, model),
    ADD FOREIGN KEY (workspace_id, model, cell) REFERENCES vector_cells (workspace_id, model, id)
        DEFERRABLE INITIALLY DEFERRED;
DROP INDEX chunk_embeddings_chunk_idx;
CREATE INDEX chunk_embeddings_cell_idx ON chunk_embeddings (workspace_id, model, cell);
CREATE INDEX chunk_embeddings_content_idx ON chunk_embeddings (workspace_id, content_sha256, model);
ALTER TABLE workspaces FORCE ROW LEVEL SECURITY;
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
ALTER TABLE versions FORCE ROW LEVEL SECURITY;
ALTER TABLE contents FORCE ROW LEVEL SECURITY;
ALTER TABLE chunks FORCE ROW LEVEL SECURITY;

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['chunk_words', 'word_counts', 'vector_cells', 'vector_layouts'] LOOP
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

-- What the two arms of words read. Row-level security keeps an index from being used for operators on arrays, which may
-- tell what they are given in an error; so these views do what its policies do, as a role that it does not bind. They hold
-- numbers and names' identifiers, no text, and nothing of another workspace; nobody writes through them. The condition
-- on words is written so that no index serves it: the numbers tell the workspace, and the index on them is enough.
CREATE VIEW searched_words AS
    SELECT w.workspace_id, w.chunk_id, w.content_sha256, w.length, w.words, w.counts FROM chunk_words w
    WHERE w.workspace_id IS NOT DISTINCT FROM nullif(current_setting('app.workspace_id', true), '')::uuid;
CREATE VIEW searched_names AS
    SELECT d.workspace_id, d.id, d.current_content AS content_sha256, d.identifiers FROM documents d
    WHERE d.workspace_id = nullif(current_setting('app.workspace_id', true), '')::uuid AND d.current_content IS NOT NULL;
GRANT SELECT ON chunk_words, documents TO groundeddocs_maintenance;
GRANT SELECT ON searched_words, searched_names TO groundeddocs_app;
ALTER VIEW searched_words OWNER TO groundeddocs_maintenance;
ALTER VIEW searched_names OWNER TO groundeddocs_maintenance;

-- The documents that a user may read, for every statement that is not the program's own. The membership is read anew each
-- time: who was removed meanwhile reads nothing. What nobody may read any more, since its readers have left, falls to the
-- owners. Postgres puts the body in the place of the call.
CREATE FUNCTION readable_documents(workspace uuid, reader uuid) RETURNS SETOF documents
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT d.* FROM memberships m
    JOIN documents d ON d.workspace_id = m.workspace_id
    WHERE m.workspace_id = workspace AND m.user_id = reader AND d.workspace_id = workspace
      AND (d.visibility = 'workspace'
           OR EXISTS (
               SELECT 1 FROM document_grants g
               WHERE g.workspace_id = workspace AND g.document_id = d.id AND g.user_id = reader)
           OR (m.role = 'owner' AND NOT EXISTS (
               SELECT 1 FROM document_grants g WHERE g.workspace_id = workspace AND g.document_id = d.id)))
$$;

-- As before, and notes the content. The workspace is held first: of two changes that would wait for each other, one
-- waits for the other here.
CREATE OR REPLACE FUNCTION set_corpus_term() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    content text;
    term bit(128);
BEGIN
    IF TG_OP = 'UPDATE' OR NEW.current_version_id IS NOT NULL THEN
        PERFORM 1 FROM workspaces w WHERE w.id = NEW.workspace_id FOR NO KEY UPDATE;
    END IF;
    SELECT v.content_sha256 INTO content FROM versions v
    WHERE v.workspace_id = NEW.workspace_id AND v.id = NEW.current_version_id
    FOR SHARE;
    SELECT ('x' || md5(concat_ws(
        ':', NEW.id, c.sha256, c.parser_version, c.chunker_version, c.embedding_model
    )))::bit(128) INTO term FROM contents c
    WHERE c.workspace_id = NEW.workspace_id AND c.sha256 = content
    FOR SHARE;
    NEW.corpus_term := coalesce(term, repeat('0', 128)::bit(128));
    NEW.current_content := content;
    RETURN NEW;
END
$$;
DROP TRIGGER documents_corpus_term ON documents;
CREATE TRIGGER documents_corpus_term BEFORE UPDATE ON documents
    FOR EACH ROW WHEN (
        (OLD.workspace_id, OLD.id, OLD.current_version_id, OLD.corpus_term, OLD.current_content)
        IS DISTINCT FROM (NEW.workspace_id, NEW.id, NEW.current_version_id, NEW.corpus_term, NEW.current_content)
    ) EXECUTE FUNCTION set_corpus_term();

-- As before, and looks for documents only when it has to: progress, and that a content is counted, is written often, and
-- the join alone reads all documents of a workspace.
CREATE OR REPLACE FUNCTION touch_documents_of_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT workspace_id, sha256, parser_version, chunker_version, embedding_model FROM after
        EXCEPT
        SELECT workspace_id, sha256, parser_version, chunker_version, embedding_model FROM before
    ) THEN
        RETURN NULL;
    END IF;
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

-- Changes in how many chunks words stand, and how many chunks and words are searched.
CREATE FUNCTION change_word_counts(
    workspace uuid, words bigint[], changes bigint[], chunk_change bigint, length_change bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO word_counts AS known (workspace_id, word, chunks)
    SELECT workspace, g.word, g.change FROM unnest(words, changes) AS g (word, change)
    WHERE g.change > 0 ORDER BY g.word
    ON CONFLICT (workspace_id, word) DO UPDATE SET chunks = known.chunks + excluded.chunks;
    WITH fewer AS MATERIALIZED (
        SELECT g.word, g.change FROM unnest(words, changes) AS g (word, change) WHERE g.change < 0
    ), gone AS (
        DELETE FROM word_counts k USING fewer f
        WHERE k.workspace_id = workspace AND k.word = f.word AND k.chunks + f.change <= 0
    )
    UPDATE word_counts k SET chunks = k.chunks + f.change FROM fewer f
    WHERE k.workspace_id = workspace AND k.word = f.word AND k.chunks + f.change > 0;
    UPDATE workspaces
    SET searched_chunks = searched_chunks + chunk_change, searched_words = searched_words + length_change
    WHERE id = workspace;
END
$$;

-- Adds the words of contents to the counts of their workspace when they have become searched, and takes them away when
-- they are not any more. Whoever changes what is searched holds the workspace: of two documents that let go of one
-- content at the same time, the second one waits here and sees that it is the last. A content that somebody writes to is
-- waited for, too, and its words are read by a statement that begins after that.
CREATE FUNCTION count_words_of(workspace uuid, touched text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    searched text[];
    come text[];
    gone text[];
    words bigint[];
    changes bigint[];
    chunk_change bigint;
    length_change bigint;
BEGIN
    PERFORM 1 FROM workspaces w WHERE w.id = workspace FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;  -- it is being deleted, and its counts with it
    END IF;
    searched := ARRAY(
        SELECT d.current_content FROM documents d
        WHERE d.workspace_id = workspace AND d.current_content = ANY (touched) GROUP BY d.current_content
    );
    WITH turned AS (
        UPDATE contents c SET counted = NOT c.counted
        WHERE c.workspace_id = workspace AND c.sha256 = ANY (touched)
          AND c.counted <> (c.sha256 = ANY (searched))
        RETURNING c.sha256, c.counted
    )
    SELECT array_agg(t.sha256) FILTER (WHERE t.counted), array_agg(t.sha256) FILTER (WHERE NOT t.counted)
    INTO come, gone FROM turned t;
    IF come IS NULL AND gone IS NULL THEN
        RETURN;
    END IF;
    SELECT coalesce(sum(t.sign), 0), coalesce(sum(t.sign * w.length), 0) INTO chunk_change, length_change
    FROM (SELECT unnest(come) AS sha256, 1 AS sign UNION ALL SELECT unnest(gone), -1) t
    JOIN chunk_words w ON w.workspace_id = workspace AND w.content_sha256 = t.sha256;
    SELECT array_agg(c.word), array_agg(c.change) INTO words, changes
    FROM (
        SELECT u.word, sum(t.sign) AS change
        FROM (SELECT unnest(come) AS sha256, 1 AS sign UNION ALL SELECT unnest(gone), -1) t
        JOIN chunk_words w ON w.workspace_id = workspace AND w.content_sha256 = t.sha256
        CROSS JOIN unnest(w.words) AS u (word)
        GROUP BY u.word
    ) c;
    PERFORM change_word_counts(workspace, words, changes, chunk_change, length_change);
END
$$;

CREATE FUNCTION count_words_of_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_words_of(t.workspace_id, t.contents) FROM (
        SELECT c.workspace_id, array_agg(c.current_content) AS contents FROM changed c
        WHERE c.current_content IS NOT NULL GROUP BY c.workspace_id ORDER BY c.workspace_id
    ) t;
    RETURN NULL;
END
$$;
CREATE TRIGGER documents_words_inserted AFTER INSERT ON documents
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_words_of_documents();
CREATE TRIGGER documents_words_deleted AFTER DELETE ON documents
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_words_of_documents();

CREATE FUNCTION count_words_of_changed_documents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_words_of(t.workspace_id, t.contents) FROM (
        SELECT c.workspace_id, array_agg(c.current_content) AS contents FROM (
            (SELECT workspace_id, id, current_content FROM before EXCEPT SELECT workspace_id, id, current_content FROM after)
            UNION ALL
            (SELECT workspace_id, id, current_content FROM after EXCEPT SELECT workspace_id, id, current_content FROM before)
        ) c
        WHERE c.current_content IS NOT NULL GROUP BY c.workspace_id ORDER BY c.workspace_id
    ) t;
    RETURN NULL;
END
$$;
CREATE TRIGGER documents_words_changed AFTER UPDATE ON documents
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT
    EXECUTE FUNCTION count_words_of_changed_documents();

-- A content can come after the document that has it, and go before it.
CREATE FUNCTION count_words_of_new_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.counted OR EXISTS (
        SELECT 1 FROM documents d WHERE d.workspace_id = NEW.workspace_id AND d.current_content = NEW.sha256
    ) THEN
        PERFORM count_words_of(NEW.workspace_id, ARRAY[NEW.sha256]);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER contents_words_inserted AFTER INSERT ON contents
    FOR EACH ROW EXECUTE FUNCTION count_words_of_new_content();

CREATE FUNCTION forget_words_of_content() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    words bigint[];
    changes bigint[];
    chunk_change bigint;
    length_change bigint;
BEGIN
    PERFORM 1 FROM workspaces w WHERE w.id = OLD.workspace_id FOR NO KEY UPDATE;
    IF FOUND THEN
        SELECT count(*), coalesce(sum(w.length), 0) INTO chunk_change, length_change
        FROM chunk_words w WHERE w.workspace_id = OLD.workspace_id AND w.content_sha256 = OLD.sha256;
        SELECT array_agg(c.word), array_agg(-c.chunks) INTO words, changes
        FROM (
            SELECT u.word, count(*) AS chunks FROM chunk_words w CROSS JOIN unnest(w.words) AS u (word)
            WHERE w.workspace_id = OLD.workspace_id AND w.content_sha256 = OLD.sha256 GROUP BY u.word
        ) c;
        PERFORM change_word_counts(OLD.workspace_id, words, changes, -chunk_change, -length_change);
    END IF;
    RETURN OLD;
END
$$;
CREATE TRIGGER contents_words_deleted BEFORE DELETE ON contents
    FOR EACH ROW WHEN (OLD.counted) EXECUTE FUNCTION forget_words_of_content();

-- Words that come or go while their content is searched. Ingestion writes them before; it pays one look at the content,
-- which it holds.
CREATE FUNCTION count_changed_words() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign integer := TG_ARGV[0];
    workspace uuid;
    words bigint[];
    changes bigint[];
    chunk_change bigint;
    length_change bigint;
BEGIN
    PERFORM 1 FROM contents c
    JOIN (SELECT DISTINCT w.workspace_id, w.content_sha256 FROM changed w) t
        ON c.workspace_id = t.workspace_id AND c.sha256 = t.content_sha256
    FOR SHARE OF c;
    FOR workspace, chunk_change, length_change IN
        SELECT w.workspace_id, sign * count(*), sign * sum(w.length)
        FROM changed w
        JOIN contents c ON c.workspace_id = w.workspace_id AND c.sha256 = w.content_sha256 AND c.counted
        GROUP BY w.workspace_id ORDER BY w.workspace_id
    LOOP
        SELECT array_agg(t.word), array_agg(sign * t.chunks) INTO words, changes
        FROM (
            SELECT u.word, count(*) AS chunks
            FROM changed w
            JOIN contents c ON c.workspace_id = w.workspace_id AND c.sha256 = w.content_sha256 AND c.counted
            CROSS JOIN unnest(w.words) AS u (word)
            WHERE w.workspace_id = workspace GROUP BY u.word
        ) t;
        PERFORM change_word_counts(workspace, words, changes, chunk_change, length_change);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER chunk_words_inserted AFTER INSERT ON chunk_words
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_changed_words('1');
CREATE TRIGGER chunk_words_deleted AFTER DELETE ON chunk_words
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_changed_words('-1');
CREATE TRIGGER chunk_words_left AFTER UPDATE ON chunk_words
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_changed_words('-1');
CREATE TRIGGER chunk_words_made AFTER UPDATE ON chunk_words
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_changed_words('1');

-- What the search brought for an answer and what became of it, by ids alone: what they stand for is read anew each time.
-- The counts are those of the asker at that time; unknown for answers from before.
ALTER TABLE answers
    ADD COLUMN retrieval jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN searched_questions text[] NOT NULL DEFAULT '{}',
    ADD COLUMN absent_identifiers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN documents_readable integer,
    ADD COLUMN documents_ready integer;

-- Keeps the sizes of cells when vectors are deleted. Two deletions that touch the same cells wait for each other in the
-- order of the cells.
CREATE FUNCTION shrink_cells() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    cells bigint[];
BEGIN
    cells := ARRAY(
        SELECT c.id FROM vector_cells c
        JOIN (SELECT DISTINCT g.workspace_id, g.model, g.cell FROM gone g WHERE g.cell IS NOT NULL) t
            ON c.workspace_id = t.workspace_id AND c.model = t.model AND c.id = t.cell
        ORDER BY c.id FOR NO KEY UPDATE OF c
    );
    IF cells <> '{}' THEN
        UPDATE vector_cells c SET size = c.size - t.vectors
        FROM (
            SELECT g.workspace_id, g.model, g.cell, count(*) AS vectors FROM gone g
            WHERE g.cell IS NOT NULL GROUP BY g.workspace_id, g.model, g.cell
        ) t
        WHERE c.workspace_id = t.workspace_id AND c.model = t.model AND c.id = t.cell;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER chunk_embeddings_deleted AFTER DELETE ON chunk_embeddings
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION shrink_cells();

GRANT SELECT ON chunk_embeddings, vector_cells, vector_layouts TO groundeddocs_maintenance;
SET ROLE groundeddocs_maintenance;

-- Workspaces whose vectors are to be laid out anew, or compared again with an exact scan: ids only. Of a small one only
-- its row is read. The numbers are those of the service; what it finds nothing to do for is not found here either.
CREATE FUNCTION find_workspaces_to_arrange(
    fewest integer, growth float8, shrinkage float8, unplaced_least integer, unplaced_breadth float8,
    compare_every interval
) RETURNS TABLE (workspace_id uuid, created_by uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT w.id, w.created_by FROM workspaces w
    WHERE w.searched_chunks >= fewest
      AND NOT EXISTS (
          SELECT 1 FROM vector_layouts l WHERE l.workspace_id = w.id AND l.model = w.embedding_model)
      AND EXISTS (
          SELECT 1 FROM chunk_embeddings e WHERE e.workspace_id = w.id AND e.model = w.embedding_model
          OFFSET fewest - 1)
    UNION ALL
    SELECT w.id, w.created_by FROM vector_layouts l
    JOIN workspaces w ON w.id = l.workspace_id AND w.embedding_model = l.model
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(c.size), 0) AS vectors, coalesce(bool_or(c.generation < l.generation), false) AS outdated
        FROM vector_cells c WHERE c.workspace_id = l.workspace_id AND c.model = l.model
    ) AS placed
    CROSS JOIN LATERAL (
        SELECT count(*) AS vectors FROM (
            SELECT 1 FROM chunk_embeddings e
            WHERE e.workspace_id = l.workspace_id AND e.model = l.model AND e.cell IS NULL
            LIMIT ceil(greatest(unplaced_least, unplaced_breadth * sqrt(2 * placed.vectors + fewest)))::integer + 1
        ) AS counted
    ) AS unplaced
    CROSS JOIN LATERAL (SELECT placed.vectors + unplaced.vectors AS vectors) AS total
    WHERE coalesce(l.compared_at < now() - compare_every, true)
       OR placed.outdated
       OR total.vectors < fewest / 2.0
       OR total.vectors NOT BETWEEN l.made_for / shrinkage AND l.made_for * growth
       OR unplaced.vectors > greatest(unplaced_least, unplaced_breadth * sqrt(total.vectors))
    LIMIT 1000
$$;

REVOKE ALL ON FUNCTION find_workspaces_to_arrange(integer, float8, float8, integer, float8, interval) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_workspaces_to_arrange(integer, float8, float8, integer, float8, interval) TO groundeddocs_app;
RESET ROLE;
