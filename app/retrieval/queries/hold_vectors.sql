-- hold_vectors: which of some vectors can go to another cell at once; they and their cells are held for that.
-- It waits for nobody: a deletion holds vectors and then their cells, in any order when it takes several statements.
-- Nothing goes back to an older cell than it is in, so that a run which was overtaken does no harm.

WITH given AS MATERIALIZED (
    SELECT t.chunk_id, t.cell FROM unnest(CAST(:chunk_ids AS uuid[]), CAST(:cells AS bigint[])) AS t (chunk_id, cell)
),
held AS MATERIALIZED (
    SELECT e.chunk_id, e.cell AS old_cell, g.cell
    FROM given g
    JOIN chunk_embeddings e ON e.workspace_id = :workspace_id AND e.model = :model AND e.chunk_id = g.chunk_id
    WHERE e.cell IS DISTINCT FROM g.cell AND (g.cell IS NULL OR e.cell IS NULL OR e.cell < :first_cell)
    FOR NO KEY UPDATE OF e SKIP LOCKED
),
free AS MATERIALIZED (
    SELECT c.id FROM vector_cells c
    WHERE c.workspace_id = :workspace_id AND c.model = :model
      AND c.id IN (SELECT h.old_cell FROM held h UNION SELECT h.cell FROM held h)
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT h.chunk_id, h.old_cell, h.cell FROM held h
WHERE (h.cell IS NULL OR h.cell IN (SELECT f.id FROM free f))
  AND (h.old_cell IS NULL OR h.old_cell IN (SELECT f.id FROM free f))
