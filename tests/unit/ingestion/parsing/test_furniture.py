from app.ingestion.parsing.furniture import take_out_furniture

BODIES = ("Alpha text here.", "Beta is another.", "Gamma was third.", "Delta ends it.")


def test_headers_and_counting_footers_are_taken_out_and_kept_aside() -> None:
    pages = [f"ACME Manual\n{body}\nPage {number} of 4" for number, body in enumerate(BODIES, start=7)]
    assert take_out_furniture(pages) == [
        (body, ("ACME Manual", f"Page {number} of 4")) for number, body in enumerate(BODIES, start=7)
    ]


def test_roman_page_numbers_are_taken_out() -> None:
    pages = [f"{body}\n{number}" for body, number in zip(BODIES, ("iii", "iv", "v", "vi"), strict=True)]
    assert [text for text, _ in take_out_furniture(pages)] == list(BODIES)


def test_table_rows_at_page_edges_stay() -> None:
    pages = ["12 40 7\nrow\n9 9 3", "55 2 8\nrow two\n4 1 7", "31 90 2\nrow three\n8 8 1"]
    assert [text for text, _ in take_out_furniture(pages)] == pages


def test_a_line_repeated_inside_pages_stays() -> None:
    pages = [f"{body}\nmore\nmore {body}\nRepeated.\nand {body}\nso {body}\nlast {body}" for body in BODIES]
    assert [text for text, _ in take_out_furniture(pages)] == pages


def test_two_pages_are_too_few_to_tell() -> None:
    assert take_out_furniture(["Same\na", "Same\nb"]) == [("Same\na", ()), ("Same\nb", ())]


def test_repeated_lines_stay_when_there_is_nothing_else() -> None:
    assert take_out_furniture(["Only", "Only", "Only"]) == [("Only", ())] * 3


def test_no_pages_and_empty_pages_pass() -> None:
    assert take_out_furniture([]) == []
    assert take_out_furniture(["", "", ""]) == [("", ())] * 3


def test_repeated_lines_stay_when_most_pages_have_nothing_else() -> None:
    assert take_out_furniture(["Only", "Only", "Only", "Only\nmore"])[0] == ("Only", ())


def test_a_page_with_nothing_but_furniture_loses_it_among_others() -> None:
    pages = [*(f"ACME\n{body}" for body in BODIES), "ACME"]
    assert take_out_furniture(pages)[4] == ("", ("ACME",))
