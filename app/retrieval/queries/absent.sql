-- absent: the numbers of those identifiers of a question that no current document of this reader holds in any of their
-- forms, in its text, its headings or its name. Numbers are never synonyms: what is absent cannot be answered.

WITH readable AS MATERIALIZED (
    SELECT r.id, r.current_content AS content_sha256
    FROM readable_documents(:workspace_id, :user_id) AS r
    WHERE r.current_content IS NOT NULL
),
asked AS MATERIALIZED (
    SELECT t.identifier, t.number
    FROM unnest(CAST(:identifiers AS text[]), CAST(:identifier_numbers AS integer[]))
        WITH ORDINALITY AS t (identifier, number, place)
    WHERE t.place <= :max_identifiers
),
name_hits AS MATERIALIZED (
    SELECT n.id, a.number FROM asked a
    CROSS JOIN LATERAL (
        SELECT s.id FROM searched_names s
        WHERE s.workspace_id = :workspace_id AND s.identifiers @> ARRAY[a.identifier] OFFSET 0
    ) AS n
),
text_hits AS MATERIALIZED (
    -- Only what stands in searched documents at all is looked for.
    SELECT DISTINCT c.content_sha256, a.number
    FROM asked a
    CROSS JOIN LATERAL (
        SELECT k.word FROM word_counts k
        WHERE k.workspace_id = :workspace_id AND k.word = identifier_number(:workspace_id, a.identifier) OFFSET 0
    ) AS i
    CROSS JOIN LATERAL (
        SELECT s.content_sha256
        FROM (SELECT * FROM searched_words s WHERE s.words @> ARRAY[i.word] OFFSET 0) AS s
        WHERE s.workspace_id = :workspace_id
    ) AS c
)
SELECT DISTINCT a.number FROM asked a
WHERE a.number NOT IN (
          SELECT h.number FROM name_hits h WHERE h.id IN (SELECT r.id FROM readable r))
  AND a.number NOT IN (
          SELECT h.number FROM text_hits h WHERE h.content_sha256 IN (SELECT r.content_sha256 FROM readable r))
ORDER BY a.number
