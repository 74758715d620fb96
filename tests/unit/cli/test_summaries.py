from pathlib import Path

from app.cli.files import LocalFile
from app.cli.overview import Overview
from app.cli.summaries import failures, notices, stopped
from app.cli.uploading import Uploaded


def failed(name: str, reason: str | None) -> Uploaded:
    document = {"status": "failed", "reason": reason, "pages_without_text": [1]}
    return Uploaded(LocalFile(Path(name), name), {"outcome": "created"}, document, "It failed.")


def test_failures_are_grouped_with_what_to_do_the_most_frequent_first() -> None:
    results = [failed(f"{n}.pdf", "encrypted") for n in range(5)] + [failed("scan\x1b.pdf", "no_text")]
    results += [failed("x", "a reason of tomorrow"), failed("y", None)]
    assert list(failures(results)) == [
        "8 failed: 5 encrypted, 2 for other reasons, 1 no text (scan).",
        "  encrypted: Remove the password and upload them again. (0.pdf, 1.pdf, 2.pdf, and 2 more)",
        "  for other reasons: What was said about each is above. (x, y)",
        "  no text (scan): Recognise their text (OCR) and upload them again. (scan\\x1b.pdf)",
    ]


def test_nothing_failed_is_not_told() -> None:
    ready = Uploaded(LocalFile(Path("a"), "a"), {"outcome": "created"}, {"status": "ready"}, None)
    assert list(failures([ready])) == []
    assert list(notices([ready])) == []


def test_pages_of_a_failed_file_are_no_notice_of_their_own() -> None:
    assert list(notices([failed("a", "no_text")])) == []


def test_stopping_tells_each_place_where_files_are() -> None:
    overview = Overview(dict.fromkeys("abcdef", 1), 0.0)
    for name in "abcd":
        overview.send(name)
    for name in "abc":
        overview.accept(name)
    overview.finish("a", failed=False, at_once=False)
    first, follow, rest = stopped(overview).splitlines()
    assert first == (
        "Stopped. Of 6 files: 1 done, 2 sent and still worked on, 1 on the way, which may have arrived, 2 not sent."
    )
    assert "documents list --status queued" in follow
    assert "same command again" in rest


def test_stopping_before_anything_was_sent_promises_nothing_of_the_service() -> None:
    told = stopped(Overview({"a": 1}, 0.0))
    assert told.splitlines()[0] == "Stopped. Of 1 file: 0 done, 1 not sent."
    assert "goes on" not in told
