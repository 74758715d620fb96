-- recount_cells: sets the sizes of cells that are held to what is in them.

UPDATE vector_cells c SET size = t.vectors
FROM (
    SELECT i.id, count(e.cell) AS vectors
    FROM unnest(CAST(:cells AS bigint[])) AS i (id)
    LEFT JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.cell = i.id
    GROUP BY i.id
) AS t
WHERE c.workspace_id = :workspace_id AND c.model = :model AND c.id = t.id AND c.size <> t.vectors
