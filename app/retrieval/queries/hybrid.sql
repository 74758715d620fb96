-- hybrid: the passages nearest to a question by three arms, fused by weighted reciprocal ranks.
-- Each arm is limited to this workspace, to the current versions of documents that this user may read, and to chunks
-- that have a vector of this embedding model. A content that several documents hold comes once, under the oldest.

WITH member AS MATERIALIZED (
    -- Read anew in each statement: who was removed meanwhile reads nothing.
    SELECT m.role FROM memberships m WHERE m.workspace_id = :workspace_id AND m.user_id = :user_id
),
readable AS MATERIALIZED (
    SELECT d.current_content AS content_sha256, d.id AS document_id, d.name, d.current_version_id AS version_id,
           d.created_at, d.identifiers
    FROM member m
    JOIN documents d ON d.workspace_id = :workspace_id AND d.current_content IS NOT NULL
    WHERE d.visibility = 'workspace'
       OR EXISTS (
           SELECT 1 FROM document_grants g
           WHERE g.workspace_id = :workspace_id AND g.document_id = d.id AND g.user_id = :user_id)
       -- What nobody may read any more, since its readers have left, falls to the owners.
       OR (m.role = 'owner' AND NOT EXISTS (
           SELECT 1 FROM document_grants g WHERE g.workspace_id = :workspace_id AND g.document_id = d.id))
),
asked AS (
    -- The forms of one identifier ("4960", "rfc4960") share a number: they count once.
    SELECT t.identifier, t.number
    FROM unnest(CAST(:identifiers AS text[]), CAST(:identifier_numbers AS integer[])) AS t (identifier, number)
),
named AS MATERIALIZED (
    SELECT DISTINCT r.content_sha256, a.number
    FROM asked a JOIN readable r ON a.identifier = ANY (r.identifiers)
),
wanted AS MATERIALIZED (
    -- What names a document is not looked for in the texts.
    SELECT a.identifier, a.number FROM asked a WHERE a.number NOT IN (SELECT n.number FROM named n)
),
source AS MATERIALIZED (
    SELECT DISTINCT ON (r.content_sha256) r.content_sha256, r.document_id, r.name, r.version_id
    FROM readable r
    ORDER BY r.content_sha256, r.created_at, r.document_id
),
matches AS (
    SELECT n.content_sha256, count(*) AS name_matches FROM named n GROUP BY n.content_sha256
),
asked_words AS MATERIALIZED (
    -- In each language of the workspace; the first ones of a question that is a pasted page. Numbered before anything is
    -- joined: the counts are then looked up one by one, and not all of the workspace's read.
    SELECT word_number(:workspace_id, l.lexeme) AS word
    FROM (SELECT DISTINCT c.text_search FROM contents c WHERE c.workspace_id = :workspace_id AND c.counted) AS t
    CROSS JOIN LATERAL unnest(to_tsvector(CAST(t.text_search AS regconfig), :question)) AS l
    GROUP BY l.lexeme ORDER BY min(l.positions[1]), l.lexeme LIMIT :max_lexemes
),
weighed AS MATERIALIZED (
    -- The weight of a word by its frequency in this workspace (BM25: Robertson and Zaragoza 2009, without negatives).
    -- The rarest words lead, until they stand in so many chunks; the others only score what those have found.
    SELECT k.word, ln(1 + (s.chunks - k.chunks + 0.5) / (k.chunks + 0.5)) AS weight, s.mean_length,
           sum(k.chunks) OVER (ORDER BY k.chunks, k.word) <= :postings_limit
           OR row_number() OVER (ORDER BY k.chunks, k.word) = 1 AS leads
    FROM asked_words a
    JOIN word_counts k ON k.workspace_id = :workspace_id AND k.word = a.word
    CROSS JOIN (
        SELECT greatest(w.searched_chunks, 1)::float8 AS chunks,
               greatest(w.searched_words, 1)::float8 / greatest(w.searched_chunks, 1) AS mean_length
        FROM workspaces w WHERE w.id = :workspace_id
    ) AS s
),
led AS (
    SELECT p.chunk_id, sum(p.score) AS score
    FROM (
        SELECT c.chunk_id, c.content_sha256,
               w.weight * (:k1 + 1) * c.counts[array_position(c.words, w.word)]
               / (c.counts[array_position(c.words, w.word)] + :k1 * (1 - :b + :b * c.length / w.mean_length)) AS score
        FROM weighed w
        JOIN chunk_words c ON c.workspace_id = :workspace_id AND c.words @> ARRAY[w.word]
        WHERE w.leads
    ) AS p
    WHERE p.content_sha256 IN (SELECT s.content_sha256 FROM source s)
    GROUP BY p.chunk_id ORDER BY score DESC, p.chunk_id LIMIT :candidate_limit
),
keyword_scores AS MATERIALIZED (
    SELECT l.chunk_id, l.score + coalesce(f.score, 0) AS score
    FROM led l
    JOIN chunk_words c ON c.workspace_id = :workspace_id AND c.chunk_id = l.chunk_id
    LEFT JOIN LATERAL (
        SELECT sum(
            w.weight * (:k1 + 1) * c.counts[array_position(c.words, w.word)]
            / (c.counts[array_position(c.words, w.word)] + :k1 * (1 - :b + :b * c.length / w.mean_length))
        ) AS score
        FROM weighed w WHERE NOT w.leads
    ) AS f ON true
    WHERE EXISTS (
        SELECT 1 FROM chunk_embeddings e
        WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = l.chunk_id)
),
keyword_arm AS (
    SELECT k.chunk_id, row_number() OVER (ORDER BY k.score DESC, k.chunk_id) AS arm_rank
    FROM keyword_scores k ORDER BY k.score DESC, k.chunk_id LIMIT :arm_limit
),
identifier_matches AS (
    -- A match in the name of the document weighs as much as two in the text, since 3.0.1 mentions 3.0 as well.
    SELECT c.id AS chunk_id, 2 * coalesce(n.name_matches, 0) + m.in_text AS weight, coalesce(k.score, 0) AS relevance
    FROM chunks c
    JOIN source s ON s.content_sha256 = c.content_sha256
    LEFT JOIN matches n ON n.content_sha256 = c.content_sha256
    LEFT JOIN keyword_scores k ON k.chunk_id = c.id
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT w.number) AS in_text FROM wanted w WHERE w.identifier = ANY (c.identifiers)
    ) AS m
    WHERE c.workspace_id = :workspace_id
      AND c.identifiers && ARRAY(SELECT w.identifier FROM wanted w)
      AND EXISTS (
          SELECT 1 FROM chunk_embeddings e
          WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = c.id)
    ORDER BY weight DESC, relevance DESC, c.id LIMIT :candidate_limit
),
identifier_scores AS (
    -- One at the start of a line, where clauses are numbered, counts half as much again as one in a sentence.
    SELECT m.chunk_id, m.relevance, m.weight + 0.5 * (
        SELECT count(DISTINCT w.number) FROM wanted w
        WHERE w.identifier = ANY (c.identifiers)
          AND c.text ~* concat(
              '(^|\n)[^\w\n]*v?', regexp_replace(w.identifier, '(\W)', '\\\1', 'g'), '(?!\w|[.-]\d)')
    ) AS weight
    FROM identifier_matches m JOIN chunks c ON c.workspace_id = :workspace_id AND c.id = m.chunk_id
),
identifier_arm AS (
    SELECT m.chunk_id, rank() OVER (ORDER BY m.weight DESC) AS arm_rank
    FROM identifier_scores m
    ORDER BY m.weight DESC, m.relevance DESC, m.chunk_id
    LIMIT :arm_limit
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
           sum(a.score) AS score
    FROM (
        SELECT chunk_id, arm_rank, 'identifier' AS arm,
               CAST(:identifier_weight AS float8) / (:identifier_k + arm_rank) AS score FROM identifier_arm
        UNION ALL
        SELECT chunk_id, arm_rank, 'keyword', CAST(:keyword_weight AS float8) / (:rrf_k + arm_rank) FROM keyword_arm
        UNION ALL
        SELECT chunk_id, arm_rank, 'vector', CAST(:vector_weight AS float8) / (:rrf_k + arm_rank) FROM vector_arm
    ) AS a
    GROUP BY a.chunk_id
)
SELECT c.id AS chunk_id, s.document_id, s.name AS document_name, s.version_id, c.content_sha256, c.ordinal,
       c.page_start, c.page_end, c.start_offset, c.end_offset, c.text, c.heading, c.token_count,
       f.score + :name_weight * coalesce(n.name_matches, 0) / (:rrf_k + 1) AS score,
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
LEFT JOIN matches n ON n.content_sha256 = c.content_sha256
JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = c.id
ORDER BY score DESC, c.id
LIMIT :result_limit
