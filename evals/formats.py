"""Reads the common format of labelled sets: a folder with `corpus/` and `questions.jsonl`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an answer may be based on; an empty text means the whole file."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """One question with what is known of its answer. Earlier turns of a conversation are not read."""

    id: str
    text: str
    answerable: bool
    label: str
    answers: tuple[str, ...]
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A folder of documents and the questions about them."""

    name: str
    corpus: tuple[Path, ...]
    questions: tuple[LabelledQuestion, ...]


def read_sets(folder: Path, wanted: Sequence[str] = ()) -> Iterator[LabelledSet | str]:
    """Yield each labelled set of a folder, or the name of a folder that is none.

    Args:
        folder: One set, or a folder of sets.
        wanted: Names of sets to read; empty means all.
    """
    folders = [folder] if (folder / "questions.jsonl").exists() else sorted(folder.iterdir())
    for each in folders:
        if not each.is_dir() or (wanted and each.name not in wanted):
            continue
        yield _read_set(each) if (each / "questions.jsonl").exists() else each.name


def _read_set(folder: Path) -> LabelledSet:
    corpus = tuple(sorted(path for path in (folder / "corpus").rglob("*") if path.is_file()))
    with (folder / "questions.jsonl").open(encoding="utf-8") as lines:
        questions = tuple(_question(json.loads(line)) for line in lines if line.strip())
    return LabelledSet(folder.name, corpus, questions)


def _question(raw: dict[str, Any]) -> LabelledQuestion:
    answerable = raw.get("answerable", True)
    return LabelledQuestion(
        id=str(raw["id"]),
        text=raw["question"],
        answerable=answerable,
        label=raw.get("label") or ("ANSWERABLE" if answerable else "UNANSWERABLE"),
        answers=tuple(raw.get("answers", ())),
        evidence=tuple(Evidence(each["file"], each["text"]) for each in raw.get("evidence", ())),
    )
