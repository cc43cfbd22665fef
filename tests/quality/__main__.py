"""`make quality`: how well a provider reads five labelled sets of answers.

make quality                       the local provider, with and without embeddings
make quality PROVIDER=anthropic    a model, where its key is set
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
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
