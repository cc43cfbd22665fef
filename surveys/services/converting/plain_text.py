"""Questionnaires as plain text: numbered questions, with their options on the lines below.

1. How old are you? *                 required
2. Which do you use? (choose all that apply)
   - Phone
   - Other: ____                      asks for a text
   - None of these                    exclusive
3. How satisfied are you? (1-5)
"""

from __future__ import annotations

import re
from itertools import islice

from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    MAX_SOURCE_TEXT,
    Choice,
    Item,
    Questionnaire,
    line,
    plain,
    unreadable,
)
from surveys.services.converting.sheets import KIND_OF, give_kind

MAX_LINES = 20_000
MAX_LINE = 4_000  # characters
_ENDS_OF_LINES = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # as of `str.splitlines`
_LINE = re.compile(rf"([^{_ENDS_OF_LINES}]*+)(?:\r\n|[{_ENDS_OF_LINES}]|\Z)")
_QUESTION = re.compile(
    r"\s{0,8}(?:(?:Q|Question|Frage)\s{0,20})?(\d{1,3})\s{0,20}[.):]\s{1,20}(\S.*)", re.IGNORECASE
)
_OPTION = re.compile(
    r"\s{0,20}(?:[-*•–○◯●□☐▢]|\[\s?\]|\(\s?\)|[○☐]|(?:\(?[a-zA-Z]|\(?[ivx]{1,4})[.)])\s{1,20}(\S.*)"
)
_MANY = re.compile(
    r"\(?\b(?:choose|select|check|tick|mark|pick)\s{1,20}(?:all|any|as many)\b[^()]{0,40}\)?|"
    r"\((?:multiple (?:answers|choices?)|several answers|mehrere antworten|mehrfach\w*)[^()]{0,40}\)",
    re.IGNORECASE,
)
_RANK = re.compile(r"\b(?:rank|put in order|order the following)\b", re.IGNORECASE)
_SCALE = re.compile(
    r"\(?\b(?:scale(?: of)?(?: from)?\s{1,20}|from\s{1,20})?([01])\s{0,20}(?:-|–|—|to|bis)\s{0,20}(10|[2-9])\b"  # noqa: E501
    r"(?:\s{0,20}[,;:]\s{0,20}([^()]{1,120}))?\)?",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(\d{1,2})\s{0,20}[=:]\s{0,20}([^,;=]{1,60})")
_IS_SCALE = re.compile(r"\bscale\b|\bskala\b|\(\s{0,20}[01]\s{0,20}(?:-|–|—|to|bis)", re.IGNORECASE)
_YES_NO = re.compile(r"\(\s{0,20}(?:yes\s{0,20}/\s{0,20}no|y\s{0,20}/\s{0,20}n)\s{0,20}\)", re.IGNORECASE)
_REQUIRED = re.compile(
    r"\s{0,20}(?:\((?:required|mandatory|pflicht\w*)\)|\*)\s{0,20}$|^\*\s{0,20}", re.IGNORECASE
)
_TYPE = re.compile(r"\s{0,20}[\[(]([a-zA-Z][a-zA-Z \-/]{2,24})[\])]\s{0,20}$")
_OTHER = re.compile(
    r"(?:other|others|something else|andere[rs]?|sonstige[rs]?|autre|otro)\b(?:\s{0,20}\(.{0,40}\))?[_.:…,\s-]*",  # noqa: E501
    re.IGNORECASE,
)
_NONE = re.compile(r"none (?:of (?:these|the above|them)|apply)\b.*|keine[rs]? davon\b.*", re.IGNORECASE)
_BLANK_LINE = re.compile(r"[\s_.…]*")
_BLANK = re.compile(r"[_…]{3}")  # of a blank line
_GUESSES = (
    (re.compile(r"\b(?:your|full|first|last) name\b(?=\W*(?:$|\())", re.IGNORECASE), "name"),
    (re.compile(r"\be-?mail\b", re.IGNORECASE), "email"),
    (re.compile(r"\b(?:phone|telephone|mobile) (?:number|no)\b", re.IGNORECASE), "phone"),
    (re.compile(r"\bdate of birth\b|\b(?:what|which) date\b|\bwhen were you born\b", re.IGNORECASE), "date"),
    (re.compile(r"\bhow (?:old|many)\b|\bnumber of\b|\byour age\b", re.IGNORECASE), "open_numeric"),
    (re.compile(r"\b(?:website|url|web address)\b", re.IGNORECASE), "url"),
)  # fmt: skip
_NPS = re.compile(r"\bhow likely\b.{0,99}\brecommend\b", re.IGNORECASE)


def text(content: str) -> Questionnaire:
    """Questions of a text. Without numbers, each line that ends with a question mark begins one."""
    lines = [match[1][:MAX_LINE] for match in islice(_LINE.finditer(content), MAX_LINES + 1)]
    reader = _Reader(any(_QUESTION.fullmatch(each) for each in lines[:MAX_LINES]))
    for n, each in enumerate(lines[:MAX_LINES], start=1):
        reader.line(n, each)
    reader.finish()
    if len(lines) > MAX_LINES:
        reader.found.miss(f"line {MAX_LINES + 1}", "Later lines are left out.")
    if not any(item.kind != "content_block" for item in reader.found.items):
        unreadable("has no question: write numbered questions, with their options on the lines below.")
    return reader.found


class _Reader:
    """Collects the lines of a question until the next one begins."""

    def __init__(self, is_numbered: bool) -> None:
        self.found = Questionnaire()
        self.is_numbered = is_numbered
        self.item: Item | None = None
        self.notes: list[str] = []
        self.note_at = 0
        self.is_after_blank = False
        self.last_number = 0

    def line(self, n: int, raw: str) -> None:
        if not raw.strip():
            self.is_after_blank = True
            return
        question = _QUESTION.fullmatch(raw)
        option = _OPTION.fullmatch(raw)
        if question and self._is_option_number(raw, int(question[1])):
            question, option = None, question
        if question:
            self.last_number = int(question[1])
            self._begin(n, question[2])
        elif not self.is_numbered and not option and raw.rstrip(" *").endswith(("?", ":")):
            self._begin(n, raw)
        elif option and self.item:
            if len(self.item.options) < MAX_CHOICES:
                self.item.options.append(_choice(option[option.re.groups]))
        elif self.item and not (_BLANK_LINE.fullmatch(raw) and _BLANK.search(raw)):
            self._below(n, raw)
        elif self.item is None:
            self._note(n, raw)
        self.is_after_blank = False

    def _is_option_number(self, raw: str, number: int) -> bool:
        """Whether a numbered line is an option: indented below a question, and counted from 1 or 0."""
        if self.item is None or not raw[:2].isspace():
            return False
        return number == len(self.item.options) + 1 or number == len(self.item.options)

    def _begin(self, n: int, words: str) -> None:
        self.finish()
        if self.found.skips():
            return
        self.item = Item("", "", words.strip(), f"line {n}")

    def _below(self, n: int, raw: str) -> None:
        """A line below a question that is no option: more of its text, or a text before the next one."""
        item = self.item
        if item is None:
            return
        if item.options and self.is_after_blank:
            self.finish()
            self._note(n, raw)
        elif item.options:
            last = item.options[-1]
            if len(last.value) < MAX_SOURCE_TEXT:
                last.value = f"{last.value} {line(raw)}"
        elif len(item.description) < MAX_SOURCE_TEXT:
            item.description = f"{item.description}\n{raw.strip()}".strip()

    def _note(self, n: int, raw: str) -> None:
        self.note_at = self.note_at or n
        if self.is_after_blank and self.notes:
            self.notes.append("")
        self.notes.append(raw.strip())

    def finish(self) -> None:
        """Add the question that was being read, and before it the text that stood there."""
        if self.item:
            self.found.add(_typed(self.item, self.found))
            self.item = None
        elif self.notes:
            is_first = not self.found.items
            note = Item("", "content_block", plain("\n".join(self.notes)), f"line {self.note_at}")
            note.is_intro = is_first
            self.found.add(note)
        if self.item is None:
            self.notes, self.note_at = [], 0


def _choice(words: str) -> Choice:
    label = line(words)
    if _OTHER.fullmatch(label):
        return Choice(label.rstrip(" _.:…") or label, is_other=True)
    return Choice(label, is_exclusive=_NONE.fullmatch(label) is not None)


def _typed(item: Item, found: Questionnaire) -> Item:
    """The question with the type that its words say, or else one that is guessed."""
    words = item.text
    if _REQUIRED.search(words):
        item.required, words = True, _REQUIRED.sub("", words)
    named = _TYPE.search(words)
    is_yes_no = _YES_NO.search(words) is not None
    kind = KIND_OF.get(named[1].strip().lower()) if named and not is_yes_no else None
    if named and kind:
        words = words[: named.start()]
    many = _MANY.search(f"{words}\n{item.description}") is not None
    scale = _SCALE.search(words) if _IS_SCALE.search(words) else None
    if scale and not item.options and kind in (None, "rating", "opinion_scale"):
        _scale(item, scale)
        words = words[: scale.start()] + words[scale.end() :] if words[scale.start()] == "(" else words
    elif kind:
        give_kind(item, kind)
    elif item.options:
        item.kind = "ranking" if _RANK.search(words) else "multi_punch" if many else "single_punch"
    elif is_yes_no:
        item.kind, item.options = "single_punch", [Choice("Yes"), Choice("No")]
    else:
        guess = (
            "nps"
            if _NPS.search(words)
            else next((each for sign, each in _GUESSES if sign.search(words)), "open_text")
        )
        give_kind(item, guess)
    if item.kind == "multi_punch" and not kind:
        words = _MANY.sub("", words) if "(" in words else words
    elif item.kind != "multi_punch":
        for choice in item.options:
            choice.is_exclusive = False
    item.text = plain(_YES_NO.sub("", words)) or plain(item.text)
    item.description = plain(item.description)
    return item


def _scale(item: Item, scale: re.Match[str]) -> None:
    low, high = int(scale[1]), int(scale[2])
    item.kind, item.minimum, item.maximum = "opinion_scale", low, high
    ends = dict(_ENDS.findall(scale[3] or ""))
    item.labels = (line(ends.get(str(low), "")), "", line(ends.get(str(high), "")))
