from evals.formats import Evidence, LabelledQuestion
from evals.matching import Found, holds_evidence
from evals.splits import in_half

PARAGRAPH = "The canal was dug in 1889 by Italian workers. It joins two lakes and carries timber to the mill."


def question(text: str, *answers: str, file: str = "canal.txt") -> LabelledQuestion:
    evidence = (Evidence(file, text),)
    return LabelledQuestion("q", "When was it dug?", answerable=True, label="", answers=answers, evidence=evidence)


def test_a_passage_that_contains_the_evidence_holds_it_whatever_the_white_space() -> None:
    found = Found("canal.txt", "Before. " + PARAGRAPH.replace(" ", "\n") + " After.")
    assert holds_evidence(found, question(PARAGRAPH))


def test_the_same_text_in_another_file_does_not_count() -> None:
    assert not holds_evidence(Found("other.txt", PARAGRAPH), question(PARAGRAPH))


def test_evidence_without_a_text_means_the_file() -> None:
    assert holds_evidence(Found("canal.txt", "Anything."), question(""))


def test_a_part_of_the_evidence_counts_only_with_the_answer_in_it() -> None:
    asked = question(PARAGRAPH, "1889")
    assert holds_evidence(Found("canal.txt", "The canal was dug in 1889 by Italian workers."), asked)
    assert not holds_evidence(Found("canal.txt", "It joins two lakes and carries timber to the mill."), asked)


def test_the_smaller_part_of_a_cut_paragraph_counts_with_the_answer_in_it() -> None:
    lines = [
        f"In {year} the keeper of lock number {year - 1800} wrote a long letter to the office."
        for year in range(1880, 1888)
    ]
    asked = question(" ".join(lines), "1887")
    other = " Then the book tells of boats, sails, ropes, anchors, winds, tides, storms, harbours, pilots, signals." * 3
    assert holds_evidence(Found("canal.txt", lines[-1] + other), asked)
    assert not holds_evidence(Found("canal.txt", lines[0] + other), asked)
    assert not holds_evidence(Found("canal.txt", "In 1887 it rained." + other), asked)


def test_another_text_of_the_file_does_not_hold_the_evidence() -> None:
    assert not holds_evidence(Found("canal.txt", "Boats need a permit from the harbour office."), question(PARAGRAPH))


def test_the_halves_divide_all_questions() -> None:
    ids = [f"question-{n}" for n in range(1000)]
    tuning = [each for each in ids if in_half(each, "tuning")]
    assert [each for each in ids if in_half(each, "held-out")] == [each for each in ids if each not in tuning]
    assert 400 < len(tuning) < 600
