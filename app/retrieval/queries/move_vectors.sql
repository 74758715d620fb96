-- move_vectors: puts vectors that are held into other cells, or into none, with the sizes of all cells.

WITH given AS MATERIALIZED (
    SELECT t.chunk_id, t.old_cell, t.cell
    FROM unnest(CAST(:chunk_ids AS uuid[]), CAST(:old_cells AS bigint[]), CAST(:cells AS bigint[]))
        AS t (chunk_id, old_cell, cell)
),
moved AS (
    UPDATE chunk_embeddings e SET cell = g.cell FROM given g
    WHERE e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = g.chunk_id
    RETURNING g.old_cell, g.cell
),
changed AS (
    SELECT t.id, sum(t.change) AS change
    FROM (SELECT m.cell AS id, 1 AS change FROM moved m UNION ALL SELECT m.old_cell, -1 FROM moved m) AS t
    WHERE t.id IS NOT NULL GROUP BY t.id
)
UPDATE vector_cells c SET size = c.size + t.change FROM changed t
WHERE c.workspace_id = :workspace_id AND c.model = :model AND c.id = t.id
