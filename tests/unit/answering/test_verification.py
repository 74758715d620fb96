from app.answering.claims import Draft, DraftClaim, DraftQuote
from app.answering.verification import verify
from app.retrieval.types import PageStart, Passage
from tests.unit.answering.examples import passage

FEES = passage("Members pay 40 euro a year. Guests pay 5 euro a visit under rule 4.2.1.", name="fees.txt")
HOURS = passage("The hall opens at 9:30.", name="hours.txt")


def claim(text: str, *quotes: tuple[Passage, str]) -> DraftClaim:
    return DraftClaim(text, tuple(DraftQuote(source.chunk_id, quote) for source, quote in quotes))


def verified(*claims: DraftClaim, question: str = "What do members pay?") -> list[str]:
    return [each.text for each in verify(Draft(claims), (FEES, HOURS), question)]


def test_a_claim_with_its_quote_stands() -> None:
    assert verified(claim("Members pay 40 euro.", (FEES, "Members pay 40 euro"))) == ["Members pay 40 euro."]


def test_claims_stand_and_fall_alone() -> None:
    kept = claim("Open from 9:30.", (HOURS, "opens at 9:30"))
    assert verified(claim("Invented.", (FEES, "Members pay nothing")), kept) == ["Open from 9:30."]


def test_a_claim_falls_with_one_of_its_quotes() -> None:
    assert verified(claim("Both.", (FEES, "Members pay 40 euro"), (HOURS, "closes at noon"))) == []


def test_a_claim_without_quotes_falls() -> None:
    assert verified(claim("Members pay.")) == []


def test_a_quote_from_another_passage_than_named_falls() -> None:
    assert verified(claim("Open from 9:30.", (FEES, "opens at 9:30"))) == []


def test_a_quote_from_a_passage_that_was_not_given_falls() -> None:
    foreign = passage("The safe code is secret.", name="other.txt")
    assert verified(claim("The safe code is secret.", (foreign, "The safe code is secret"))) == []


def test_a_number_that_is_in_no_quote_removes_the_claim() -> None:
    assert verified(claim("Members pay 45 euro.", (FEES, "Members pay 40 euro"))) == []


def test_an_identifier_that_is_in_no_quote_removes_the_claim() -> None:
    assert verified(claim("Rule 4.2.2 sets the fee.", (FEES, "Guests pay 5 euro a visit under rule 4.2.1"))) == []


def test_numbers_of_the_question_may_be_repeated() -> None:
    text = "Of the 12 members each pays 40 euro."
    drafted = claim(text, (FEES, "Members pay 40 euro"))
    assert verified(drafted, question="What do the 12 members pay?") == [text]


def test_a_part_of_a_number_does_not_carry_it() -> None:
    assert verified(claim("Opens at 9.", (HOURS, "opens at 9:30"))) == []


def test_citations_are_numbered_by_us_in_order_of_appearance() -> None:
    draft = Draft(
        (
            claim("a", (FEES, "Members pay 40 euro"), (HOURS, "The hall opens")),
            claim("b", (FEES, "not there")),
            claim("c", (FEES, "Guests pay 5 euro")),
        )
    )
    claims = list(verify(draft, (FEES, HOURS), ""))
    assert [[citation.n for citation in each.citations] for each in claims] == [[1, 2], [3]]


def test_citations_do_not_depend_on_the_order_of_passages() -> None:
    draft = Draft((claim("a", (HOURS, "The hall opens")),))
    assert list(verify(draft, (FEES, HOURS), "")) == list(verify(draft, (HOURS, FEES), ""))


def test_a_quote_over_two_pages_gives_two_citations_of_one_claim() -> None:
    split = passage("It begins here\nand ends there.", pages=(PageStart(1, 0), PageStart(2, 15)))
    (only,) = verify(Draft((claim("It ends.", (split, split.text)),)), (split,), "")
    assert [(each.n, each.page, each.start, each.quote) for each in only.citations] == [
        (1, 1, 0, "It begins here"),
        (2, 2, 0, "and ends there."),
    ]
