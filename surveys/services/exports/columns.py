"""The columns of questions in a table of responses, with readable headers.

Columns are keyed by the ids of blocks and options, because two of them may have the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from communities.ground import statements
from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import NUMBERS, SCALES, Block, Option
from surveys.models import Project
from surveys.services.exports.cells import (
    FIXED,
    SHEET,
    CellStyle,
    Kind,
    TableColumn,
    shortened,
)
from surveys.services.scripts.cache import Catalogue
from surveys.services.scripts.storage import StoredScript

MULTI_COLUMN_TYPES = frozenset({"multi_punch", "ranking"})  # one column for each option
# A header has up to four parts of variable length: prompt, label, block's name and option's value.
MAX_PART = 300  # bytes of each
MAX_PARTS = 2_000_000  # bytes of the parts of all headers together, so wide tables have shorter parts
MIN_PART = 12  # bytes: three characters of any script and the ellipsis
# Archived blocks with answers, and current blocks with answers from a time when they had another type.
_ANSWERED_BLOCKS = """
    SELECT b.id, b.is_archived FROM surveys_block b
    WHERE b.project_id = %s AND (
        b.is_archived AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id)
        OR NOT b.is_archived AND b.type = ANY(%s)
            AND EXISTS (SELECT FROM surveys_answer a WHERE a.block_id = b.id AND a.option_id IS NULL)
    )
"""
_is_whole = re.compile(r"-?[0-9]{1,9}").fullmatch
_CHOSEN_LABELS = {0: "Not chosen", 1: "Chosen"}


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """The column of a question, or of one of its options. Columns of one block share its `prompts`."""

    block: Block
    option: Option | None = None
    prompts: dict[int, str] = field(default_factory=dict, compare=False, repr=False)  # by their size

    def text(self, size: int) -> str:
        """The prompt, and the label of the option, each of at most `size` bytes."""
        if size not in self.prompts:
            asked = markup.plain(Authored(self.block.prompt))
            title = f"{self.block.group}: " if self.block.group else ""
            self.prompts[size] = shortened(f"{title}{asked}", size) or shortened(self.name, size)
        prompt = self.prompts[size]
        return prompt if self.option is None else f"{prompt}: {shortened(self.option.display_text, size)}"

    @property
    def name(self) -> str:
        return self.block.name or f"block {self.block.id}"

    def full_name(self, size: int) -> str:
        """The column's name for programs, which stays when texts are reworded.

        The option's value may be cut.
        """
        return self.name if self.option is None else f"{self.name}.{shortened(self.option.value, size)}"

    def distinctions(self, size: int) -> tuple[str, str, str]:
        """Texts that distinguish the column from others with the same header, in this order; the last is
        unique.
        """
        name = shortened(self.name, size)
        if self.option is None:
            return name, "", f"block {self.block.id}"
        return name, shortened(self.option.value, size), f"option {self.option.id}"

    @property
    def has_codes(self) -> bool:
        """Whether the cells are labels of options. The cells of other closed questions are numbers."""
        return self.option is None and self.block.type == "single_punch"

    @property
    def kind(self) -> Kind:
        if self.option is not None or self.block.type in SCALES:
            return Kind.INTEGER
        if self.block.format == "date":
            return Kind.DATE
        return Kind.NUMBER if self.block.type in NUMBERS else Kind.TEXT

    def described(self, header: str, size: int) -> TableColumn:
        """The column in a table, below this header. Parts of its label have at most `size` bytes."""
        name, choices = self.name, {}
        if self.option is not None:
            name = f"{name}_{self.option.code}"
            choices = _CHOSEN_LABELS if self.block.type == "multi_punch" else {}
        elif self.block.type in SCALES:
            points = (option for option in self.block.options if option.label and _is_whole(option.value))
            choices = {int(option.value): option.display_text for option in points}
        measured = self.block.type in SCALES
        return TableColumn(header, self.kind, name, self.text(size), choices, measured=measured)


def option_texts(catalogue: Catalogue, *, own_values: bool) -> Mapping[int, str]:
    """The text of each option: its label, or its own value (rule 6.63)."""
    if not own_values:
        return catalogue.labels
    return {option_id: option.value for option_id, option in catalogue.options.items()}


def columns_of(project: Project, stored: StoredScript, *, own_values: bool) -> Iterator[ExportColumn]:
    """A column for each question, or for each of its options; removed questions with answers come last."""
    rows = statements.fetch_rows(_ANSWERED_BLOCKS, [project.pk, list(MULTI_COLUMN_TYPES)])
    archived = {block_id for block_id, is_archived in rows if is_archived}
    retyped = {block_id for block_id, is_archived in rows if not is_archived}
    blocks = (*stored.script.blocks, *(block for block in stored.archived if block.id in archived))
    for block in blocks:
        if not block.asks:
            continue
        complete, prompts = with_removed_options(block, stored, own_values=own_values), dict[int, str]()
        if block.type not in MULTI_COLUMN_TYPES or block.id in retyped:
            yield ExportColumn(complete, None, prompts)
        if block.type in MULTI_COLUMN_TYPES:
            for option in complete.options:
                yield ExportColumn(complete, option, prompts)


def with_removed_options(block: Block, stored: StoredScript, *, own_values: bool = False) -> Block:
    """The block with its removed options that were chosen, at the end.

    With `own_values` options have no labels, so that their values show.
    """
    complete = stored.with_removed_options(block)
    if not own_values:
        return complete
    return replace(complete, options=tuple(replace(option, label=None) for option in complete.options))


def part_size(columns: int) -> int:
    """The most bytes of each part of a header, in a table with this number of columns (rule 6.66)."""
    return max(MIN_PART, min(MAX_PART, MAX_PARTS // (4 * max(columns, 1))))


def names(
    columns: Sequence[ExportColumn], *, others: Sequence[str] = FIXED, codes: bool, style: CellStyle
) -> list[str]:
    """The names of the columns as headings.

    A name that is taken gets a suffix; removed questions are named last. So a question keeps its name when
    another question of that name was removed.
    """
    taken, texts = {*others}, list[str]()
    size = part_size(len(columns))
    for column in columns:
        text = style.text(column.full_name(size))
        has_codes = codes and column.has_codes
        while text in taken or (has_codes and f"{text}.code" in taken):
            text = f"{text} ({column.distinctions(size)[-1]})"
        taken |= {text, f"{text}.code"} if has_codes else {text}
        texts.append(text)
    return texts


def headers(
    columns: Sequence[ExportColumn], *, others: Sequence[str] = FIXED, style: CellStyle = SHEET
) -> list[str]:
    """The columns' headings (rule 6.61). Headings that equal another heading or one of `others` are extended.

    Long parts are cut, so the headings of the largest legal script have less than 3 MB.
    """
    size = part_size(len(columns))
    texts = [style.text(column.text(size)) for column in columns]
    distinctions = [column.distinctions(size) for column in columns]
    for level in range(2):
        texts = _disambiguated(texts, [each[level] for each in distinctions], others)
    while len({*texts, *others}) < len(texts) + len(others):
        texts = _disambiguated(texts, [each[-1] for each in distinctions], others)
    return texts


def _disambiguated(texts: Sequence[str], distinctions: Sequence[str], others: Sequence[str]) -> list[str]:
    times = Counter((*texts, *others))
    return [
        f"{text} ({distinction})" if times[text] > 1 and distinction else text
        for text, distinction in zip(texts, distinctions, strict=True)
    ]
