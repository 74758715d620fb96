import concurrent.futures
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, strategies as st

from app.core.languages import NO_STEMMING, detect_language, searchable, text_search_of
from tests.support.languages import PROSE

SNOWBALL = {
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian", "finnish", "french", "german",
    "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese",
    "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
}  # fmt: skip
SPACELESS = {"zh", "ja", "ko"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("language", PROSE)
def test_the_language_of_a_sentence_is_told(language: str) -> None:
    assert detect_language(PROSE[language]) == language


@pytest.mark.parametrize("text", ["", "   \n", "OK", "12 34 56", "T3410", "3.1.4 | 2.7", "a b c", "%PDF-1.4 {}[]"])
def test_too_little_text_has_no_language(text: str) -> None:
    assert detect_language(text) == ""


def table(rows: int) -> str:
    """Return a table that is mostly numbers and part numbers, under English headings."""
    numbers = random.Random(5)  # noqa: S311
    lines = (
        f"| AX-{numbers.randrange(10_000)} | {numbers.random():.3f} | 0x{numbers.randrange(2**32):08x} | "
        f"R{numbers.randrange(99)}/C{numbers.randrange(99)} | {numbers.randrange(100)} % |"
        for _ in range(rows)
    )
    return "| Part number | Nominal value | Address | Position | Tolerance |\n" + "\n".join(lines)


@pytest.mark.parametrize("language", ["en", "de"])
def test_tables_of_numbers_do_not_hide_the_language_around_them(language: str) -> None:
    tables = table(400)
    assert detect_language("\n\n".join([PROSE[language], tables] * 20)) == language
    assert detect_language(f"{tables}\n\n{PROSE[language] * 5}\n\n{tables}") in {language, ""}


def test_an_english_data_sheet_is_english() -> None:
    rows = "\n".join(
        f"| VCC{n} | Supply voltage of bank {n} | 1.{n}5 V | 3.{n} V | 3.6 V | see figure {n} |" for n in range(60)
    )
    text = (
        f"# MX25L{rows[2:5]} Absolute maximum ratings\n\n| Symbol | Parameter | Min | Typ | Max | Notes |\n{rows}\n\n"
        "Stresses above these ratings may cause permanent damage to the device.\n"
    )
    assert detect_language(text) == "en"


@pytest.mark.parametrize(
    "make",
    [
        lambda chance: " ".join(str(chance.randrange(10**9)) for _ in range(2_000)),
        lambda chance: chance.randbytes(20_000).hex(),
        lambda chance: "\n".join(f"{chance.randrange(9)};{chance.random()};N/A" for _ in range(1_000)),
        lambda chance: "".join(chance.choice("!@#$%^&*()_+-=[]{};:,.<>/?|~") for _ in range(10_000)),
    ],
)
def test_numbers_and_signs_have_no_language(make: object) -> None:
    assert callable(make)
    assert detect_language(make(random.Random(3))) == ""  # noqa: S311


def test_most_of_the_text_decides_wherever_it_stands() -> None:
    english, german = PROSE["en"] + "\n", PROSE["de"] + "\n"
    assert detect_language(english * 20 + german * 200) == "de"
    assert detect_language(german * 20 + english * 200) == "en"
    assert detect_language(english * 100 + german * 15 + english * 100) == "en"


def test_a_long_text_takes_no_longer_than_a_short_one() -> None:
    detect_language(PROSE["en"])
    text = (PROSE["en"] + " ") * 400_000
    began = time.process_time()
    assert detect_language(text) == "en"
    assert time.process_time() - began < 0.5


def test_hostile_text_takes_no_longer_either() -> None:
    detect_language(PROSE["en"])
    for text in ("a" * 10**6, "a/" * 10**6, "a" * 4_000 + "1", "\u0e31" * 10**6, "\ud800" * 10**5, "\x00" * 10**5):
        began = time.process_time()
        detect_language(text)
        assert time.process_time() - began < 0.5, ascii(text[:4])


def test_many_threads_may_ask_at_once() -> None:
    """In a process of its own, where no other test has loaded the model."""
    code = (
        "import concurrent.futures, sys\n"
        "from app.core.languages import detect_language\n"
        "assert 'py3langid' not in sys.modules\n"
        "with concurrent.futures.ThreadPoolExecutor(8) as pool:\n"
        "    print(*pool.map(detect_language, sys.argv[1:] * 8))\n"
    )
    told = subprocess.run([sys.executable, "-c", code, *PROSE.values()], capture_output=True, check=True, text=True)
    assert told.stdout.split() == [*PROSE] * 8
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert [*pool.map(detect_language, PROSE.values())] == [*PROSE]


def test_every_stemmer_has_a_language_and_others_have_none() -> None:
    languages = [first + second for first in LETTERS for second in LETTERS]
    assert {text_search_of(each) for each in languages} == SNOWBALL | {NO_STEMMING}
    assert text_search_of("en") == "english"
    assert text_search_of("no") == text_search_of("nn") == "norwegian"
    assert {text_search_of(each) for each in ("", "zh", "ja", "ko", "pl", "xx", "english")} == {NO_STEMMING}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京タワー", " 東京 京タ タワ ワー "),
        ("東", " 東 "),
        ("第5章", " 第 5 章 "),
        ("see 東京都 map", "see  東京 京都  map"),
        ("東京。大阪", " 東京 。 大阪 "),
        ("한국어 문서", " 한국 국어   문서 "),
        ("ภาษาไทย", " ภา าษ ษา าไ ไท ทย "),
        ("ที่นี่", " ที่นี่ "),
        ("ປະເທດລາວ", " ປະ ະເ ເທ ທດ ດລ ລາ າວ "),
        ("ភាសា", " ភាសា "),
        ("ｶﾞｽ", " ｶﾞ ﾞｽ "),
        ("か\u3099す", " か\u3099す "),
        ("x葛\U000e0100城y", "x 葛\U000e0100城 y"),
        ("\U00020000\U00020001", " \U00020000\U00020001 "),
    ],
)
def test_scripts_without_spaces_become_pairs_of_signs(text: str, expected: str) -> None:
    assert searchable(text) == expected


@pytest.mark.parametrize(
    "text",
    [*(text for language, text in PROSE.items() if language not in {"zh", "ja", "ko"}), "", "a  b\n\tc", "“x” — ½ ①"],
)
def test_other_scripts_are_not_changed(text: str) -> None:
    assert searchable(text) == text


@given(st.text())
def test_nothing_but_runs_of_these_scripts_is_changed(text: str) -> None:
    """What stands between them stays as it is, and every sign of them is still there."""
    made = searchable(text)
    assert set(made) <= {*text, " "}
    assert set(text) <= set(made)
    latin = "".join(character if ord(character) < 0xE00 else " " for character in text)
    assert searchable(latin) == latin


@given(st.text(alphabet="東京都大阪府", min_size=2), st.data())
def test_every_part_of_a_run_is_found_by_its_own_pairs(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 2))
    end = data.draw(st.integers(start + 2, len(text)))
    assert searchable(text[start:end]).split() == searchable(text).split()[start : end - 1]


@pytest.mark.parametrize("sign", ["東", "東a", "ที่", "\u0e31", "か\u3099", "한 "])
def test_the_time_is_linear(sign: str) -> None:
    began = time.process_time()
    made = searchable(sign * 500_000)
    assert time.process_time() - began < 5
    assert len(made) < 10 * len(sign) * 500_000
