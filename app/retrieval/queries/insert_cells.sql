-- insert_cells: the cells of a new generation, in order, with nothing in them.

INSERT INTO vector_cells (workspace_id, model, generation, centroid)
SELECT :workspace_id, :model, :generation, CAST(t.centroid AS halfvec)
FROM unnest(CAST(:centroids AS text[])) WITH ORDINALITY AS t (centroid, place)
ORDER BY t.place
