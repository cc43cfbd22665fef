"""Significant differences between groups, and changes since the last analysis (rule 10.28).

    between_groups(project=…, counted=…, covers=…)    groups by their answer to a single choice
    since(earlier, blocks)                            answers since an earlier analysis and those before it

Each pair is a table of counts, tested by Pearson's chi-squared test (`surveys.engine.chance`), corrected for
the number of tests. A difference is reported only if it is also large enough to matter, with Cramér's V of at
least LEAST_EFFECT. Tables with small expected counts are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.ai.local.english import MAX_QUOTED_LABEL, format_share, quote
from surveys.engine import chance
from surveys.engine.script import SCALES
from surveys.models import Analysis, Project
from surveys.services.results import figures
from surveys.services.results.figures import Figures, Selection

LEAST_EFFECT = 0.1
LEAST_OF_GROUP = 10  # A group has at least this many respondents.
# At most this many questions divide respondents, because each of them counts all answers once more.
MOST_QUESTIONS = 3
MOST_GROUPS = 8
MOST_TOLD = 3
_DIVIDING = "single_punch"
_COMPARED = frozenset({"single_punch", *SCALES})

BlockJson = Mapping[str, Any]
Counts = Mapping[object, int]


@dataclass(frozen=True, slots=True)
class _Table:
    """Counts of answers by group, and the sentence that describes the cell with the largest difference."""

    rows: Sequence[Sequence[int]]
    sentence: Callable[[int, int], str]

    def test(self) -> tuple[float, float]:
        """The p-value of the chi-squared test, and Cramér's V. 1 and 0 if the table cannot be tested."""
        found = chance.chi_squared(self.rows)
        if found is None:
            return 1.0, 0.0
        return found.p, found.effect

    def largest(self) -> tuple[int, int]:
        """The place of the cell whose share in the row exceeds the share in all rows the most."""
        expected = chance.expected_counts(self.rows)
        places = [(n, m) for n, row in enumerate(self.rows) for m in range(len(row))]

        def excess(place: tuple[int, int]) -> float:
            n, m = place
            return (self.rows[n][m] - expected[n][m]) / math.sqrt(expected[n][m])

        return max(places, key=excess)


def _always(text: str) -> Callable[[int, int], str]:
    return lambda _row, _column: text


def between_groups(*, project: Project, counted: Figures, covers: str) -> list[str]:
    """Sentences about groups that answered another question differently, the clearest first."""
    dividing = [
        block["block_id"]
        for block in counted.blocks
        if block["block_type"] == _DIVIDING
        and not block["is_archived"]
        and 2 <= len(block["distribution"]) <= MOST_GROUPS
        and block["response_count"] >= 2 * LEAST_OF_GROUP
    ]
    tables: list[_Table] = []
    for block_id in dividing[:MOST_QUESTIONS]:
        divided = figures.count(
            project=project,
            selection=Selection(covers=covers),
            segment_by=block_id,
            max_wait=None,
            derives=False,
            counts_themes=True,
        )
        tables += _of_groups(divided, block_id)
    return _sentences(tables)


def _of_groups(divided: Figures, block_id: int) -> Iterator[_Table]:
    by = next(block for block in divided.blocks if block["block_id"] == block_id)
    names = [_name(entry) for entry in by["distribution"]]
    for block in divided.blocks:
        if block["open_text"] and not block["is_archived"]:
            yield from _of_themes_by_group(by, block, names)
        if block["block_type"] not in _COMPARED or block["is_archived"] or block["block_id"] == block_id:
            continue
        segments = [
            (name, [entry["count"] for entry in segment["distribution"]])
            for name, segment in zip(names, block["segments"], strict=False)
            if segment["response_count"] >= LEAST_OF_GROUP
        ]
        answers, kept = _with_answers([counts for _, counts in segments])
        if len(segments) > 1 and len(kept) > 1:
            yield _Table(
                answers, _sentence_of_groups(by, block, [name for name, _ in segments], answers, kept)
            )


def _of_themes_by_group(by: BlockJson, block: BlockJson, names: Sequence[str]) -> Iterator[_Table]:
    """For each theme of an open question, how many answers of each group mention the theme, or do not."""
    texts = [
        (name, text)
        for name, segment in zip(names, block["segments"], strict=False)
        if (text := segment["open_text"]) and text["analysed_count"] >= LEAST_OF_GROUP
    ]
    if len(texts) < 2:
        return
    for place, theme in enumerate(block["open_text"]["themes"]):
        counts = [text["themes"][place]["count"] for _, text in texts]
        rows = [
            [count, text["analysed_count"] - count] for count, (_, text) in zip(counts, texts, strict=True)
        ]
        groups = [name for name, _ in texts]
        yield _Table(rows, _sentence_of_theme(by, block, groups, rows, theme["title"]))


def _sentence_of_theme(
    by: BlockJson, block: BlockJson, groups: Sequence[str], rows: Sequence[Sequence[int]], title: str
) -> Callable[[int, int], str]:
    def sentence(n: int, _: int) -> str:
        of_group = format_share(rows[n][0], sum(rows[n]))
        of_all = format_share(sum(row[0] for row in rows), sum(map(sum, rows)))
        return (
            f"Of the answers to {quote(block['prompt'])} by those who answered {groups[n]} to "
            f"{quote(by['prompt'])}, {of_group} mention {quote(title)}, and {of_all} of all groups together"
        )

    return sentence


def _with_answers(rows: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[int]]:
    """The rows without columns that nobody chose, and the places of the columns that stay."""
    kept = [m for m, column in enumerate(zip(*rows, strict=True)) if sum(column)]
    return [[row[m] for m in kept] for row in rows], kept


def _sentence_of_groups(
    by: BlockJson, block: BlockJson, names: Sequence[str], rows: Sequence[Sequence[int]], kept: Sequence[int]
) -> Callable[[int, int], str]:
    def sentence(n: int, m: int) -> str:
        of_group = format_share(rows[n][m], sum(rows[n]))
        of_all = format_share(sum(row[m] for row in rows), sum(map(sum, rows)))
        answer = _name(block["distribution"][kept[m]])
        return (
            f"Of those who answered {names[n]} to {quote(by['prompt'])}, {of_group} answered {answer} to "
            f"{quote(block['prompt'])}, and {of_all} of all groups together"
        )

    return sentence


def _name(entry: Mapping[str, Any]) -> str:
    return quote(str(entry.get("label") or entry["value"]), length=MAX_QUOTED_LABEL)


# --- Since an earlier analysis ----------------------------------------------------------------------------


def since(earlier: Analysis, blocks: Sequence[BlockJson]) -> list[str]:
    """Sentences about answers that were given after an earlier analysis and differ from the earlier answers.

    The counts of the later answers are the differences between both counts, so other people gave the later
    answers. A question with deleted answers is left out.
    """
    before = {block["block_id"]: block for block in earlier.blocks}
    at = f"{earlier.completed_at:%-d %B %Y}"
    tables: list[_Table] = []
    for block in blocks:
        if (old := before.get(block["block_id"])) is None or block["is_archived"]:
            continue
        if block["block_type"] in _COMPARED:
            tables += _of_answers(old, block, at)
        elif block.get("open_text") and old.get("open_text"):
            tables += _of_themes(old["open_text"], block["open_text"], block["prompt"], at)
    return _sentences(tables)


def _of_answers(old: BlockJson, new: BlockJson, at: str) -> Iterator[_Table]:
    entries = {_key(entry): entry for entry in (*old["distribution"], *new["distribution"])}
    was, now = ({_key(entry): entry["count"] for entry in each["distribution"]} for each in (old, new))
    rows = [
        [now.get(key, 0) - was.get(key, 0) for key in entries],
        [was.get(key, 0) for key in entries],
    ]
    if min(rows[0], default=0) < 0 or min(map(sum, rows)) < LEAST_OF_GROUP:
        return
    answers, kept = _with_answers(rows)
    names = [_name(list(entries.values())[m]) for m in kept]

    shares = [[count / sum(row) for count in row] for row in answers]
    most = max(range(len(kept)), key=lambda m: shares[0][m] - shares[1][m])
    since, before = (format_share(row[most], sum(row)) for row in answers)
    text = (
        f"Since {at}, {since} of {sum(answers[0]):,} answers to {quote(new['prompt'])} were {names[most]}, "
        f"and {before} of the {sum(answers[1]):,} before"
    )
    if len(kept) > 1:
        yield _Table(answers, _always(text))


def _key(entry: Mapping[str, Any]) -> object:
    return entry["option_id"] or entry["value"]


def _of_themes(old: BlockJson, new: BlockJson, prompt: str, at: str) -> Iterator[_Table]:
    was = {theme["title"]: theme["count"] for theme in old["themes"]}
    read, read_before = new["analysed_count"] - old["analysed_count"], old["analysed_count"]
    if min(read, read_before) < LEAST_OF_GROUP:
        return
    for theme in new["themes"]:
        before = was.get(theme["title"])
        if before is None or not 0 <= theme["count"] - before <= read:
            continue
        mentions = theme["count"] - before
        text = (
            f"Since {at}, {format_share(mentions, read)} of {read:,} answers to {quote(prompt)} mention "
            f"{quote(theme['title'])}, and {format_share(before, read_before)} of the {read_before:,} before"
        )
        yield _Table([[mentions, read - mentions], [before, read_before - before]], _always(text))


# --- Sentences --------------------------------------------------------------------------------------------


def _sentences(tables: Iterable[_Table]) -> list[str]:
    """The sentences of the tables that differ beyond chance, by their effect."""
    tested = [(*table.test(), table) for table in tables]
    tested = [each for each in tested if each[1] > 0]
    differs = chance.beyond_chance([p for p, _, _ in tested])
    found = [
        (effect, f"{table.sentence(*table.largest())} (chi-squared test, {chance.in_words(p)}).")
        for (p, effect, table), is_found in zip(tested, differs, strict=True)
        if is_found and effect >= LEAST_EFFECT
    ]
    return [sentence for _, sentence in sorted(found, key=lambda each: -each[0])[:MOST_TOLD]]
