import pytest

from app.answering.questions import AnswerKind, absent_identifiers, name_identifiers, read_question, split_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Who wrote the report?", ("Who wrote the report?",)),
        (
            "Who wrote the report? When was the bridge opened?",
            ("Who wrote the report?", "When was the bridge opened?"),
        ),
        (
            "Who wrote the report and when was the bridge opened?",
            ("Who wrote the report", "when was the bridge opened?"),
        ),
        ("Who was Curie and when was she born?", ("Who was Curie and when was she born?",)),
        ("What are the rights and duties of members?", ("What are the rights and duties of members?",)),
        (
            "What do requirements 2.1 and 2.13 say?",
            ("What do requirements 2.1 say?", "What do requirements 2.13 say?"),
        ),
        ("Explain T3410 and T3411", ("Explain T3410", "Explain T3411")),
        ("Compare T3410 and T3411", ("Compare T3410 and T3411",)),
        ("What happened between 1914 and 1918?", ("What happened between 1914 and 1918?",)),
        ("I have a leak. What should I do?", ("I have a leak. What should I do?",)),
        ("a? b? c? d? e?", ("a? b? c? d? e?",)),
    ],
)
def test_split_parts(text: str, parts: tuple[str, ...]) -> None:
    assert split_parts(text) == parts


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who led the army?", AnswerKind.PERSON),
        ("When was it built?", AnswerKind.TIME),
        ("In what year did it end?", AnswerKind.TIME),
        ("How many ships sank?", AnswerKind.NUMBER),
        ("Where is the archive?", AnswerKind.PLACE),
        ("Why did prices fall?", AnswerKind.REASON),
        ("What is a covenant?", AnswerKind.OTHER),
    ],
)
def test_the_kind_of_answer_follows_from_the_question_word(text: str, kind: AnswerKind) -> None:
    assert read_question(text).kind is kind


def test_the_file_extension_is_no_part_of_a_name() -> None:
    assert name_identifiers("OWASP ASVS 3.0.pdf") >= {"3.0"}
    assert name_identifiers("rfc4960.md") == {"rfc4960"}


def test_identifiers_that_no_evidence_holds_are_absent() -> None:
    question = read_question("What does 2.13 of ASVS 3.0.1 say?")
    assert absent_identifiers(question, ["ASVS 3.0.1", "2.13 Verify that it holds."]) == ()
    assert absent_identifiers(question, ["ASVS 3.0", "2.13 Verify that it holds."]) == ("3.0.1",)


def test_small_counts_are_not_asked_for_literally() -> None:
    assert absent_identifiers(read_question("What are the 3 rules of the 19th century?"), ["three rules"]) == ()
