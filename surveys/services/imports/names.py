"""Finds what the texts of a file name: an option by its label, value or code, or what a header means.

names = Names([Name("C++", option, "labels"), …])
names.find("c++", ("labels", "values"))  the names that are most like a text; several are no clear name
names.only("c++", ("labels",))           the thing of that name; None without one
listed("C++; Java", ";", names, ("labels",), 5)  the options of a list in one cell
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from communities.ground.sent_text import compatible, sent_text
from communities.ground.words import shortened

SEPARATORS = {";": "semicolons", "|": "bars", "\n": "new lines", ",": "commas"}
MAX_SHOWN = 60  # characters of a cell in a message
MOST_SEPARATED = 8  # parts of a label that has separators
MORE_SPACES = 20  # characters of a text beyond those of names
MAX_KNOWN = 2_000  # texts that were looked up
_EMPTY = "\u200b\ufe0f"  # signs without a look of their own
_MINUS = str.maketrans(dict.fromkeys("−–—‐‑", "-") | dict.fromkeys(_EMPTY, ""))
_BETWEEN = re.compile(r"""[\s?¿!¡:;'"`´()\[\]{}/\\|…“”„‘’«»·•]+""")
# Not the sign of a number (-2, .5) or of a mark (A-).
_DASHES = re.compile(r"(?<=\w)-(?=\w)|(?<=\w)[.,]|(?<!\w)[-.,](?![.,]?\d)")
T = TypeVar("T")


class Unreadable(Exception):
    """A cell that is not what its column should have. The message is a sentence."""


def cut(text: str) -> str:
    """A text on one line, as messages and pages quote it."""
    return shortened(" ".join(text.split()), MAX_SHOWN)


def cased(text: str) -> str:
    """A text for comparison without case and repeated spaces."""
    return " ".join(compatible(sent_text(text)).casefold().split())


def plain(text: str) -> str:
    """A header or label for comparison: without case, repeated spaces, and the signs between words.

    Signs that distinguish texts stay: C++ and C, -1 and 1, >18 and <18.
    """
    folded = cased(text).translate(_MINUS)
    return " ".join(_DASHES.sub(" ", _BETWEEN.sub(" ", folded)).split()) or folded


def _signs(text: str) -> tuple[int, ...]:
    return tuple(map(text.count, SEPARATORS))


@dataclass(frozen=True, slots=True)
class Name(Generic[T]):
    """A text that names something. `kind` says what it is of it, such as its label."""

    text: str
    thing: T
    kind: str = ""


class Names(Generic[T]):
    """Things by their names: by exact ones, else without case and spaces, else as `plain` writes them.

    Each name is folded once, and each text is looked up once for the same kinds.
    """

    def __init__(self, names: Iterable[Name[T]]) -> None:
        self._folded: dict[str, list[Name[T]]] = {}
        self._known: dict[tuple[str, Sequence[str]], list[Name[T]]] = {}  # what was looked up
        self.signs = set[tuple[int, ...]]()  # how often a name has each separator
        self.longest = 0  # characters of a name
        for name in names:
            if text := sent_text(name.text):
                self._folded.setdefault(plain(text), []).append(replace(name, text=text))
                self.longest = max(self.longest, len(text))
                self.signs.add(_signs(text))
        self.lengths = {  # how many parts of a list a name may be, by the separator, the most first
            sign: sorted({1 + each[n] for each in self.signs if each[n] < MOST_SEPARATED}, reverse=True)
            for n, sign in enumerate(SEPARATORS)
        }

    def find(self, text: str, kinds: Sequence[str] = ("",)) -> list[Name[T]]:
        """The names, of the first kind that has any, that are most like a text. Several are no clear name."""
        if len(text) > 2 * self.longest + MORE_SPACES:
            return []
        known = self._known.get((text, tuple(kinds)))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[text, tuple(kinds)] = self._likest(sent_text(text), kinds)
        return known

    def _likest(self, text: str, kinds: Sequence[str]) -> list[Name[T]]:
        alike = [name for name in self._folded.get(plain(text), ()) if name.kind in kinds]
        for fold in (str, cased, plain) if alike else ():
            folded = fold(text)
            same = [name for name in alike if fold(name.text) == folded]
            for kind in kinds if same else ():
                if found := [name for name in same if name.kind == kind]:
                    return found
        return []

    def only(self, text: str, kinds: Sequence[str]) -> T | None:
        """The thing that a text names. Raises Unreadable for a text that several have in common."""
        found = self.find(text, kinds)
        if len(found) > 1:
            both = " and ".join(f"“{cut(name.text)}”" for name in found[:2])
            raise Unreadable(f"“{cut(text)}” may be {both}.")
        return found[0].thing if found else None


def listed(
    text: str, separator: str, names: Names[T], kinds: Sequence[str], most: int
) -> tuple[list[T], list[str]]:
    """The options of a list in one cell, and the parts that are none. A label may contain the separator.

    A list of more than `most` options, and a second part that is none, end the search. Raises Unreadable for
    a text that is a label as a whole, and a list of labels.
    """
    parts, lengths = text.split(separator), names.lengths.get(separator, [1])
    options, unknown, start = list[T](), list[str](), 0
    while start < len(parts) and len(unknown) < 2:
        if not parts[start].strip():
            start += 1
            continue
        for end in (start + length for length in lengths if start + length <= len(parts)):
            part = separator.join(parts[start:end])
            if (signs := _signs(part)) not in names.signs:
                continue
            found = names.find(part, kinds)
            if len(found) == 1 and _signs(found[0].text) == signs:
                if end - start > 1 and all(names.find(each, kinds) for each in parts[start:end]):
                    raise Unreadable(f"“{cut(part)}” may be one option, or several.")
                options.append(found[0].thing)
                start = end
                break
        else:
            unknown.append(parts[start].strip())
            start += 1
        if len(options) > most:
            return [], [text]
    return options, unknown
