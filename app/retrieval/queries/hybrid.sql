-- hybrid: the passages nearest to a question by three arms, fused by weighted reciprocal ranks.
-- Each arm is limited to this workspace, to the current versions of documents that this user may read, and to chunks
-- that have a vector of this embedding model. A content that several documents hold comes once, under the oldest.

WITH readable AS (
    SELECT v.content_sha256, d.id AS document_id, d.name, v.id AS version_id, d.created_at, d.identifiers
    FROM documents d
    JOIN versions v ON v.workspace_id = :workspace_id AND v.id = d.current_version_id
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
),
asked AS (
    -- The forms of one identifier ("4960", "rfc4960") share a number: they count once.
    SELECT t.identifier, t.number
    FROM unnest(CAST(:identifiers AS text[]), CAST(:identifier_numbers AS integer[])) AS t (identifier, number)
),
named AS (
    SELECT DISTINCT r.content_sha256, a.number
    FROM readable r, asked a
    WHERE a.identifier = ANY (r.identifiers)
),
wanted AS (
    -- What names a document is not looked for in the texts.
    SELECT a.identifier, a.number FROM asked a WHERE a.number NOT IN (SELECT n.number FROM named n)
),
source AS (
    SELECT DISTINCT ON (r.content_sha256) r.content_sha256, r.document_id, r.name, r.version_id,
           (SELECT count(*) FROM named n WHERE n.content_sha256 = r.content_sha256) AS name_matches
    FROM readable r
    ORDER BY r.content_sha256, r.created_at, r.document_id
),
words AS (
    SELECT string_agg(
        '''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || '''', ' | '
    )::tsquery AS query
    FROM (
        SELECT t.lexeme FROM unnest(to_tsvector(CAST(:text_search AS regconfig), :question)) AS t
        ORDER BY t.positions[1] LIMIT :max_lexemes
    ) AS l
),
identifier_matches AS (
    -- A match in the name of the document weighs as much as two in the text, since 3.0.1 mentions 3.0 as well; one at
    -- the start of a line, where clauses are numbered, half as much again as one in a sentence.
    SELECT c.id AS chunk_id,
           2 * s.name_matches + m.in_text + 0.5 * m.at_line_starts AS weight,
           ts_rank(c.tsv, (SELECT w.query FROM words w)) AS relevance
    FROM chunks c
    JOIN source s ON s.content_sha256 = c.content_sha256
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT w.number) AS in_text,
               count(DISTINCT w.number) FILTER (
                   WHERE strpos(lower(E'\n' || c.text), E'\n' || w.identifier) > 0
                      OR strpos(lower(E'\n' || c.text), E'\nv' || w.identifier) > 0
               ) AS at_line_starts
        FROM wanted w WHERE w.identifier = ANY (c.identifiers)
    ) AS m
    WHERE c.workspace_id = :workspace_id
      AND c.identifiers && ARRAY(SELECT w.identifier FROM wanted w)
      AND EXISTS (
          SELECT 1 FROM chunk_embeddings e
          WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = c.id)
),
identifier_arm AS (
    SELECT m.chunk_id, rank() OVER (ORDER BY m.weight DESC) AS arm_rank
    FROM identifier_matches m
    ORDER BY m.weight DESC, m.relevance DESC NULLS LAST, m.chunk_id
    LIMIT :arm_limit
),
keyword_arm AS (
    SELECT k.chunk_id, row_number() OVER (ORDER BY k.relevance DESC, k.chunk_id) AS arm_rank
    FROM (
        SELECT c.id AS chunk_id, ts_rank(c.tsv, w.query) AS relevance
        FROM words w
        JOIN chunks c ON c.tsv @@ w.query
        JOIN source s ON s.content_sha256 = c.content_sha256
        WHERE c.workspace_id = :workspace_id
          AND EXISTS (
              SELECT 1 FROM chunk_embeddings e
              WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = c.id)
        ORDER BY relevance DESC, c.id
        LIMIT :arm_limit
    ) AS k
),
vector_arm AS (
    SELECT n.chunk_id, row_number() OVER (ORDER BY n.distance, n.chunk_id) AS arm_rank
    FROM (
        SELECT e.chunk_id, e.embedding <=> CAST(:embedding AS halfvec) AS distance
        FROM chunk_embeddings e
        WHERE e.workspace_id = :workspace_id AND e.model = :model
          AND e.content_sha256 IN (SELECT s.content_sha256 FROM source s)
        ORDER BY distance, e.chunk_id
        LIMIT :arm_limit
    ) AS n
),
fused AS (
    SELECT a.chunk_id,
           min(a.arm_rank) FILTER (WHERE a.arm = 'identifier') AS identifier_rank,
           min(a.arm_rank) FILTER (WHERE a.arm = 'keyword') AS keyword_rank,
           min(a.arm_rank) FILTER (WHERE a.arm = 'vector') AS vector_rank,
           sum(a.weight / (:rrf_k + a.arm_rank)) AS score
    FROM (
        SELECT chunk_id, arm_rank, 'identifier' AS arm, CAST(:identifier_weight AS float8) AS weight FROM identifier_arm
        UNION ALL
        SELECT chunk_id, arm_rank, 'keyword', CAST(:keyword_weight AS float8) FROM keyword_arm
        UNION ALL
        SELECT chunk_id, arm_rank, 'vector', CAST(:vector_weight AS float8) FROM vector_arm
    ) AS a
    GROUP BY a.chunk_id
)
SELECT c.id AS chunk_id, s.document_id, s.name AS document_name, s.version_id, c.content_sha256,
       c.page_start, c.page_end, c.start_offset, c.end_offset, c.text, c.heading,
       f.score + :name_weight * s.name_matches / (:rrf_k + 1) AS score,
       f.identifier_rank, f.keyword_rank, f.vector_rank,
       1 - (e.embedding <=> CAST(:embedding AS halfvec)) AS similarity,
       ARRAY(
           SELECT p.start_offset FROM pages p
           WHERE p.workspace_id = :workspace_id AND p.content_sha256 = c.content_sha256
             AND p.number BETWEEN c.page_start AND c.page_end
           ORDER BY p.number
       ) AS page_offsets
FROM fused f
JOIN chunks c ON c.workspace_id = :workspace_id AND c.id = f.chunk_id
JOIN source s ON s.content_sha256 = c.content_sha256
JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = c.id
ORDER BY score DESC, c.id
LIMIT :result_limit
