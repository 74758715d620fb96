-- insert_chunks: some chunks of one content with their words. One parameter for all rows: a statement with a parameter
-- for each value takes three times as long.

WITH given AS MATERIALIZED (
    SELECT g.*
    FROM json_to_recordset(CAST(:chunks AS json)) AS g (
        id uuid, ordinal integer, start_offset integer, end_offset integer, page_start integer, page_end integer,
        heading text, text text, token_count integer, identifiers text[], searched text)
),
stored AS (
    INSERT INTO chunks (
        workspace_id, id, content_sha256, ordinal, start_offset, end_offset, page_start, page_end, heading, text,
        token_count)
    SELECT :workspace_id, g.id, :sha256, g.ordinal, g.start_offset, g.end_offset, g.page_start, g.page_end, g.heading,
           g.text, g.token_count
    FROM given g
)
INSERT INTO chunk_words (workspace_id, chunk_id, content_sha256, length, words, counts)
SELECT :workspace_id, g.id, :sha256, w.length, w.words, w.counts
FROM given g
CROSS JOIN LATERAL words_of(
    :workspace_id, CAST(:text_search AS text), coalesce(g.searched, g.heading || E'\n' || g.text),
    g.text, g.identifiers
) AS w
