"""Answers that the address of a page fills in: `?<block name>=value`, and `&skip=1` (rules 6.37 and 6.38).

    of_address(project=…, query=…, language=…)   the answers that the page takes from its address
    explain(project=…, query=…, language=…)      the use of each parameter, for staff who try an address

Names of blocks are compared in title case (rule 3.7), so `?favourite_colour=` fills in the block
“Favourite colour”. A position (`q1`) counts as a name only if a block has that name. Declared fields
(`settings.hidden_fields`) and the page's own parameters (`names.PAGE_PARAMETERS`) take precedence over blocks
of the same name.

Anonymous projects ignore `skip`, and take no texts and numbers: an address that answers questions unseen, or
with signs that nobody sees, could store the identity of its reader. See also `engine/walk/prefill.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from surveys import written_numbers
from surveys.engine.language import names
from surveys.engine.script import NUMBERS, Block, Script, title_case
from surveys.engine.walk import formats, prefill, presentation
from surveys.engine.walk.answers import InvalidAnswer
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.models import Project
from surveys.services.ground import metadata
from surveys.services.scripts import cache as script_cache

SKIP = "skip"
MAX_BYTES = 2_000  # of all values together, also of invalid values; a cookie has to store them
_COST = 12  # bytes that each value takes beside its text
Query = Mapping[str, Sequence[str]]
TYPED = frozenset({"open_text", "open_numeric"})
NOT_TYPED = "on anonymous projects an address fills in no texts and numbers"


class Use(Enum):
    """How one parameter of an address is used."""

    FIELD = "field"
    FILLED = "filled"
    SKIPS = "skips"
    PAGE = "page"
    UNKNOWN = "unknown"
    INVALID = "invalid"
    TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an address. `reason` says why its value is ignored; empty if the value is used."""

    name: str
    text: str
    use: Use
    block: Block | None = None
    reason: str = ""


def questions(project: Project, script: Script) -> Mapping[str, Block]:
    """The blocks that an address can fill in, by name in title case."""
    declared = {title_case(key) for key in project.hidden_fields}
    return {
        block.title: block
        for block in script.blocks
        if block.asks and block.title not in declared and not names.is_page_parameter(block.title)
    }


def of_address(*, project: Project, query: Query, language: str) -> Prefill:
    """The answers in an address. Ignores values that no question accepts, and values beyond MAX_BYTES."""
    named = [name for name in query if name not in names.PAGE_PARAMETERS]
    if not named:
        return NOTHING
    script = script_cache.script_of(project)
    found = _read(script, questions(project, script), query, language)
    texts = {each.block.id or 0: each.texts for each in found if each.use == Use.FILLED}
    return allowed(project, Prefill(texts, skips=_skips(project, query)))


def allowed(project: Project, ahead: Prefill) -> Prefill:
    """The part of these answers that an address may fill in. The project may have become anonymous since."""
    if not project.is_anonymous or ahead == NOTHING:
        return ahead if ahead.texts else NOTHING
    seen = {block.id for block in script_cache.script_of(project).blocks if may_fill_in(project, block)}
    texts = {block_id: texts for block_id, texts in ahead.texts.items() if block_id in seen}
    return Prefill(texts) if texts else NOTHING


def may_fill_in(project: Project, block: Block) -> bool:
    """Whether an address may fill in this question. A respondent sees a chosen option, but a text may contain
    invisible characters, or a number that is longer than its field.
    """
    return not (project.is_anonymous and block.type in TYPED)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the texts of one parameter are used for a question."""

    name: str
    block: Block
    texts: Sequence[str]
    use: Use
    reason: str = ""


def _read(script: Script, blocks: Mapping[str, Block], query: Query, language: str) -> Iterator[_Reading]:
    """The parameters that name a question. Invalid values count towards MAX_BYTES too.

    Otherwise an address with many invalid values would take long to read.
    """
    left = MAX_BYTES
    for name in query:
        block = None if name in names.PAGE_PARAMETERS else blocks.get(title_case(name))
        if block is None:
            continue
        texts, cost = _typed(block, query[name], language)
        if cost > left:
            yield _Reading(name, block, texts, Use.TOO_LONG)
            continue
        left -= cost
        reason = _fault(script, block, texts)
        yield _Reading(name, block, texts, Use.INVALID if reason else Use.FILLED, reason)


def explain(*, project: Project, query: Query, language: str) -> list[Parameter]:
    """How each parameter of an address is used, in the order of the address."""
    script = script_cache.script_of(project)
    blocks = questions(project, script)
    read = {each.name: each for each in _read(script, blocks, query, language)}
    return [_explained(project, read.get(name), name, query[name]) for name in query]


def _explained(project: Project, reading: _Reading | None, name: str, texts: Sequence[str]) -> Parameter:
    text = ", ".join(texts)
    if name in project.hidden_fields:
        is_taken = name in metadata.from_address(project, {name: texts[-1]})
        return Parameter(name, text, Use.FIELD if is_taken else Use.INVALID, reason=_field_reason(is_taken))
    if name == SKIP:
        return Parameter(name, text, Use.SKIPS if _skips(project, {name: texts}) else Use.PAGE)
    if name in names.PAGE_PARAMETERS:
        return Parameter(name, text, Use.PAGE)
    if reading is None:
        return Parameter(name, text, Use.UNKNOWN)
    if not may_fill_in(project, reading.block):
        return Parameter(name, text, Use.INVALID, reading.block, f"{NOT_TYPED}.")
    return Parameter(name, text, reading.use, reading.block, reading.reason)


def _field_reason(is_taken: bool) -> str:
    return "" if is_taken else "This field does not take such a value."


def _fault(script: Script, block: Block, texts: Sequence[str]) -> str:
    """The reason why texts do not answer a block; empty if they do."""
    try:
        reply = prefill.parse(presentation.effective_block(script, block), texts)
    except InvalidAnswer as invalid:
        return str(invalid)
    return "" if reply else "There is no value."


def _typed(block: Block, sent: Sequence[str], language: str) -> tuple[list[str], int]:
    """The texts for a block, with numbers in the engine's notation, and the bytes that they take."""
    texts = list(sent)
    if block.type in NUMBERS:  # read like numbers typed on the page
        texts = [written_numbers.plain(text, language=language) for text in texts[-1:]]
    return texts, sum(len(text.encode(errors="replace")) + _COST for text in texts)


def may_skip(project: Project) -> bool:
    """Whether the page may skip questions that an address answers."""
    return not project.is_anonymous and not project.is_poll


def _skips(project: Project, query: Query) -> bool:
    return list(query.get(SKIP, ()))[-1:] == ["1"] and may_skip(project)


def examples(project: Project, script: Script) -> Iterator[tuple[Block, str, Sequence[str]]]:
    """Each question that an address can fill in, with a parameter's name and values, in order."""
    for block in filter(partial(may_fill_in, project), questions(project, script).values()):
        name = re.sub(r"[ -]", "_", (block.name or "").strip())
        yield block, name, _example(block)


def _example(block: Block) -> Sequence[str]:
    values = [option.value for option in block.options]
    match block.type:
        case "single_punch":
            return values[:1]
        case "multi_punch":
            return values[: block.min or 1]
        case "ranking":
            return values[: block.rank_top_n]
        case "open_text":
            return [formats.example_of(block.format) or "Hello"]
        case "open_numeric":
            return [str(block.min if block.min is not None else block.max if block.max is not None else 1)]
    return [str(block.points[-1])]
