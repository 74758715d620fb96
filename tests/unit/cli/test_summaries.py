from pathlib import Path

from app.cli.files import Collected, LocalFile
from app.cli.overview import Overview
from app.cli.summaries import failures, left_out, notices, stopped
from app.cli.uploading import Uploaded


def failed(name: str, reason: str | None) -> Uploaded:
    document = {"status": "failed", "reason": reason, "pages_without_text": [1]}
    return Uploaded(LocalFile(Path(name), name), {"outcome": "created"}, document, "It failed.")


def test_failures_are_grouped_with_what_to_do_the_most_frequent_first() -> None:
    results = [failed(f"{n}.pdf", "encrypted") for n in range(5)] + [failed("scan\x1b.pdf", "no_text")]
    results += [failed("x", "a reason of tomorrow"), failed("y", None)]
    assert list(failures(results)) == [
        "8 failed: 5 encrypted, 2 for other reasons, 1 without text.",
        "  encrypted: Remove the password and upload them again. (0.pdf, 1.pdf, 2.pdf, and 2 more)",
        "  for other reasons: What was said about each is above. (x, y)",
        "  without text: Nothing in them can be quoted; a scan needs its text recognised (OCR). (scan\\x1b.pdf)",
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


def uploaded(outcome: str, warning: str) -> Uploaded:
    accepted = {"outcome": outcome, "status": "ready", "warnings": [warning]}
    return Uploaded(LocalFile(Path("a"), "a"), accepted, {"status": "ready", "pages_without_text": []}, None)


def test_only_a_new_document_is_told_as_much_like_another() -> None:
    (told,) = notices([uploaded("created", "This may be another copy of b.")])
    assert told.startswith("1 file much like one")
    for outcome in ("identical", "new_version", "same_content"):
        assert list(notices([uploaded(outcome, "Page 2 holds no text.")])) == []


def test_what_was_left_out_is_named_with_how_to_send_it() -> None:
    found = Collected((), [Path("a/photo.jpg"), Path("a/data.json")], [Path("a/.git")])
    skipped, hidden = left_out(found)
    assert skipped.startswith("2 files left out, since the name does not end like a document's. Name a file")
    assert skipped.endswith("(data.json, photo.jpg)")
    assert hidden == "1 hidden file or folder left out. (.git)"


def test_a_file_that_did_not_get_there_is_not_told_as_on_the_way() -> None:
    overview = Overview(dict.fromkeys("ab", 1), 0.0)
    overview.send("a")
    overview.keep("a")
    assert stopped(overview).splitlines()[0] == "Stopped. Of 2 files: 0 done, 2 not sent."


def test_no_advice_fits_only_some_of_the_files_that_it_is_given_for() -> None:
    unsupported = Uploaded(LocalFile(Path("a.zip"), "a.zip"), None, None, "It is a ZIP.", "unsupported_media_type")
    told = " ".join(failures([unsupported, failed("blank.txt", "no_text")]))
    assert "Convert" not in told
    assert "a scan needs" in told
