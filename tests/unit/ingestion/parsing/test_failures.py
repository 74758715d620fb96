import pytest

from app.documents.media_types import MediaType
from app.ingestion.parsing.types import ParseFailure, ParseReason


@pytest.mark.parametrize("media_type", MediaType)
@pytest.mark.parametrize("reason", ParseReason)
def test_each_failure_is_told_in_whole_sentences(reason: ParseReason, media_type: MediaType) -> None:
    detail = ParseFailure(reason).detail_for(media_type)
    assert detail[0].isupper()
    assert detail.endswith(".")


@pytest.mark.parametrize("media_type", MediaType)
def test_only_what_may_be_a_scan_is_to_be_recognised(media_type: MediaType) -> None:
    may_hold_pictures = media_type in {MediaType.PDF, MediaType.DOCX}
    assert ("OCR" in ParseFailure(ParseReason.NO_TEXT).detail_for(media_type)) is may_hold_pictures
    assert ("fonts" in ParseFailure(ParseReason.LOW_TEXT_QUALITY).detail_for(media_type)) is (
        media_type is MediaType.PDF
    )
