"""`make quality`: how well a provider drafts scripts for intents, and reads five labelled sets of answers.

make quality                       the local provider, with and without embeddings
make quality PROVIDER=anthropic    a model, where its key is set
make quality ARGS=intents          the drafts alone, each with its score and what does not hold
make quality ARGS=tuning           the same for the intents to tune by; with a third word, drafts are printed
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any
from unittest import mock

import django

from tests.quality import texts
from tests.quality.measures import Themes, accuracy, pair_f1, theme_f1


def main() -> None:
    """Print a table with a row for each set and way of reading."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from surveys.ai import get_provider  # noqa: PLC0415 - needs settings
    from surveys.ai.local import embeddings  # noqa: PLC0415

    if sys.argv[1:2] in (["intents"], ["tuning"]):
        _print_drafts(get_provider(), sys.argv[1], in_full=len(sys.argv) > 2)
        return
    _print_drafts(get_provider(), "intents", in_full=False)
    _print(
        "set", "answers", "read by", "theme F1", "pair F1", "with a theme", "sentiment right", "not judged"
    )
    for labelled in map(texts.load, texts.SETS):
        provider = get_provider()
        _print_reading(labelled, provider.name, provider)
        if provider.name == "local":
            with mock.patch.object(embeddings, "are_available", return_value=False):
                _print_reading(labelled, "without embeddings", provider)
        by_factorisation = texts.themes_by_factorisation(labelled)
        _print(labelled.name, len(labelled.texts), "TF-IDF and NMF", *_agreement(labelled, by_factorisation))


def _print_drafts(provider: Any, name: str, *, in_full: bool) -> None:
    from tests.quality import intents  # noqa: PLC0415 - needs settings

    wanted = intents.load(intents.TUNING if name == "tuning" else intents.HELD_OUT)
    scores = []
    for each in wanted:
        draft = intents.draft(provider, each)
        points, missing = intents.score(each, draft)
        scores.append(points)
        if sys.argv[1:]:
            sys.stdout.write(f"{points}  {each['intent']}\n")
            sys.stdout.writelines(f"      lacks {line}\n" for line in missing)
        if in_full and draft:
            sys.stdout.writelines(f"    {line}\n" for line in intents.outline(draft))
    counted = ", ".join(f"{scores.count(n)} of {n}" for n in range(intents.BEST, -1, -1))
    sys.stdout.write(f"{len(scores)} {name}: mean {sum(scores) / len(scores):.2f} of 3 ({counted})\n")


def _print_reading(labelled: texts.LabelledSet, name: str, provider: texts.ReadsTexts) -> None:
    _, readings = texts.read(provider, labelled)
    given = [reading.sentiment for reading in readings]
    _print(
        labelled.name,
        len(labelled.texts),
        name,
        *_agreement(labelled, [frozenset(reading.themes) for reading in readings]),
        f"{accuracy(labelled.sentiments, given):.2f}",
        f"{given.count(None)}",
    )


def _agreement(labelled: texts.LabelledSet, found: Themes) -> Sequence[str]:
    with_theme = sum(1 for themes in found if themes) / len(found)
    return (
        f"{theme_f1(labelled.themes, found):.2f}",
        f"{pair_f1(labelled.themes, found):.2f}",
        f"{with_theme:.0%}",
    )


def _print(name: str, count: object, *cells: str) -> None:
    sys.stdout.write(
        f"{name:14} {count!s:>7}  {cells[0]:19}" + "".join(f"{cell:>16}" for cell in cells[1:]) + "\n"
    )


if __name__ == "__main__":
    main()
