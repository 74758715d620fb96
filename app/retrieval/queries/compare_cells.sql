-- compare_cells: how many of the passages nearest to a vector there are, and how many of these the vector arm of `hybrid`
-- finds for a reader of everything: it looks at the nearest cells, at what is in none, and at all when that gave too few.

WITH question AS MATERIALIZED (
    SELECT CAST(:embedding AS halfvec) AS vector  -- read from its text once, and not for each distance
),
searched AS MATERIALIZED (
    SELECT DISTINCT d.current_content AS content_sha256 FROM documents d
    WHERE d.workspace_id = :workspace_id AND d.current_content IS NOT NULL
),
probing AS MATERIALIZED (
    SELECT p.looked_at AS vectors, p.searched <= p.looked_at AS is_small
    FROM (
        SELECT w.searched_chunks AS searched, l.breadth * sqrt(w.searched_chunks) * greatest(
                   (SELECT sum(c.size) FROM vector_cells c WHERE c.workspace_id = :workspace_id AND c.model = :model)
                   / greatest(w.searched_chunks, 1)::float8, 1) AS looked_at
        FROM vector_layouts l
        JOIN workspaces w ON w.id = :workspace_id
        WHERE l.workspace_id = :workspace_id AND l.model = :model
    ) AS p
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
hits AS MATERIALIZED (
    SELECT e.chunk_id, e.content_sha256, e.embedding <=> (SELECT q.vector FROM question q) AS distance
    FROM nearest_cells n
    JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.cell = n.id
    UNION ALL
    SELECT e.chunk_id, e.content_sha256, e.embedding <=> (SELECT q.vector FROM question q)
    FROM chunk_embeddings e WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.cell IS NULL
),
found AS MATERIALIZED (
    SELECT h.chunk_id, row_number() OVER (ORDER BY h.distance, h.chunk_id) AS place
    FROM hits h WHERE h.content_sha256 IN (SELECT s.content_sha256 FROM searched s)
    ORDER BY h.distance, h.chunk_id LIMIT :arm_limit
),
wanted AS MATERIALIZED (
    SELECT e.chunk_id FROM chunk_embeddings e
    WHERE e.workspace_id = :workspace_id AND e.model = :model
      AND e.content_sha256 IN (SELECT s.content_sha256 FROM searched s)
    ORDER BY e.embedding <=> (SELECT q.vector FROM question q), e.chunk_id LIMIT :nearest
)
SELECT (SELECT count(*) FROM wanted) AS wanted,
       (
           SELECT count(*) FROM wanted w
           WHERE w.chunk_id IN (SELECT f.chunk_id FROM found f WHERE f.place <= :nearest)
              OR (SELECT count(*) FROM found) < :arm_limit
              OR EXISTS (SELECT 1 FROM probing p WHERE p.is_small)
       ) AS found
