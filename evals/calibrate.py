"""Writes the extractive answerer's thresholds: `python -m evals.calibrate --data FOLDER [--sets NAME ...]`.

Only the tuning half of the questions is read; figures for others to see come from the held-out half.
"""

import argparse
import asyncio
import json
import logging
from dataclasses import replace
from importlib import resources
from pathlib import Path

import structlog

from app.answering.questions import read_question
from app.answering.reader import ExtractiveReader
from app.answering.thresholds import load_thresholds
from app.bootstrap import Services
from app.retrieval.context import ContextSettings, choose
from evals.environment import running_services
from evals.fitting import Example, fit_answers, fit_rank, fit_threshold
from evals.formats import LabelledQuestion, LabelledSet, read_sets
from evals.loading import LoadedSet, load, progress, with_one_name
from evals.matching import Found, holds_evidence
from evals.splits import in_half

_CONTEXT = ContextSettings()


def main() -> None:
    """Fit on the tuning half and write the file that is shipped."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(prog="python -m evals.calibrate", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a labelled set, or a folder of them")
    parser.add_argument("--sets", nargs="*", default=(), help="names of the sets to fit on")
    options = parser.parse_args()
    write_thresholds(asyncio.run(_collect(options.data, options.sets)))


def write_thresholds(examples: list[Example]) -> None:
    """Fit, and replace the shipped file."""
    rank = fit_rank(examples)
    answers = fit_answers(examples, rank)
    shipped = load_thresholds()
    values = {
        "command": "python -m evals.calibrate --data FOLDER --sets " + " ".join(sorted({e.set_name for e in examples})),
        "questions": len(examples),
        "rank": rank,
        "answers": answers,
        "answer": fit_threshold(examples, rank, answers),
        "item": shipped.item,
        "near": shipped.near,
    }
    path = Path(str(resources.files("app.answering").joinpath("thresholds.json")))
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    print(f"{len(examples)} questions, threshold {values['answer']}: written to {path.name}")


async def _collect(folder: Path, wanted: list[str]) -> list[Example]:
    examples: list[Example] = []
    async with running_services() as services:
        for each in read_sets(folder, wanted):
            if isinstance(each, LabelledSet):
                examples += await examples_of(services, each, await load(services, each))
    return examples


async def examples_of(services: Services, labelled: LabelledSet, loaded: LoadedSet) -> list[Example]:
    """Return the tuning half of a set as the answerer sees it.

    Questions whose evidence is a whole file are left out.
    """
    chosen = [each for each in labelled.questions if in_half(each.id, "tuning") and _is_fit_for_tuning(each)]
    reader = ExtractiveReader(services.embedders.local, load_thresholds())
    examples = []
    for count, question in enumerate(chosen, 1):
        example = await _example(services, reader, loaded, with_one_name(loaded, question))
        examples.append(replace(example, set_name=labelled.name))
        progress(f"{labelled.name}: read {count}/{len(chosen)} questions")
    return examples


def _is_fit_for_tuning(question: LabelledQuestion) -> bool:
    return not question.answerable or any(evidence.text for evidence in question.evidence)


async def _example(
    services: Services, reader: ExtractiveReader, loaded: LoadedSet, question: LabelledQuestion
) -> Example:
    found = await services.retrieval.search(loaded.scope, question.text, _CONTEXT.candidates)
    context = choose(question.text, found.passages, _CONTEXT)
    judged = await reader.judge(read_question(question.text), context.passages)
    sentences = [each for each in judged if not each.candidate.is_item]
    right = tuple(
        holds_evidence(Found(loaded.files[each.candidate.passage.content_sha256], each.candidate.text), question)
        for each in sentences
    )
    return Example("", question.answerable, tuple(each.features for each in sentences), right)


if __name__ == "__main__":
    main()
