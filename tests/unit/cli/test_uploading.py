from pathlib import Path

from app.cli.client import JsonObject
from app.cli.files import LocalFile
from app.cli.summaries import summary
from app.cli.uploading import Uploaded

FILE = LocalFile(Path("manual.pdf"), "manual.pdf")
ACCEPTED: JsonObject = {
    "document_id": "d",
    "version_id": "v",
    "outcome": "created",
    "status": "queued",
    "warnings": ["A similar document was uploaded a minute ago."],
}
READY: JsonObject = {"status": "ready", "page_count": 1, "chunk_count": 12, "name": "manual.pdf", "warnings": []}


def test_ready_document_is_told_with_its_size() -> None:
    assert Uploaded(FILE, ACCEPTED, READY, None).words() == "new document, 1 page, 12 passages"


def test_unfollowed_upload_does_not_claim_to_be_ready() -> None:
    assert Uploaded(FILE, ACCEPTED, None, None).words() == "new document, not yet ready"


def test_what_is_ready_at_once_is_not_told_as_not_ready() -> None:
    for outcome in ("same_content", "new_version", "identical"):
        accepted = {**ACCEPTED, "outcome": outcome, "status": "ready"}
        assert "not yet ready" not in Uploaded(FILE, accepted, None, None).words()


def test_failure_is_told_in_words() -> None:
    assert Uploaded(FILE, ACCEPTED, {"status": "failed"}, "It is locked.").words() == "failed: It is locked."


def test_json_of_a_refused_file_has_the_same_members() -> None:
    refused = Uploaded(FILE, None, None, "Unsupported").as_json()
    assert refused.keys() == Uploaded(FILE, ACCEPTED, READY, None).as_json().keys()
    assert refused["error"] == "Unsupported"
    assert refused["document_id"] is None


def test_warnings_of_upload_and_document_are_told_once() -> None:
    document = {**READY, "warnings": [*ACCEPTED["warnings"], "Page 4 holds no text."]}
    assert Uploaded(FILE, ACCEPTED, document, None).warnings() == [*ACCEPTED["warnings"], "Page 4 holds no text."]


def test_summary_counts_how_files_came_out() -> None:
    results = [
        Uploaded(FILE, ACCEPTED, READY, None),
        Uploaded(FILE, {**ACCEPTED, "outcome": "identical"}, READY, None),
        Uploaded(FILE, None, None, "Unsupported"),
    ]
    assert summary(results) == "3 files: 1 new, 1 unchanged, 1 failed."
