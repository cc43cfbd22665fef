"""How well a reading of answers agrees with labels that a person gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Set

import numpy as np
from scipy.optimize import linear_sum_assignment

Themes = Sequence[Set[Hashable]]  # of each answer

MIN_ANSWERS = 3  # fewer people make no theme: such labels are left out


def theme_f1(labels: Themes, found: Themes) -> float:
    """F1 of assignments under the best pairing of labels with found themes, from 0 to 1.

    Each label is paired with one found theme at most, and each found theme with one label at most, so that as
    many assignments as possible agree. Precision is the share of all found assignments that agree, recall the
    share of all labelled ones. So a theme for everything is bad, and so is a theme for each answer. Titles do
    not matter.
    """
    wanted, given = _shared(labels), [frozenset(themes) for themes in found]
    rows = {label: row for row, label in enumerate(sorted(frozenset().union(*wanted), key=str))}
    columns = {theme: column for column, theme in enumerate(sorted(frozenset().union(*given), key=str))}
    agreeing = np.zeros((len(rows), len(columns)))
    for of_answer, themes in zip(wanted, given, strict=True):
        for label in of_answer:
            for theme in themes:
                agreeing[rows[label], columns[theme]] += 1
    right = agreeing[linear_sum_assignment(agreeing, maximize=True)].sum()
    return _f1(right, sum(map(len, given)), sum(map(len, wanted)))


def pair_f1(labels: Themes, found: Themes) -> float:
    """F1 of pairs of answers: those that share a found theme, against those that share a label."""
    wanted, given = _shared(labels), [frozenset(themes) for themes in found]
    pairs = [(n, m) for n in range(len(wanted)) for m in range(n)]
    labelled = {(n, m) for n, m in pairs if wanted[n] & wanted[m]}
    together = {(n, m) for n, m in pairs if given[n] & given[m]}
    return _f1(len(labelled & together), len(together), len(labelled))


def _shared(labels: Themes) -> list[frozenset[Hashable]]:
    counts = Counter(label for of_answer in labels for label in of_answer)
    return [frozenset(label for label in of_answer if counts[label] >= MIN_ANSWERS) for of_answer in labels]


def _f1(right: float, found: int, wanted: int) -> float:
    return float(2 * right / (found + wanted)) if found + wanted else 1.0


def accuracy(wanted: Sequence[str | None], given: Sequence[str | None]) -> float:
    """The share of judged answers whose sentiment is right, from 0 to 1; 1 if none was judged.

    An answer without an opinion that is judged all the same counts as wrong.
    """
    judged = [(label, sentiment) for label, sentiment in zip(wanted, given, strict=True) if sentiment]
    return sum(label == sentiment for label, sentiment in judged) / len(judged) if judged else 1.0
