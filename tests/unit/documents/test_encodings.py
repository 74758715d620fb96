# ruff: noqa: E501, RUF001 - samples are easier to read in one line
import codecs
import random
import struct

import pytest
from hypothesis import given, strategies as st

from app.documents.encodings import decode, read_head

# A sentence or two of a contract in each language, and the encodings that people used for it.
PROSE = {
    "ru": (
        "Договор вступает в силу с момента подписания и действует до полного исполнения обязательств. Стороны освобождаются от ответственности за частичное или полное неисполнение.",
        ("cp1251", "koi8-r", "cp866", "iso8859-5", "mac_cyrillic"),
    ),
    "uk": (
        "Цей договір набирає чинності з дня його підписання сторонами і діє до повного виконання зобов'язань. Її умови є обов'язковими.",
        ("cp1251", "koi8-u"),
    ),
    "bg": (
        "Този договор влиза в сила от датата на подписването му и действа до пълното изпълнение на задълженията.",
        ("cp1251",),
    ),
    "ja": (
        "本契約は、署名の日から効力を生じ、すべての義務が履行されるまで有効とする。タイマーが満了した場合、端末は再送を行う。",
        ("cp932", "euc_jp", "iso2022_jp"),
    ),
    "zhs": (
        "本合同自双方签字之日起生效，至全部义务履行完毕时终止。任何一方不得擅自变更或者解除合同。",
        ("gb18030", "gbk"),
    ),
    "zht": ("本契約自雙方簽署之日起生效，至全部義務履行完畢時終止。任何一方不得擅自變更或解除契約。", ("big5",)),
    "ko": (
        "이 계약은 서명한 날부터 효력이 발생하며 모든 의무가 이행될 때까지 유효하다. 타이머가 만료되면 단말은 다시 전송한다.",
        ("euc_kr", "cp949"),
    ),
    "de": (
        "Der Vertrag tritt mit der Unterzeichnung in Kraft und gilt bis zur vollständigen Erfüllung. Die Gebühren für Änderungen übernimmt der Käufer – „ohne Ausnahme“.",
        ("cp1252",),
    ),
    "de2": (
        "Der Vertrag tritt mit der Unterzeichnung in Kraft und gilt bis zur vollständigen Erfüllung. Die Gebühren für Änderungen übernimmt der Käufer, die Größe ist gleich.",
        ("latin-1", "cp850", "mac_roman"),
    ),
    "fr": (
        "Le contrat entre en vigueur dès sa signature et reste valable jusqu’à l’exécution complète des obligations. Les élèves étaient prêts à partir.",
        ("cp1252",),
    ),
    "es": (
        "El contrato entrará en vigor en la fecha de su firma. ¿Cuánto tiempo dura la garantía? Los niños comían piñas en la montaña.",
        ("cp1252", "latin-1"),
    ),
    "pt": (
        "O contrato entra em vigor na data da assinatura e não será alterado sem autorização. As obrigações são cumpridas até à conclusão.",
        ("cp1252",),
    ),
    "pl": (
        "Umowa wchodzi w życie z dniem podpisania i obowiązuje do czasu całkowitego wykonania zobowiązań. Każda ze stron może ją wypowiedzieć.",
        ("cp1250", "iso8859-2"),
    ),
    "cs": (
        "Smlouva nabývá účinnosti dnem podpisu a platí až do úplného splnění závazků. Žádná ze stran ji nesmí měnit bez souhlasu.",
        ("cp1250", "iso8859-2"),
    ),
    "hu": (
        "A szerződés az aláírás napján lép hatályba, és a kötelezettségek teljesítéséig érvényes. Az időzítő lejárta után újra kell küldeni a csomagot, bőven.",
        ("cp1250", "iso8859-2"),
    ),
    "el": (
        "Η σύμβαση τίθεται σε ισχύ από την ημερομηνία υπογραφής της και ισχύει μέχρι την πλήρη εκπλήρωση των υποχρεώσεων.",
        ("cp1253", "iso8859-7"),
    ),
    "tr": (
        "Sözleşme imza tarihinde yürürlüğe girer ve yükümlülükler tamamen yerine getirilinceye kadar geçerlidir. Değişiklik yapılamaz, şartlar aynıdır.",
        ("cp1254", "iso8859-9"),
    ),
    "he": (
        "ההסכם ייכנס לתוקף ביום חתימתו ויהיה בתוקף עד למילוי מלא של ההתחייבויות. אף צד אינו רשאי לשנות אותו.",
        ("cp1255",),
    ),
    "ar": (
        "يدخل هذا العقد حيز التنفيذ من تاريخ توقيعه ويستمر حتى الوفاء الكامل بالالتزامات. لا يجوز لأي طرف تعديله.",
        ("cp1256", "iso8859-6"),
    ),
    "th": ("สัญญานี้มีผลบังคับใช้ตั้งแต่วันที่ลงนามจนกว่าจะปฏิบัติตามข้อผูกพันครบถ้วน", ("cp874", "tis_620")),
    "lt": (
        "Sutartis įsigalioja nuo pasirašymo dienos ir galioja iki visiško įsipareigojimų įvykdymo. Šalys gali ją keisti raštu.",
        ("cp1257",),
    ),
}
SAMPLES = [(text, encoding) for text, encodings in PROSE.values() for encoding in encodings]


@pytest.mark.parametrize(("text", "encoding"), SAMPLES)
@pytest.mark.parametrize("times", [1, 30])
def test_prose_is_read_in_the_encoding_it_was_written_in(text: str, encoding: str, times: int) -> None:
    assert decode((text + "\n").encode(encoding) * times).text == (text + "\n") * times


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("language", PROSE)
def test_unicode_is_read_with_and_without_a_mark(language: str, encoding: str, marked: bool) -> None:
    text = PROSE[language][0] + "\n"
    mark = "\ufeff".encode(encoding) if marked else b""
    assert decode(mark + text.encode(encoding)).text == text


def test_letters_after_much_ascii_are_found() -> None:
    text = "Plain line.\n" * 20_000 + PROSE["ru"][0] + "\n"
    assert decode(text.encode("cp1251")).text == text


def test_a_few_damaged_bytes_do_not_change_the_encoding() -> None:
    text = PROSE["ru"][0] * 10
    assert decode(text.encode() + b"\xff").text.startswith(text)


def test_a_stray_nul_is_no_sign_of_wide_characters() -> None:
    assert decode(b"a\x00b and more").text == "a\x00b and more"


@pytest.mark.parametrize("data", [bytes(range(256)), b"\x00\x01\x02\x03", b"\x80\x01\x02abc", b"\x01" * 50])
def test_binary_data_is_no_text(data: bytes) -> None:
    assert read_head(data) is None


def test_a_head_may_end_within_a_character() -> None:
    assert read_head("caf\u00e9 \u4f60".encode()[:-1]) == "caf\u00e9 "
    assert read_head(codecs.BOM_UTF8 + b"text") == "text"


@given(st.binary(max_size=500))
def test_any_bytes_are_decoded(data: bytes) -> None:
    decode(data)
    read_head(data)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32"])
@pytest.mark.parametrize("language", PROSE)
def test_prose_of_every_script_passes_as_text_in_wide_encodings(language: str, encoding: str) -> None:
    text = f"1. {PROSE[language][0]} \U0001f600\n"
    assert read_head(text.encode(encoding)) == text
    assert decode((text * 40).encode(encoding)).readable


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f600\U0001f389\n" * 50,
        "\u5f20\u4e09\n\u674e\u56db\n",
        "\u65e5\u672c\u8a9eWeb\u30b5\u30a4\u30c8 API\u3002",
    ],
)
def test_emoji_names_and_mixed_words_pass_as_text(text: str) -> None:
    assert read_head(text.encode("utf-16-le")) == text


def _blobs() -> list[bytes]:
    chance = random.Random(20)  # noqa: S311 (the same blobs each time)
    blobs = [bytes([0, 1, 2, 255, 254]) * 200, bytes([255, 254, 0, 1, 2]) * 200]
    for number in range(20):
        size = chance.choice([256, 1_000, 5_000])
        part = chance.randbytes(chance.randint(12, 40))
        blobs += [
            chance.randbytes(size),
            part * (size // len(part)),
            bytes(chance.choice(part[:5]) for _ in range(size)) + b"\x00\x80",
            bytes(chance.randrange(128, 256) for _ in range(size)),
            bytes(chance.randrange(32, 256) for _ in range(size)),
            (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF8)[number % 4]
            + chance.randbytes(size),
            "".join(chr(chance.randrange(0x4E00, 0x9FA6)) for _ in range(size)).encode("utf-16-le") + b"\n\x00",
            struct.pack(f"<{size}i", *(chance.randrange(1_000) for _ in range(size))),
            struct.pack(f"<{size}f", *(chance.random() for _ in range(size))),
            (b"\x7fELF", b"MZ\x90\x00", b"\xca\xfe\xba\xbe", b"\x00asm")[number % 4] + chance.randbytes(size),
        ]
    return blobs


@pytest.mark.parametrize("blob", _blobs(), ids=lambda blob: f"{len(blob)}-{blob[:4].hex()}")
def test_random_bytes_are_never_text(blob: bytes) -> None:
    assert read_head(blob) is None
