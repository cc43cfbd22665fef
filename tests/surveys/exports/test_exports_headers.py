"""The headers of a table stay small and differ, however long the texts of a script are (rule 6.66)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.intake.fields import MAX_LABEL, MAX_OPTIONS, MAX_PROMPT, MAX_VALUE
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.script import Block, Option
from surveys.models import Block as BlockRow
from surveys.models import Project
from surveys.services.exports import columns as export_columns
from surveys.services.exports import service as exports
from surveys.services.exports import spss
from surveys.services.exports.cells import SHEET, shortened
from surveys.services.exports.columns import MAX_PART, ExportColumn
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.exports import answered, content, lines, questions
from tests.support.surveys.scenario import TEXT

MEGABYTE = 1_000_000
MAX_NAME = 64


def longest(sign: str, n: int, size: int) -> str:
    """A text that differs from the others in its last signs only."""
    return f"{sign * (size - 5)}{n:05}"


def largest(sign: str, *, alike: bool, blocks: int = MAX_BLOCKS) -> list[Block]:
    """The largest script. If `alike`, its texts differ only at the very end, where they must differ."""
    return [
        Block(
            id=n + 1,
            name=longest("n", n, MAX_NAME),
            type="multi_punch",
            position=n,
            prompt=sign * MAX_PROMPT if alike else f"{n} {sign * (MAX_PROMPT - 5)}",
            options=tuple(
                Option(
                    longest(sign, m, MAX_VALUE),
                    id=n * MAX_OPTIONS + m + 1,
                    label=sign * MAX_LABEL if alike else f"{m} {sign * (MAX_LABEL - 5)}",
                    display_order=m,
                )
                for m in range(MAX_OPTIONS)
            ),
        )
        for n in range(blocks)
    ]


@pytest.mark.long
@pytest.mark.parametrize(("sign", "alike"), [("w", False), ("日", True)])
def test_headers_of_the_largest_script_are_small_and_differ(sign: str, alike: bool) -> None:
    columns = [
        ExportColumn(block, option) for block in largest(sign, alike=alike) for option in block.options
    ]

    by_prompt = export_columns.headers(columns)
    by_name = export_columns.names(columns, codes=False, style=SHEET)

    for headers in (by_prompt, by_name):
        assert len(set(headers)) == len(columns) == 20_000
        assert sum(len(header.encode()) for header in headers) < 3 * MEGABYTE


@pytest.mark.long
@pytest.mark.django_db
def test_each_file_of_a_large_script_without_a_response_is_small() -> None:
    made = _project_with(
        largest("w", alike=True, blocks=40)
    )  # 4,000 columns use up what all headers may have

    for format in exports.MEDIA_TYPES:
        # Parquet and SPSS describe each column beside its header.
        assert len(content(made, format)) < 8 * MEGABYTE, format
    kinds: list[dict[str, Any]] = [{}, {"by_name": True}, {"codes": True}]
    for options in kinds:
        assert len(content(made, **options)) < 3 * MEGABYTE
    assert len(content(made, is_long=True)) < 1_000
    (headers,) = lines(content(made))
    assert len(set(headers)) == len(headers) == 4_008


@pytest.mark.django_db
def test_options_that_begin_alike_are_told_apart_by_their_values() -> None:
    options = [{"value": value, "label": f"{'y' * 400}{value}"} for value in "ab"]
    made = scenario.project({"type": "multi_punch", "prompt": "x" * 400, "name": "one", "options": options})
    answered(made, [1])

    headers, cells = questions(made)

    cut = f"{'x' * 297}…: {'y' * 297}…"
    assert headers == [f"{cut} (one) (a)", f"{cut} (one) (b)"]
    assert cells == ["0", "1"]


@pytest.mark.django_db
def test_the_long_form_repeats_no_long_prompt() -> None:
    made = scenario.project({**TEXT, "prompt": "x" * 4_000})
    answered(made, "y" * 4_000)

    headers, cells = questions(made, is_long=True)

    told = dict(zip(headers, cells, strict=True))
    assert (told["prompt"], told["value"]) == (f"{'x' * 297}…", "y" * 4_000)


@try_each(
    ("text", "cut"),
    [
        ("a" * 300, "a" * 300),
        ("a" * 301, f"{'a' * 297}…"),
        ("日" * 100, "日" * 100),
        ("日" * 101, f"{'日' * 99}…"),
        ("\U0001f600" * 76, "\U0001f600" * 74 + "…"),
        (f"{'a' * 296}  b{'c' * 9}", f"{'a' * 296}…"),
        (" a\n b ", "a b"),
    ],
)
def test_a_part_is_cut_between_characters_and_ends_with_an_ellipsis(text: str, cut: str) -> None:
    assert shortened(text, MAX_PART) == cut
    assert len(cut.encode()) <= MAX_PART


def test_names_of_spss_differ_and_are_numbered_once_each() -> None:
    wanted = [f"{'n' * 64}_{m}" for m in range(20_000)]

    names = spss.variable_names(wanted)

    assert len({name.upper() for name in names}) == 20_000
    assert names[:2] + names[-1:] == ["n" * 64, f"{'n' * 56}_2", f"{'n' * 56}_20000"]


def _project_with(blocks: list[Block]) -> Project:
    """A project with these blocks; the ids are new."""
    made = scenario.project(
        *(
            {
                "type": block.type,
                "name": block.name,
                "prompt": block.prompt,
                "options": [{"value": each.value, "label": each.label} for each in block.options],
            }
            for block in blocks
        )
    )
    assert BlockRow.objects.filter(project=made, section="main").count() == len(blocks)
    return made
