"""Surveys of LimeSurvey: the structure of a survey as XML (`.lss`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from surveys.services.converting.elements import FAULTS, PIECE, Elements, Path, Reader
from surveys.services.converting.formulas import REFERENCES, Expressions
from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    Answered,
    Choice,
    Compare,
    Item,
    Logic,
    Questionnaire,
    UnsayableError,
    both,
    compared_with_changes,
    cut,
    line,
    negated,
    number,
    pipe,
    plain,
    unreadable,
)

MAX_ELEMENTS = 400_000
MAX_ROWS = 20_000
Row = dict[str, str]
_TABLES = frozenset(
    {"questions", "question_l10ns", "subquestions", "answers", "answer_l10ns", "groups", "group_l10ns"}
    | {"question_attributes", "surveys", "surveys_languagesettings", "conditions", "quota"}
)
_EXPRESSIONS = Expressions(REFERENCES["limesurvey"])
_PIPED = re.compile(
    r"\{\s{0,20}([a-zA-Z][a-zA-Z0-9_]{0,100})(?:\.(?:shown|value|code|NAOK|question))?\s{0,20}\}"
)
# How LimeSurvey's own form for conditions names a question, and a part of one: 12345X6X78, 12345X6X78SQ001.
_NUMBERED = re.compile(r"(?:\bINSERTANS:)?\b\d{1,12}X\d{1,12}X([0-9][a-zA-Z0-9_]{0,60})")
_LEFT_OUT = {"|": "A file", "*": "An equation", "I": "A switch of languages", ":": "An array of numbers",
             ";": "An array of texts"}  # fmt: skip
_FIVE = [Choice(str(n)) for n in range(1, 6)]
_ARRAYS = {
    "A": _FIVE,
    "B": [Choice(str(n)) for n in range(1, 11)],
    "C": [Choice("Y", "Yes"), Choice("U", "Uncertain"), Choice("N", "No")],
    "E": [Choice("I", "Increase"), Choice("S", "Same"), Choice("D", "Decrease")],
}


def limesurvey(data: bytes) -> Questionnaire:
    """The structure of a survey. Refuses XML that is none, and every entity and document type."""
    tables = _tables(data)
    if not tables.get("questions"):
        unreadable("must be the structure of a survey of LimeSurvey (.lss), with questions.")
    survey = _Survey(tables)
    survey.read()
    return survey.found


def _tables(data: bytes) -> dict[str, list[Row]]:
    """The rows of the tables that are read."""
    reader = _Tables()
    pieces = (data[at : at + PIECE] for at in range(0, len(data), PIECE))
    try:
        Elements(MAX_ELEMENTS).walk(pieces, reader)
    except FAULTS:
        unreadable("must be XML without entities and document types.")
    return reader.found


class _Tables(Reader):
    """Reads `document/TABLE/rows/row`, with a cell in each element."""

    def __init__(self) -> None:
        self.found: dict[str, list[Row]] = {}
        self.row: Row = {}

    def start(self, path: Path, attributes: Mapping[str, str]) -> None:
        if len(path) == 1 and path[0] != "document":
            unreadable("must be the structure of a survey of LimeSurvey (.lss).")

    def end(self, path: Path, text: str) -> None:
        if len(path) < 4 or path[2] != "rows" or path[1] not in _TABLES:
            return
        if len(path) == 5:
            self.row[path[4]] = text.strip()
        elif len(path) == 4:
            rows = self.found.setdefault(path[1], [])
            if len(rows) < MAX_ROWS:
                rows.append(self.row)
            self.row = {}


class _Survey:
    def __init__(self, tables: dict[str, list[Row]]) -> None:
        self.tables = tables
        self.found = Questionnaire()
        settings = tables.get("surveys_languagesettings", [])
        survey = next(iter(tables.get("surveys", [])), {})
        named = [row.get("surveyls_language", "") for row in settings]
        of_questions = [
            row.get("language", "") for row in (tables.get("question_l10ns") or tables["questions"])
        ]
        self.language = survey.get("language") or next(filter(None, [*named, *of_questions]), "")
        self.settings = next((row for row in settings if row.get("surveyls_language") == self.language), {})
        others = sorted({each for each in [*named, *of_questions] if each and each != self.language})
        if others:
            self.found.miss(
                "languages", f"Only the texts in {self.language} are taken, not {', '.join(others)[:200]}."
            )
        self.texts = self._by("question_l10ns", "qid")
        self.answers = self._answers()
        self.attributes: dict[tuple[str, str], str] = {
            (row.get("qid", ""), row.get("attribute", "")): row.get("value", "")
            for row in tables.get("question_attributes", [])
            if row.get("language", "") in ("", self.language)
        }
        self.parts = self._parts()
        self.part_codes = {(qid, each.get("title", "")) for qid, of in self.parts.items() for each in of}
        self.titles = {
            row.get("qid", ""): row.get("title", "")
            for row in tables["questions"]
            if row.get("parent_qid", "0") in ("", "0")
        }
        self.codes: dict[str, tuple[str, str]] = {}  # `Q1_SQ1` → the question and the option that it means

    def _own(self, row: Row) -> bool:
        return not self.language or row.get("language", "") in ("", self.language)

    def _by(self, table: str, key: str) -> dict[str, Row]:
        return {row.get(key, ""): row for row in self.tables.get(table, []) if self._own(row)}

    def _answers(self) -> dict[str, list[Row]]:
        texts = self._by("answer_l10ns", "aid")
        rows: dict[str, list[Row]] = {}
        for row in sorted(self.tables.get("answers", []), key=lambda row: number(row.get("sortorder")) or 0):
            if self._own(row):
                full = {
                    **row,
                    **{key: value for key, value in texts.pop(row.get("aid", ""), {}).items() if value},
                }
                rows.setdefault(row.get("qid", ""), []).append(full)
        return rows

    def _parts(self) -> dict[str, list[Row]]:
        """The subquestions of each question."""
        rows: dict[str, list[Row]] = {}
        seen: set[str] = set()
        every = [*self.tables.get("subquestions", []), *self.tables["questions"]]
        for row in sorted(every, key=lambda row: number(row.get("question_order")) or 0):
            parent, own = row.get("parent_qid", "0"), row.get("qid", "")
            if parent not in ("", "0") and own not in seen and self._own(row):
                seen.add(own)
                rows.setdefault(parent, []).append(row)
        return rows

    def text(self, row: Row, key: str = "question") -> str:
        raw = self.texts.get(row.get("qid", ""), {}).get(key) or row.get(key, "")
        return plain(_PIPED.sub(lambda match: pipe(match[1]), self._named(raw)))

    def _named(self, text: str) -> str:
        """The text with the codes of questions in place of their numbers."""
        return _NUMBERED.sub(lambda match: self._name_of(match[1]) or match[0], text)

    def _name_of(self, number: str) -> str:
        """The name of `78SQ001`. The part after the id of a question may begin with digits."""
        for at in range(len(number), 0, -1):
            qid, part = number[:at], number[at:]
            if qid in self.titles and (part in ("", "other") or (qid, part) in self.part_codes):
                return f"{self.titles[qid]}_{part}" if part else self.titles[qid]
        return ""

    def read(self) -> None:
        if welcome := plain(self.settings.get("surveyls_welcometext", "")):
            self.found.add(Item("", "content_block", welcome, "welcome text", is_intro=True))
        texts = self._by("group_l10ns", "gid")
        groups: dict[str, Row] = {}
        for row in sorted(self.tables.get("groups", []), key=lambda row: number(row.get("group_order")) or 0):
            if self._own(row):
                groups.setdefault(row.get("gid", ""), {**row, **texts.get(row.get("gid", ""), {})})
        questions: dict[str, list[Row]] = {}
        seen: set[str] = set()
        for row in sorted(self.tables["questions"], key=lambda row: number(row.get("question_order")) or 0):
            qid = row.get("qid", "")
            if row.get("parent_qid", "0") in ("", "0") and self._own(row) and qid and qid not in seen:
                seen.add(qid)
                questions.setdefault(row.get("gid", ""), []).append(row)
        for gid in [*groups, *(gid for gid in questions if gid not in groups)]:
            self._group(groups.get(gid, {}), questions.get(gid, []))
        if end := plain(self.settings.get("surveyls_endtext", "")):
            self.found.add(Item("", "content_block", end, "end text"))
        if self.tables.get("quota"):
            self.found.miss("quota", "Quotas are not taken over: see the setting `quotas`.")
        if self.tables.get("conditions") and not any(item.show for item in self.found.items):
            self.found.miss("conditions", "Conditions without an expression are not taken over.")

    def _group(self, group: Row, questions: list[Row]) -> None:
        name = line(group.get("group_name", ""))
        where = f"group {name}"
        shown = self._logic(group.get("grelevance", ""), where)
        description = plain(group.get("description", ""))
        if description:
            heading = Item("", "content_block", name or description, where, show=shown)
            heading.description = description if name else ""
            self.found.add(heading)
        for row in questions:
            if self.found.skips():
                continue
            title = row.get("title", "")
            where = f"question {title}"
            try:
                own = both(shown, self._logic(row.get("relevance", ""), where))
            except UnsayableError as error:
                self.found.miss(where, f"Its relevance cannot be said here: {error}.")
                own = None
            item = Item(title, "open_text", self.text(row), where, name=title, show=own)
            item.description = self.text(row, "help")
            item.required = row.get("mandatory", "N") in ("Y", "S")
            self._question(item, row)

    def _logic(self, text: str, where: str) -> Logic | None:
        if text.strip() in ("", "1"):
            return None
        try:
            return compared_with_changes(_EXPRESSIONS.logic(self._named(text)), self._meant)
        except UnsayableError as error:
            self.found.miss(where, f"relevance “{cut(text, 200)}” cannot be said here: {error}.")
            return None

    def _meant(self, leaf: Compare | Answered) -> Logic:
        """A comparison of the part of a question with several answers, as one of the question."""
        meant = self.codes.get(leaf.key)
        if meant is None:
            return leaf
        chosen = Compare(meant[0], "in", (meant[1],))
        if isinstance(leaf, Answered) or (leaf.op, leaf.value) in (("eq", "Y"), ("ne", "")):
            return chosen
        if (leaf.op, leaf.value) in (("ne", "Y"), ("eq", ""), ("eq", "N")):
            return negated(chosen)
        raise UnsayableError("the part of a question is compared with a value")

    # --- Questions

    def _question(self, item: Item, row: Row) -> None:
        kind, qid = row.get("type", ""), row.get("qid", "")
        parts = self.parts.get(qid, [])
        if self.attributes.get((qid, "hidden")) == "1":
            self.found.miss(item.where, "A hidden question is left out.")
            return
        if kind in _LEFT_OUT and not (kind == "*" and self._equation(item)):
            self.found.miss(item.where, f"{_LEFT_OUT[kind]} cannot be asked here: it is left out.")
            return
        if row.get("preg"):
            self.found.miss(item.where, f"The pattern “{cut(row['preg'], 100)}” is not checked here.")
        item.shuffled = self.attributes.get((qid, "random_order")) == "1"
        if kind in _ARRAYS or kind in ("F", "H", "1", "K", "Q"):
            self._array(item, kind, qid, parts)
            return
        if kind in ("L", "!", "O"):
            item.kind, item.options, item.is_menu = "single_punch", self._options(qid), kind == "!"
        elif kind in ("M", "P"):
            item.kind = "multi_punch"
            exclusive = set(self.attributes.get((qid, "exclude_all_others"), "").split(";"))
            for part in parts[:MAX_CHOICES]:
                code = part.get("title", "")
                item.options.append(Choice(code, line(self.text(part)), is_exclusive=code in exclusive))
                self.codes[f"{item.key}_{code}"] = (item.key, code)
            item.minimum = number(self.attributes.get((qid, "min_answers")))
            item.maximum = number(self.attributes.get((qid, "max_answers")))
        elif kind == "R":
            item.kind = "ranking"
            item.options = self._options(qid) or [
                Choice(each.get("title", ""), line(self.text(each))) for each in parts
            ]
            item.top_n = int(number(self.attributes.get((qid, "max_answers"))) or 0) or None
        elif kind == "5":
            item.kind, item.minimum, item.maximum, item.icon = "rating", 1, 5, "numbers"
        elif kind == "Y":
            item.kind, item.options = "single_punch", [Choice("Y", "Yes"), Choice("N", "No")]
        elif kind == "G":
            item.kind, item.options = "single_punch", [Choice("F", "Female"), Choice("M", "Male")]
        elif kind == "N":
            item.kind, item.whole = "open_numeric", self.attributes.get((qid, "num_value_int_only")) == "1"
            item.minimum = number(self.attributes.get((qid, "min_num_value_n")))
            item.maximum = number(self.attributes.get((qid, "max_num_value_n")))
        elif kind == "X":
            item.kind = "content_block"
        elif kind in ("S", "D"):
            item.format = "line" if kind == "S" else "date"
        elif kind not in ("T", "U", "*"):
            self.found.miss(item.where, f"The type “{kind[:5]}” is not known; it became one for a text.")
        if row.get("other") == "Y" and item.kind in ("single_punch", "multi_punch"):
            label = self.attributes.get((qid, "other_replace_text")) or "Other"
            item.options.append(Choice("-oth-", line(label), is_other=True))
            self.codes[f"{item.key}_other"] = (item.key, "-oth-")
        if kind in ("O", "P"):
            self.found.miss(item.where, "Its comments are not asked here.")
        self.found.add(item)

    def _equation(self, item: Item) -> bool:
        """Make the item a calculated block, if its text is one expression that can be said."""
        text = re.sub(f"[{pipe('')}]", "", item.text).strip()
        try:
            item.formula = _EXPRESSIONS.formula(text.strip("{}"))
        except UnsayableError:
            return False
        item.kind, item.text = "calculated_block", ""
        return True

    def _options(self, qid: str) -> list[Choice]:
        self.found.spend(len(self.answers.get(qid, ())))
        rows = [row for row in self.answers.get(qid, []) if row.get("scale_id", "0") in ("", "0")]
        return [Choice(row.get("code", ""), line(row.get("answer", ""))) for row in rows[:MAX_CHOICES]]

    def _array(self, item: Item, kind: str, qid: str, parts: list[Row]) -> None:
        """A question for each subquestion."""
        if kind == "1":
            self.found.miss(item.where, "Only the first scale of the two is asked.")
        if kind == "H":
            self.found.miss(item.where, "The array is asked by rows.")
        options = _ARRAYS.get(kind) or self._options(qid)
        if item.description and parts:
            heading = Item(
                "", "content_block", item.text, item.where, description=item.description, show=item.show
            )
            self.found.add(heading)
        for part in self.parts.get(qid, []):
            if part.get("scale_id", "0") not in ("", "0") or self.found.skips():
                continue
            code = part.get("title", "")
            key = f"{item.key}_{code}"
            row = Item(key, "single_punch", self.text(part) or code, f"{item.where}, {code}", name=key)
            row.show, row.required = item.show, item.required
            if kind in ("K", "Q"):
                row.kind, row.format = ("open_numeric", None) if kind == "K" else ("open_text", "line")
                row.description = item.text
            else:
                row.options, row.group = list(options), item.text
            self.found.add(row)
