-- vector_counts: how many vectors of one model a workspace has, and how they are laid out.

WITH counted AS MATERIALIZED (
    SELECT e.cell, count(*) AS vectors FROM chunk_embeddings e
    WHERE e.workspace_id = :workspace_id AND e.model = :model GROUP BY e.cell
)
SELECT n.vectors, n.unplaced, c.cells, c.outdated, c.miscounted, l.generation, l.made_for, l.breadth,
       coalesce(l.compared_at < now() - CAST(:compare_every AS interval), true) AS compare
FROM (
    SELECT coalesce(sum(t.vectors), 0)::bigint AS vectors,
           coalesce(sum(t.vectors) FILTER (WHERE t.cell IS NULL), 0)::bigint AS unplaced
    FROM counted t
) AS n
LEFT JOIN vector_layouts l ON l.workspace_id = :workspace_id AND l.model = :model
CROSS JOIN LATERAL (
    SELECT count(*) AS cells, count(*) FILTER (WHERE v.generation < l.generation) AS outdated,
           count(*) FILTER (WHERE v.size <> coalesce(t.vectors, 0)) AS miscounted
    FROM vector_cells v LEFT JOIN counted t ON t.cell = v.id
    WHERE v.workspace_id = :workspace_id AND v.model = :model
) AS c
