"""Everything that can be measured, in the order in which it is."""

from bench.measurements import ask, files, generated, kills, memory, parsing, pipeline, queue, retrieval, uploads
from bench.runs import Measurement

MEASUREMENTS = (
    Measurement("parsing", "pages a second that one core reads from text PDFs", parsing.measure),
    Measurement("pipeline", "pages a second from the queue to ready, against embedding alone", pipeline.measure),
    Measurement("ask", "how long an answer takes, idle and while the worker ingests", ask.measure),
    Measurement("memory", "the most memory that a worker takes for huge files", memory.measure),
    Measurement("files", "how each file of a folder ends, and again", files.measure, needs_data=True),
    Measurement("kills", "what is left after a worker was killed at every point", kills.measure),
    Measurement("uploads", "the same bytes at once, and a failing file over and over", uploads.measure),
    Measurement("generated", "odd documents, chunked and checked", generated.measure),
    Measurement("retrieval", "search among a million passages: speed, recall, isolation", retrieval.measure),
    Measurement("queue", "cost of a long queue, and whether a small file waits behind it", queue.measure),
)
