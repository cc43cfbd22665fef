"""A questionnaire of another system, as every reader writes it: its items, and what could not be read.

Readers name items and options by the keys of their source. `blocks` turns them into blocks of a script.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from communities.ground.errors import refuse
from surveys.services.ground import metadata

MAX_ITEMS = 250  # that a reader collects; a script has at most 200 blocks
MAX_CHOICES = 1_001  # of an item that a reader collects; a menu has at most 1,000
MAX_UNMET = 200
MAX_SOURCE_TEXT = 20_000  # characters of one text of a source
MAX_QUOTED = 200  # characters of a source that a sentence of `unmet` repeats
MAX_DEPTH = 20  # of panels, groups and branches inside each other
MAX_COMPARISONS = 200  # of one condition
MAX_JUMPS = 50  # of one item
MAX_WORK = 5_000_000  # steps for logic and lists that grow faster than their source; each takes about 0.1 µs
HIDDEN = "\ue002"  # before the name of a field of the address, in place of the key of an item
PIPE, END_OF_PIPE = "\ue000", "\ue001"  # around the key of an item whose answer a text repeats

_TAG = re.compile(r"(<[^<>]*>)")
_TAG_NAME = re.compile(r"<\s{0,20}(/?)\s{0,20}([a-zA-Z0-9]+)")
_HREF = re.compile(r"href\s{0,20}=\s{0,20}[\"'](https?://[^\"'\s()]{1,500})[\"']", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\f\v\xa0]+")
_LINES = re.compile(r"\n{3,}")
_BREAKS = frozenset({"br", "p", "div", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol"})
_MARKS = {"b": "**", "strong": "**"}
_HIDDEN = frozenset({"script", "style"})


# --- Logic -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare:
    """An item's answer compared with a value: `eq`, `ne`, `lt`, `lte`, `gt`, `gte`, or `in` with a tuple."""

    key: str
    op: str
    value: Any
    size: int = 1


@dataclass(frozen=True, slots=True)
class Answered:
    """Whether an item has an answer."""

    key: str
    size: int = 1


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    part: Logic
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.part.size)


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions that must all be true, or any. Groups may share parts, so each counts its size."""

    op: str  # `all` or `any`
    parts: tuple[Logic, ...]
    size: int = field(init=False)

    def __post_init__(self) -> None:
        size = sum(part.size for part in self.parts)
        if size > MAX_COMPARISONS:
            raise UnsayableError("it has too many comparisons")
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A part of a conjunction that has no equivalent here, and why."""

    why: str
    size: int = 1


Logic = Compare | Answered | Not | Group | Unsaid


class UnsayableError(Exception):
    """Logic of a source that has no equivalent here; the text says why."""


def negated(logic: Logic) -> Logic:
    """The opposite of a condition."""
    return logic.part if isinstance(logic, Not) else Not(logic)


def compared_with_changes(logic: Logic, change: Callable[[Compare | Answered], Logic]) -> Logic:
    """The condition with each of its comparisons changed."""
    match logic:
        case Not(part):
            return negated(compared_with_changes(part, change))
        case Group(op, parts):
            return together(op, [compared_with_changes(part, change) for part in parts])
        case Unsaid():
            return logic
        case _:
            return change(logic)


def together(op: str, parts: Sequence[Logic]) -> Logic:
    """A group of conditions, or the only one."""
    return parts[0] if len(parts) == 1 else Group(op, tuple(parts))


def both(one: Logic | None, other: Logic | None) -> Logic | None:
    """The conjunction of two conditions; either may be missing."""
    return together("all", [one, other]) if one and other else one or other


# --- Items -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Choice:
    """One option. `key` is what the source's logic calls it, if that is not the value."""

    value: str
    label: str = ""
    key: str = ""
    is_other: bool = False
    is_exclusive: bool = False
    is_last: bool = False


@dataclass(slots=True)
class Jump:
    """Continue at the item `target` if `when` is true, or always; None as a target is the end."""

    when: Logic | None
    target: str | None
    source: str = ""  # the rule as its source writes it


@dataclass(slots=True)
class Item:
    """One block to be. `kind` is the type of the block, and `where` its place in the source."""

    key: str
    kind: str
    text: str
    where: str
    name: str = ""  # a wish
    description: str = ""
    options: list[Choice] = field(default_factory=list)
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False
    format: str | None = None
    group: str = ""
    icon: str | None = None
    labels: tuple[str, str, str] = ("", "", "")  # left, center, right
    point_labels: dict[int, str] = field(default_factory=dict)
    is_menu: bool = False
    shuffled: bool = False
    top_n: int | None = None
    is_intro: bool = False
    button: str = ""
    formula: str = ""
    right: tuple[str, ...] = ()  # the keys of the options that are right
    video: str = ""  # an address that `video_url` takes
    show: Logic | None = None
    jumps: list[Jump] = field(default_factory=list)
    has_more_jumps: bool = False


@dataclass(slots=True)
class Questionnaire:
    """The questionnaire as far as a reader has read it."""

    items: list[Item] = field(default_factory=list)
    unmet: list[dict[str, str]] = field(default_factory=list)
    left_out: int = 0
    unnamed: int = 0
    work: int = 0

    def add(self, item: Item) -> Item:
        """Append an item; more than a reader collects are only counted."""
        if len(self.items) < MAX_ITEMS:
            self.items.append(item)
        else:
            self.left_out += 1
        return item

    def skips(self) -> bool:
        """Whether there is no place for one more item; then it is counted."""
        self.left_out += len(self.items) >= MAX_ITEMS
        return len(self.items) >= MAX_ITEMS

    def jump(self, item: Item, jump: Jump) -> None:
        """Add a jump to an item; of more than MAX_JUMPS the first are kept."""
        if len(item.jumps) < MAX_JUMPS:
            item.jumps.append(jump)
        elif not item.has_more_jumps:
            item.has_more_jumps = True
            self.miss(item.where, f"It has more than {MAX_JUMPS} jumps: later ones are left out.")

    def spend(self, steps: int) -> None:
        """Count steps of the conversion. Refuses more than MAX_WORK."""
        self.work += steps
        if self.work > MAX_WORK:
            unreadable("has too much logic: convert it in parts.")

    def miss(self, where: str, what: str) -> None:
        """Record a part that blocks cannot express, and where it is in the source."""
        if len(self.unmet) < MAX_UNMET:
            self.unmet.append({"where": cut(where, MAX_QUOTED) or "The whole", "what": cut(what, 500)})
        else:
            self.unnamed += 1


def unreadable(message: str) -> Any:
    """Refuse a content that is not of its format."""
    refuse("content", "invalid", f"`content` {message}")


# --- Texts -------------------------------------------------------------------------------------------


def cut(text: str, most: int) -> str:
    """The text with at most `most` characters; an ellipsis ends a longer one."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def field_of(key: str) -> str | None:
    """The name here of a field of the address, if the key in a condition or pipe is HIDDEN and its name."""
    name = key.removeprefix(HIDDEN)
    return f"field.{name}" if name != key and metadata.is_key(name) else None


def pipe(key: str) -> str:
    """The place of an earlier answer in a text."""
    return f"{PIPE}{key}{END_OF_PIPE}"


def plain(value: object) -> str:
    """A text of a source without HTML: bold text, links and lists become Markdown."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    text = str(value)[:MAX_SOURCE_TEXT]
    if "<" in text:
        text = "".join(_without_tags(text))
    text = html.unescape(text) if "&" in text else text
    lines = [_BLANKS.sub(" ", line).strip() for line in text.replace("\x00", "").splitlines()]
    return _LINES.sub("\n\n", "\n".join(lines)).strip()


def line(value: object) -> str:
    """The same as one line, for labels."""
    return " ".join(plain(value).replace("**", "").split())


def _without_tags(text: str) -> Iterator[str]:
    hidden = ""
    link = ""
    for part in _TAG.split(text):
        match = _TAG_NAME.match(part) if part.startswith("<") else None
        if match is None:
            if not hidden:
                yield part
            continue
        closes, name = bool(match[1]), match[2].lower()
        if name in _HIDDEN:
            hidden = "" if closes else name
        elif hidden:
            continue
        elif name == "a":
            href = _HREF.search(part)
            if closes:
                yield f"]({link})" if link else ""
                link = ""
            elif href and not link:
                link = href[1]
                yield "["
        elif name == "li":
            yield "" if closes else "\n- "
        elif name in _MARKS:
            yield _MARKS[name]
        elif name in _BREAKS:
            yield "\n"
        elif name == "td" and closes:
            yield " "


# --- Values of JSON ----------------------------------------------------------------------------------


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list of a source; empty for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    """An object of a source; empty for anything else."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A number of a source, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(str(value)[:40])
    except ValueError:
        return None
    return found if abs(found) <= 10**15 else None


def word(value: object) -> str:
    """A key or code of a source as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**15:
        return str(int(value))
    return str(value).strip()[:500] if isinstance(value, str | int | float) else ""
