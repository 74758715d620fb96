-- hybrid: the passages nearest to a question by three arms, fused by the weighted sum of their scores.
-- Each arm is limited to this workspace, to the current versions of documents that this user may read, and to chunks
-- that have a vector of this embedding model. A content that several documents hold comes once, under the oldest.
-- What is found is materialized before it is joined with what may be read, and counts and postings are looked up word by
-- word (OFFSET 0): the statement is planned once for all workspaces, and how large one is the planner cannot know.

WITH question AS MATERIALIZED (
    SELECT CAST(:embedding AS halfvec) AS vector  -- read from its text once, and not for each distance
),
readable AS MATERIALIZED (
    SELECT r.id, r.current_content AS content_sha256
    FROM readable_documents(:workspace_id, :user_id) AS r
    WHERE r.current_content IS NOT NULL
),

-- Keywords: BM25 (Robertson and Zaragoza 2009, without negative weights) by the frequencies of this workspace.
asked_words AS MATERIALIZED (
    -- In each language of the workspace, and for what is written in it; the first ones of a question that is a pasted page.
    SELECT word_number(:workspace_id, CAST(t.cfgname AS text), l.lexeme) AS word, n.chunks AS chunks_of_language
    FROM pg_ts_config AS t
    CROSS JOIN LATERAL (
        SELECT k.chunks FROM word_counts k
        WHERE k.workspace_id = :workspace_id AND k.word = word_number(:workspace_id, CAST(t.cfgname AS text), '') OFFSET 0
    ) AS n
    CROSS JOIN LATERAL (
        SELECT u.lexeme FROM unnest(to_tsvector(CAST(t.oid AS regconfig), :question)) AS u
        ORDER BY u.positions[1], u.lexeme LIMIT :max_lexemes
    ) AS l
),
weighed AS MATERIALIZED (
    -- The rarest words lead, until they stand in so many chunks; the others only score what those have found.
    SELECT a.word, s.k1 * (1 - s.b) AS base, s.k1 * s.b * s.chunks_a_word AS slope,
           1e9::float8 * (s.k1 + 1) * ln(
               1 + (a.chunks_of_language - k.chunks + 0.5::float8) / (k.chunks + 0.5::float8)) AS weight,
           sum(k.chunks) OVER (ORDER BY k.chunks, a.word) <= :postings_limit
           OR row_number() OVER (ORDER BY k.chunks, a.word) = 1 AS leads
    FROM asked_words a
    CROSS JOIN LATERAL (
        SELECT c.chunks FROM word_counts c WHERE c.workspace_id = :workspace_id AND c.word = a.word OFFSET 0
    ) AS k
    CROSS JOIN (
        SELECT w.searched_chunks::float8 / greatest(w.searched_words, 1) AS chunks_a_word,
               CAST(:k1 AS float8) AS k1, CAST(:b AS float8) AS b
        FROM workspaces w WHERE w.id = :workspace_id
    ) AS s
),
word_hits AS MATERIALIZED (
    SELECT c.chunk_id, c.content_sha256, c.length, c.counts[array_position(c.words, w.word)] AS count,
           w.weight, w.base, w.slope
    FROM weighed w
    CROSS JOIN LATERAL (
        SELECT s.chunk_id, s.content_sha256, s.length, s.words, s.counts
        FROM (SELECT * FROM searched_words s WHERE s.words @> ARRAY[w.word] OFFSET 0) AS s
        WHERE s.workspace_id = :workspace_id
    ) AS c
    WHERE w.leads
),
led AS MATERIALIZED (
    -- Scores are added as integers, in billionths, since a sum of fractions depends on their order.
    SELECT h.chunk_id, h.content_sha256,
           sum(CAST(h.weight * h.count / (h.count + h.base + h.slope * h.length) AS bigint)) AS score
    FROM word_hits h
    WHERE h.content_sha256 IN (SELECT r.content_sha256 FROM readable r)
    GROUP BY h.chunk_id, h.content_sha256 ORDER BY score DESC, h.chunk_id LIMIT :candidate_limit
),
keyword_scores AS MATERIALIZED (
    SELECT l.chunk_id, l.content_sha256, l.score + coalesce(f.score, 0) AS score
    FROM led l
    LEFT JOIN LATERAL (
        SELECT sum(CAST(w.weight * t.count / (t.count + w.base + w.slope * o.length) AS bigint)) AS score
        FROM (
            SELECT c.length, c.words, c.counts FROM searched_words c
            WHERE c.workspace_id = :workspace_id AND c.chunk_id = l.chunk_id
              AND EXISTS (SELECT 1 FROM weighed w WHERE NOT w.leads)
            OFFSET 0
        ) AS o
        CROSS JOIN weighed w
        CROSS JOIN LATERAL (SELECT o.counts[array_position(o.words, w.word)] AS count OFFSET 0) AS t
        WHERE NOT w.leads
    ) AS f ON true
    WHERE EXISTS (
        SELECT 1 FROM chunk_embeddings e
        WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = l.chunk_id)
),
keyword_arm AS MATERIALIZED (
    SELECT k.chunk_id, k.content_sha256, row_number() OVER (ORDER BY k.score DESC, k.chunk_id) AS arm_rank
    FROM keyword_scores k ORDER BY k.score DESC, k.chunk_id LIMIT :arm_limit
),

-- Identifiers: in the texts, and in the names of documents.
asked AS MATERIALIZED (
    -- The forms of one identifier ("4960", "rfc4960") share a number: they count once.
    SELECT t.identifier, t.number
    FROM unnest(CAST(:identifiers AS text[]), CAST(:identifier_numbers AS integer[]))
        WITH ORDINALITY AS t (identifier, number, place)
    WHERE t.place <= :max_identifiers
),
name_hits AS MATERIALIZED (
    SELECT n.id, n.content_sha256, a.number
    FROM asked a
    CROSS JOIN LATERAL (
        SELECT s.id, s.content_sha256 FROM searched_names s
        WHERE s.workspace_id = :workspace_id AND s.identifiers @> ARRAY[a.identifier] OFFSET 0
    ) AS n
),
named AS MATERIALIZED (
    SELECT h.content_sha256, h.number
    FROM name_hits h WHERE h.id IN (SELECT r.id FROM readable r)
    GROUP BY h.content_sha256, h.number
),
names AS MATERIALIZED (
    SELECT n.content_sha256, count(*) AS matches FROM named n GROUP BY n.content_sha256
),
wanted AS MATERIALIZED (
    -- What names a document is not looked for in the texts. The rarest ones lead, as among words.
    SELECT i.number, i.word,
           sum(k.chunks) OVER (ORDER BY k.chunks, i.word) <= :postings_limit
           OR row_number() OVER (ORDER BY k.chunks, i.word) = 1 AS leads
    FROM (
        SELECT a.number, identifier_number(:workspace_id, a.identifier) AS word FROM asked a
        WHERE a.number NOT IN (SELECT n.number FROM named n)
    ) AS i
    CROSS JOIN LATERAL (
        SELECT c.chunks FROM word_counts c WHERE c.workspace_id = :workspace_id AND c.word = i.word OFFSET 0
    ) AS k
),
identifier_hits AS MATERIALIZED (
    -- One at the start of a line, where clauses are numbered, weighs 3, one in a sentence 2; each identifier by its best
    -- form.
    SELECT c.chunk_id, c.content_sha256, t.weight
    FROM wanted w
    CROSS JOIN LATERAL (
        SELECT s.chunk_id, s.content_sha256, s.words, s.counts
        FROM (SELECT * FROM searched_words s WHERE s.words @> ARRAY[w.word] OFFSET 0) AS s
        WHERE s.workspace_id = :workspace_id
    ) AS c
    CROSS JOIN LATERAL (
        SELECT sum(b.weight) AS weight
        FROM (
            SELECT max(c.counts[array_position(c.words, o.word)]) + 1 AS weight FROM wanted o GROUP BY o.number
        ) AS b
    ) AS t
    WHERE w.leads
),
identifier_matches AS MATERIALIZED (
    -- A match in the name of the document weighs as much as two in sentences, since 3.0.1 mentions 3.0 as well.
    SELECT h.chunk_id, h.content_sha256, max(h.weight) + 4 * coalesce(n.matches, 0) AS weight,
           coalesce(k.score, 0) AS relevance
    FROM identifier_hits h
    LEFT JOIN names n ON n.content_sha256 = h.content_sha256
    LEFT JOIN keyword_scores k ON k.chunk_id = h.chunk_id
    WHERE h.content_sha256 IN (SELECT r.content_sha256 FROM readable r)
    GROUP BY h.chunk_id, h.content_sha256, n.matches, k.score
    ORDER BY weight DESC, relevance DESC, h.chunk_id LIMIT :candidate_limit
),
identifier_arm AS MATERIALIZED (
    -- What many passages hold alike tells little of each: "5" is an identifier too.
    SELECT m.chunk_id, m.content_sha256, rank() OVER (ORDER BY m.weight DESC) AS arm_rank,
           rank() OVER (ORDER BY m.weight DESC) * sqrt(count(*) OVER (PARTITION BY m.weight)) AS commonness
    FROM identifier_matches m
    WHERE EXISTS (
        SELECT 1 FROM chunk_embeddings e
        WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = m.chunk_id)
    ORDER BY m.weight DESC, m.relevance DESC, m.chunk_id LIMIT :arm_limit
),

-- Vectors: all of a small workspace; of one with cells, those of the nearest cells and those that are in none yet.
layout AS MATERIALIZED (
    -- Where there are cells: how many vectors to look at, more where old versions are among them; how many are searched,
    -- and about what share of these this reader may read.
    SELECT l.breadth * sqrt(w.searched_chunks) * greatest(
               (SELECT sum(c.size) FROM vector_cells c WHERE c.workspace_id = :workspace_id AND c.model = :model)
               / greatest(w.searched_chunks, 1)::float8, 1) AS vectors_of_all,
           w.searched_chunks AS vectors,
           greatest((SELECT count(*) FROM readable r), 1)::float8 / greatest(
               (SELECT count(*) FROM documents d
                WHERE d.workspace_id = :workspace_id AND d.current_content IS NOT NULL), 1) AS share
    FROM vector_layouts l
    JOIN workspaces w ON w.id = :workspace_id
    WHERE l.workspace_id = :workspace_id AND l.model = :model
),
probing AS MATERIALIZED (
    -- A reader of a part has to look at more. When that part has fewer vectors than would be looked at, all of it is.
    SELECT l.vectors_of_all / l.share AS vectors, l.vectors * l.share <= l.vectors_of_all / l.share AS is_small
    FROM layout l
),
nearest_cells AS MATERIALIZED (
    SELECT o.id
    FROM (
        SELECT c.id, sum(c.size) OVER (ORDER BY c.distance, c.id) - c.size AS vectors_before
        FROM (
            SELECT v.id, v.size, v.centroid <=> (SELECT q.vector FROM question q) AS distance
            FROM vector_cells v WHERE v.workspace_id = :workspace_id AND v.model = :model
        ) AS c
    ) AS o
    JOIN probing p ON o.vectors_before < p.vectors AND NOT p.is_small
),
vector_hits AS MATERIALIZED (
    SELECT e.chunk_id, e.content_sha256, e.embedding <=> (SELECT q.vector FROM question q) AS distance
    FROM nearest_cells n
    JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.cell = n.id
    UNION ALL
    SELECT e.chunk_id, e.content_sha256, e.embedding <=> (SELECT q.vector FROM question q)
    FROM chunk_embeddings e
    WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.cell IS NULL
      AND NOT EXISTS (SELECT 1 FROM probing p WHERE p.is_small)
),
nearest AS MATERIALIZED (
    SELECT h.chunk_id, h.content_sha256, h.distance
    FROM vector_hits h
    WHERE h.content_sha256 IN (SELECT r.content_sha256 FROM readable r)
    ORDER BY h.distance, h.chunk_id LIMIT :arm_limit
),
nearest_of_all AS (
    -- All that this reader may read, when that is little, or when the cells held too little of it.
    SELECT e.chunk_id, e.content_sha256, e.embedding <=> (SELECT q.vector FROM question q) AS distance
    FROM (SELECT DISTINCT r.content_sha256 FROM readable r) AS s
    JOIN chunk_embeddings e
        ON e.workspace_id = :workspace_id AND e.model = :model AND e.content_sha256 = s.content_sha256
    WHERE EXISTS (SELECT 1 FROM probing p WHERE p.is_small OR (SELECT count(*) FROM nearest n) < :arm_limit)
    ORDER BY distance, e.chunk_id LIMIT :arm_limit
),
vector_arm AS MATERIALIZED (
    -- Empty for a question without a vector, which no distance can be taken from.
    SELECT n.chunk_id, n.content_sha256, row_number() OVER (ORDER BY n.distance, n.chunk_id) AS arm_rank
    FROM (SELECT * FROM nearest UNION SELECT * FROM nearest_of_all) AS n
    WHERE n.distance IS NOT NULL
    ORDER BY n.distance, n.chunk_id LIMIT :arm_limit
),

found AS MATERIALIZED (
    SELECT a.chunk_id, a.content_sha256, max(a.commonness) AS commonness, max(a.identifier_rank) AS identifier_rank,
           max(a.keyword_rank) AS keyword_rank, max(a.vector_rank) AS vector_rank
    FROM (
        SELECT chunk_id, content_sha256, commonness, arm_rank AS identifier_rank, NULL::bigint AS keyword_rank,
               NULL::bigint AS vector_rank FROM identifier_arm
        UNION ALL
        SELECT chunk_id, content_sha256, NULL, NULL, arm_rank, NULL FROM keyword_arm
        UNION ALL
        SELECT chunk_id, content_sha256, NULL, NULL, NULL, arm_rank FROM vector_arm
    ) AS a
    GROUP BY a.chunk_id, a.content_sha256
),
compared AS MATERIALIZED (
    -- Each by all arms, whichever found it.
    SELECT f.*, n.matches, k.score AS keyword_score, 1 - (e.embedding <=> (SELECT q.vector FROM question q)) AS similarity
    FROM found f
    JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = f.chunk_id
    LEFT JOIN keyword_scores k ON k.chunk_id = f.chunk_id
    LEFT JOIN names n ON n.content_sha256 = f.content_sha256
),
highest AS MATERIALIZED (
    SELECT nullif(max(o.keyword_score), 0) AS keyword_score, greatest(max(o.similarity), 0) AS similarity
    FROM compared o
),
best AS MATERIALIZED (
    -- Scores of an arm are shares of its highest one for this question (convex combination: Bruch, Gai and Ingber 2023).
    SELECT s.chunk_id, s.identifier_rank, s.keyword_rank, s.vector_rank, s.similarity,
           coalesce(CAST(:identifier_weight AS float8) / s.commonness, 0)
           + CAST(:keyword_weight AS float8) * coalesce(CAST(s.keyword_score / m.keyword_score AS float8), 0)
           + CAST(:vector_weight AS float8) * coalesce(greatest(s.similarity, 0) / nullif(m.similarity, 0), 0)
           + CAST(:name_weight AS float8) * coalesce(s.matches, 0) AS score
    FROM compared s
    CROSS JOIN highest m
    ORDER BY score DESC, s.chunk_id LIMIT :result_limit
)
SELECT c.id AS chunk_id, d.id AS document_id, d.name AS document_name, d.current_version_id AS version_id,
       c.content_sha256, c.ordinal, c.page_start, c.page_end, c.start_offset, c.end_offset, c.text, c.heading,
       c.token_count, b.score, b.identifier_rank, b.keyword_rank, b.vector_rank, b.similarity,
       ARRAY(
           SELECT p.start_offset FROM pages p
           WHERE p.workspace_id = :workspace_id AND p.content_sha256 = c.content_sha256
             AND p.number BETWEEN c.page_start AND c.page_end
           ORDER BY p.number
       ) AS page_offsets
FROM best b
JOIN chunks c ON c.workspace_id = :workspace_id AND c.id = b.chunk_id
CROSS JOIN LATERAL (
    SELECT r.id, r.name, r.current_version_id FROM readable_documents(:workspace_id, :user_id) AS r
    WHERE r.current_content = c.content_sha256 ORDER BY r.created_at, r.id LIMIT 1
) AS d
ORDER BY b.score DESC, c.id
