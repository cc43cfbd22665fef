"""Questionnaires in tables: XLSForm workbooks, REDCap data dictionaries, and plain CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from surveys.services.converting import tables
from surveys.services.converting.formulas import REFERENCES, Expressions, calculate
from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    MAX_DEPTH,
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
    word,
)
from surveys.services.converting.workbooks import Limits, Workbook

MAX_ROWS = 20_000  # of a sheet
MAX_COLUMNS = 200
LIMITS = Limits(rows=MAX_ROWS, columns=MAX_COLUMNS + 1, elements=1_000_000, unpacked=33_554_432)
Row = Mapping[str, str]
_YES = frozenset({"yes", "true", "true()", "1", "y", "required", "x", "ja", "oui"})
_SEPARATED = re.compile(r"\s{0,20}[|;\n]\s{0,20}")


def is_yes(text: str) -> bool:
    """Whether a cell says yes."""
    return text.strip().lower() in _YES


# --- XLSForm -----------------------------------------------------------------------------------------

_XLSFORM = Expressions(REFERENCES["xlsform"])
_FIELD = re.compile(r"\$\{\s{0,20}([^{}]{1,200}?)\s{0,20}\}")
_TRANSLATED = re.compile(r"(label|hint)\s{0,20}::?\s{0,20}(.+)")
_META = frozenset(
    {"start", "end", "today", "deviceid", "subscriberid", "simserial", "phonenumber", "username", "email"}
    | {"audit", "start-geopoint", "hidden", "background-audio", "xml-external", "csv-external"}
)
_TEXTS = {"text": None, "date": "date", "time": "line", "datetime": "line", "barcode": "line"}
_FILES = frozenset({"image", "photo", "audio", "video", "file", "geopoint", "geotrace", "geoshape"})
_BOUND = re.compile(r"\.\s{0,20}(>=|<=|>|<)\s{0,20}(-?\d+(?:\.\d+)?)")


def xlsform(data: bytes) -> Questionnaire:
    """A workbook with the sheets `survey` and `choices`. Refuses a file that is no such workbook."""
    found = Questionnaire()
    sheets = _sheets(data, found)
    if "survey" not in sheets:
        unreadable("must be an XLSForm: a workbook with a sheet `survey`.")
    survey, choices = sheets["survey"], sheets.get("choices", [])
    columns = dict.fromkeys(key for _, row in survey for key in row)  # in their order
    if "type" not in columns:
        unreadable("must be an XLSForm: its sheet `survey` needs a column `type`.")
    form = _Form(found, sheets.get("settings", []), columns)
    form.lists(choices)
    for n, row in survey:
        form.row(n, row)
    return form.found


class _Form:
    """The rows of a sheet `survey`, read from the first to the last."""

    def __init__(self, found: Questionnaire, settings: list[tuple[int, Row]], columns: Iterable[str]) -> None:
        self.found = found
        self.choices: dict[str, list[Choice]] = {}
        self.groups: list[tuple[Logic | None, str]] = []  # conditions, and titles of tables
        wished = next((row.get("default_language", "") for _, row in settings), "")
        self.language = _language(columns, wished)
        others = sorted(
            {match[2] for key in columns if (match := _TRANSLATED.fullmatch(key))} - {self.language}
        )
        if others:
            taken = self.language or "without a language"
            found.miss(
                "survey", f"Only the texts in one language are taken ({taken}), not {', '.join(others)}."
            )

    def text(self, row: Row, key: str) -> str:
        """A text in the language that is taken."""
        names = (f"{key}::{self.language}", f"{key}:{self.language}") if self.language else ()
        raw = next((row[name] for name in (*names, key) if row.get(name)), "")
        return plain(_FIELD.sub(lambda match: pipe(match[1]), raw))

    def lists(self, rows: list[tuple[int, Row]]) -> None:
        for _, row in rows:
            name = row.get("list_name") or row.get("list name") or ""
            if value := row.get("name") or row.get("value"):
                label = line(self.text(row, "label"))
                self.choices.setdefault(name, []).append(Choice(value, label))

    def row(self, n: int, row: Row) -> None:
        kind, _, rest = " ".join(row.get("type", "").split()).partition(" ")
        kind = kind.lower().replace("begin_", "begin ").replace("end_", "end ")
        if kind in ("begin", "end") and rest:  # `end` alone is the time of the end
            kind, rest = f"{kind} {rest.partition(' ')[0].lower()}", rest
        if kind in ("select", "select1"):
            one, _, rest = rest.partition(" ")
            kind = f"select_{one}" if kind == "select" else "select_one"
        where = f"survey, row {n}" + (f" ({row['name']})" if row.get("name") else "")
        if not kind or kind in _META or self.found.skips():
            return
        if kind.startswith("begin "):
            self._begin(kind, row, where)
        elif kind.startswith("end "):
            self.groups = self.groups[:-1]
        else:
            self._question(kind, rest, row, where)

    def _begin(self, kind: str, row: Row, where: str) -> None:
        label = self.text(row, "label")
        shown, _ = self.groups[-1] if self.groups else (None, "")
        shown = both(shown, self.condition(row, where))
        is_table = "table-list" in row.get("appearance", "")
        if kind == "begin repeat":
            self.found.miss(where, "The questions of a repeat are asked once.")
        if len(self.groups) < MAX_DEPTH:
            self.groups.append((shown, line(label) if is_table else ""))
        if label and not is_table:
            description = self.text(row, "hint")
            self.found.add(Item("", "content_block", label, where, description=description, show=shown))

    def condition(self, row: Row, where: str) -> Logic | None:
        text = row.get("relevant") or row.get("relevance") or ""
        try:
            return _XLSFORM.logic(text) if text else None
        except UnsayableError as error:
            self.found.miss(where, f"relevant “{cut(text, 200)}” cannot be said here: {error}.")
            return None

    def _question(self, kind: str, rest: str, row: Row, where: str) -> None:
        shown, group = self.groups[-1] if self.groups else (None, "")
        name, label = row.get("name", ""), self.text(row, "label")
        item = Item(name, "open_text", label, where, name=name, group=group)
        item.description = self.text(row, "hint")
        item.required = is_yes(row.get("required", ""))
        try:
            item.show = both(shown, self.condition(row, where))
        except UnsayableError as error:
            self.found.miss(where, f"relevant cannot be said here: {error}.")
        if not self._typed(item, kind, rest, row):
            return
        self.found.add(item)
        self._bounds(item, row)
        for key in ("choice_filter", "default", "repeat_count", "trigger"):
            if row.get(key):
                self.found.miss(where, f"{key} “{cut(row[key], 200)}” is not taken over.")
        if row.get("calculation") and item.kind != "calculated_block":
            self.found.miss(where, f"calculation “{cut(row['calculation'], 200)}” is not taken over.")

    def _typed(self, item: Item, kind: str, rest: str, row: Row) -> bool:
        """Give the item its type; False if it becomes no block."""
        appearance = row.get("appearance", "")
        if kind in ("select_one", "select_multiple", "rank"):
            item.kind = {"select_one": "single_punch", "select_multiple": "multi_punch"}.get(kind, "ranking")
            name, _, extra = rest.partition(" ")
            item.options = [replace(each) for each in self.choices.get(name, [])[:MAX_CHOICES]]
            if extra.strip().lower().replace(" ", "_") == "or_other":
                item.options.append(Choice("other", "Other", is_other=True))
            item.is_menu = "minimal" in appearance or "autocomplete" in appearance
            item.shuffled = "randomize=true" in row.get("parameters", "").replace(" ", "").lower()
            if not item.options:
                self.found.miss(item.where, f"There are no choices of the list “{cut(name, 80)}”.")
        elif kind in ("integer", "decimal"):
            item.kind, item.whole = "open_numeric", kind == "integer"
        elif kind == "range":
            _range(item, row.get("parameters", ""))
        elif kind == "acknowledge":
            item.kind, item.options = "single_punch", [Choice("OK")]
        elif kind == "note":
            item.kind = "content_block"
        elif kind == "calculate":
            return self._calculated(item, row)
        elif kind in _TEXTS:
            item.format = _TEXTS[kind]
            if kind == "text" and "numbers" in appearance:
                item.format = "phone"
        else:
            what = "Files and places" if kind in _FILES else f"The type “{cut(kind, 40)}”"
            self.found.miss(item.where, f"{what} cannot be asked here: the question is left out.")
            return False
        return True

    def _calculated(self, item: Item, row: Row) -> bool:
        return calculate(self.found, item, row.get("calculation", ""), by=_XLSFORM, name="calculation")

    def _bounds(self, item: Item, row: Row) -> None:
        constraint = row.get("constraint", "")
        if not constraint:
            return
        parts = re.split(r"\s{1,20}and\s{1,20}", constraint.strip().strip("()"))
        bounds = [_BOUND.fullmatch(part.strip().strip("()")) for part in parts]
        if item.kind != "open_numeric" or not all(bounds):
            self.found.miss(item.where, f"constraint “{cut(constraint, 200)}” is not checked here.")
            return
        for sign, text in (bound.groups() for bound in bounds if bound):
            step = 1 if item.whole else 0
            if sign in (">", "<") and not item.whole:
                self.found.miss(item.where, f"constraint “{sign} {text}” includes {text} here.")
            if sign.startswith(">"):
                item.minimum = float(text) + (step if sign == ">" else 0)
            else:
                item.maximum = float(text) - (step if sign == "<" else 0)


def _language(columns: Iterable[str], wished: str) -> str:
    """The language whose texts are taken: the default one, else the one without a name, else the first."""
    named = [match[2] for key in columns if (match := _TRANSLATED.fullmatch(key)) and match[1] == "label"]
    wished = wished.strip().lower()
    for name in named:
        if wished and (name == wished or name.partition(" (")[0] == wished):
            return name
    return "" if "label" in columns or not named else named[0]


def _range(item: Item, parameters: str) -> None:
    pairs = dict(re.findall(r"(start|end|step)\s{0,20}=\s{0,20}(-?\d+(?:\.\d+)?)", parameters))
    low, high, step = (number(pairs.get(key, n)) for key, n in (("start", 0), ("end", 10), ("step", 1)))
    if low in (0, 1) and high is not None and low < high <= 10 and step == 1 and high - (low or 0) < 11:
        item.kind, item.minimum, item.maximum = "opinion_scale", low, high
    else:
        item.kind, item.minimum, item.maximum = "open_numeric", low, high


def _sheets(data: bytes, found: Questionnaire) -> dict[str, list[tuple[int, Row]]]:
    """The rows of the sheets of a form by the names of their columns, each with its number."""
    wanted = ("survey", "choices", "settings")
    book = Workbook(data, LIMITS)
    sheets = {}
    for name in book.names:
        if name in wanted:
            rows = book.rows(name)
            _miss_beyond(found, rows, f"sheet {name}, ", book.ended.get(name))
            sheets[name] = list(_rows(rows))
    return sheets


def _lines(text: str, found: Questionnaire) -> list[tuple[int, list[str]]]:
    """The rows of a CSV up to the limits. Cells beyond these are reported as left out."""
    rows = list(tables.lines(text, most_rows=MAX_ROWS + 1, most_columns=MAX_COLUMNS + 1))
    last = rows[MAX_ROWS - 1][0] if len(rows) > MAX_ROWS else None
    _miss_beyond(found, rows[:MAX_ROWS], "", last)
    return [(n, cells[:MAX_COLUMNS]) for n, cells in rows[:MAX_ROWS]]


def _miss_beyond(
    found: Questionnaire, rows: Iterable[tuple[int, Sequence[object]]], where: str, last: int | None
) -> None:
    """Name the rows below the last one that was read, and the columns beyond the last one."""
    if last is not None:
        what = f"The rows below are left out: more than {MAX_ROWS:,}, or too many that are empty."
        found.miss(f"{where}row {last}", what)
    wide = next((n for n, cells in rows if len(cells) > MAX_COLUMNS), None)
    if wide is not None:
        found.miss(f"{where}row {wide}", f"The columns beyond the first {MAX_COLUMNS} are left out.")


def _rows(rows: Iterable[tuple[int, Sequence[object]]]) -> Iterator[tuple[int, Row]]:
    header: list[str] = []
    for n, cells in rows:
        texts = [word(cell) if not isinstance(cell, str) else cell.strip() for cell in cells[:MAX_COLUMNS]]
        if not header:
            header = [text.lower() for text in texts]
            continue
        yield n, {key: text for key, text in zip(header, texts, strict=False) if key and text}


# --- REDCap ------------------------------------------------------------------------------------------

_REDCAP = Expressions(REFERENCES["redcap"])
_REDCAP_FIELD = re.compile(r"\[([a-z][a-z0-9_]{0,100})\]")
_NONE_OF_THE_ABOVE = re.compile(r"@NONEOFTHEABOVE\s{0,20}=\s{0,20}[\"']?([\w,-]+)")
_CHECKED = re.compile(r"(\w+)\(([^()]+)\)")
_COLUMNS = {
    "variable": "name", "field name": "name", "section header": "section", "field type": "type",
    "field label": "label", "choices": "choices", "field note": "note", "text validation type": "validation",
    "text validation min": "min", "text validation max": "max", "branching logic": "logic",
    "required field": "required", "matrix group": "matrix", "field annotation": "annotation",
    "field_name": "name", "section_header": "section", "field_type": "type", "field_label": "label",
    "select_choices": "choices", "field_note": "note", "text_validation_type": "validation",
    "text_validation_min": "min", "text_validation_max": "max", "branching_logic": "logic",
    "required_field": "required", "matrix_group": "matrix", "field_annotation": "annotation",
}  # fmt: skip
_REDCAP_FORMATS = {"email": "email", "phone": "phone", "date": "date", "datetime": "line", "time": "line"}


def redcap(text: str) -> Questionnaire:
    """A data dictionary as CSV. Refuses a table without its columns."""
    found = Questionnaire()
    rows = _lines(text, found)
    header = [_redcap_column(cell) for cell in rows[0][1]] if rows else []
    if not {"name", "type", "label"} <= set(header):
        message = "must be a data dictionary of REDCap: a CSV with the columns `Variable / Field Name`, "
        unreadable(f"{message}`Field Type` and `Field Label`.")
    matrices: dict[str, str] = {}
    for n, cells in rows[1:]:
        # R writes `NA` into empty cells.
        named = zip(header, cells, strict=False)
        row = {key: cell for key, cell in named if key and cell not in ("", "NA")}
        _redcap_row(found, row, f"row {n}" + (f" ({row['name']})" if "name" in row else ""), matrices)
    return found


def _redcap_column(cell: str) -> str:
    title = cell.strip().strip('\ufeff"').lower()
    return next((key for start, key in _COLUMNS.items() if title.startswith(start)), "")


def _redcap_row(found: Questionnaire, row: Row, where: str, matrices: dict[str, str]) -> None:
    if found.skips():
        return
    name, matrix = row.get("name", "").strip(), row.get("matrix", "").strip()
    label = plain(_REDCAP_FIELD.sub(lambda match: pipe(match[1]), row.get("label", "")))
    item = Item(name, "open_text", label, where, name=name, description=plain(row.get("note", "")))
    item.required = is_yes(row.get("required", ""))
    section = plain(row.get("section", ""))
    if matrix:
        title = matrices.setdefault(matrix, line(section) or matrix.replace("_", " "))
        item.group = title
    if "@HIDDEN" in row.get("annotation", "").upper():
        found.miss(where, "A hidden field is left out.")
        return
    item.show = _redcap_logic(found, row.get("logic", ""), where)
    if section and not matrix:
        found.add(Item("", "content_block", section, where, show=item.show))
    if _redcap_typed(found, item, row):
        found.add(item)


def _redcap_typed(found: Questionnaire, item: Item, row: Row) -> bool:
    """Give the item its type; False if it becomes no block."""
    kind, choices = row.get("type", "").strip().lower(), row.get("choices", "")
    if kind in ("radio", "dropdown", "checkbox"):
        item.kind = "multi_punch" if kind == "checkbox" else "single_punch"
        item.is_menu = kind == "dropdown"
        item.options = list(_coded(choices))
        none = _NONE_OF_THE_ABOVE.search(row.get("annotation", ""))
        for choice in item.options:
            choice.is_exclusive = none is not None and choice.value in none[1].split(",")
    elif kind in ("yesno", "truefalse"):
        labels = ("Yes", "No") if kind == "yesno" else ("True", "False")
        item.kind, item.options = "single_punch", [Choice("1", labels[0]), Choice("0", labels[1])]
    elif kind == "descriptive":
        item.kind = "content_block"
    elif kind == "calc":
        return calculate(found, item, choices, by=_REDCAP, name="calculation")
    elif kind == "slider":
        item.kind, item.minimum = "open_numeric", number(row.get("min")) or 0
        item.maximum = number(row.get("max")) or 100
        words = " – ".join(label for each in choices.split("|") if (label := line(each)))
        reach = f"{item.minimum:g} to {item.maximum:g}"
        item.description = item.description or (f"{reach}: {words}" if words else reach)
        found.miss(item.where, "The slider became a question for a number.")
    elif kind in ("text", "notes"):
        _redcap_text(found, item, row.get("validation", "").strip().lower(), row)
    else:
        found.miss(item.where, f"The type “{cut(kind, 40)}” cannot be asked here: the question is left out.")
        return False
    return True


def _redcap_text(found: Questionnaire, item: Item, validation: str, row: Row) -> None:
    if validation.startswith(("integer", "number")):
        item.kind, item.whole = "open_numeric", validation == "integer"
        item.minimum, item.maximum = number(row.get("min")), number(row.get("max"))
    elif validation:
        item.format = _REDCAP_FORMATS.get(validation.partition("_")[0], "line")
        if item.format == "line" or row.get("min") or row.get("max"):
            found.miss(item.where, f"The validation “{cut(validation, 60)}” is not checked here as there.")
    elif row.get("type") == "text":
        item.format = "line"


def _coded(choices: str) -> Iterator[Choice]:
    """`1, Yes | 0, No`"""
    for part in choices.split("|", MAX_CHOICES)[:MAX_CHOICES]:
        code, comma, label = part.partition(",")
        if part.strip():
            yield Choice(code.strip(), line(label)) if comma else Choice(part.strip())


def _redcap_logic(found: Questionnaire, text: str, where: str) -> Logic | None:
    if not text.strip():
        return None

    def change(leaf: Compare | Answered) -> Logic:
        match = _CHECKED.fullmatch(leaf.key)
        if match is None:
            return leaf
        if not isinstance(leaf, Compare) or leaf.op not in ("eq", "ne") or str(leaf.value) not in ("0", "1"):
            raise UnsayableError("a checkbox is compared with something else than 0 and 1")
        chosen = Compare(match[1], "in", (match[2].strip(),))
        return chosen if (leaf.op == "eq") == (str(leaf.value) == "1") else negated(chosen)

    try:
        return compared_with_changes(_REDCAP.logic(text), change)
    except UnsayableError as error:
        found.miss(where, f"Branching logic “{cut(text, 200)}” cannot be said here: {error}.")
        return None


# --- CSV ---------------------------------------------------------------------------------------------

_TITLES = {
    "question": "text", "prompt": "text", "text": "text", "label": "text", "question text": "text",
    "type": "type", "question type": "type", "options": "options", "choices": "options", "answers": "options",
    "required": "required", "mandatory": "required", "description": "description", "help": "description",
    "hint": "description", "name": "name", "code": "name", "variable": "name", "id": "name", "min": "min",
    "max": "max",
}  # fmt: skip
_OPTION_COLUMN = re.compile(r"(?:option|choice|answer)[ _]?\d+")
# Words for the types of questions, also those of other systems.
TYPES = {
    "single_punch": "single choice|single|radio|radiogroup|choice|multiple choice|select one|select_one|"
    "yes/no|yes no|boolean|single_punch",
    "menu": "dropdown|menu|select|list",
    "multi_punch": "multiple|checkbox|checkboxes|multi|multi choice|multiple answers|select many|"
    "select multiple|select_multiple|multi_punch",
    "open_text": "text|open|open text|open_text|free text|long text|paragraph|comment|essay|textarea",
    "line": "line|short text|short answer",
    "open_numeric": "number|numeric|integer|decimal|open_numeric",
    "rating": "rating|stars|star rating",
    "opinion_scale": "scale|opinion scale|opinion_scale|linear scale|likert",
    "nps": "nps|net promoter score",
    "ranking": "ranking|rank|order",
    "content_block": "note|statement|info|information|heading|content|content_block",
    "email": "email|e-mail",
    "phone": "phone|telephone",
    "url": "url|link|website",
    "date": "date",
}
KIND_OF = {each: kind for kind, names in TYPES.items() for each in names.split("|")}


def questions(text: str) -> Questionnaire:
    """A table with a question in each row, with or without a header."""
    found = Questionnaire()
    rows = _lines(text, found)
    if not rows:
        unreadable("must be a CSV with a question in each row.")
    titles = [_title(cell) for cell in rows[0][1]]
    has_header = "text" in titles
    if not has_header:
        titles = ["text", *["option"] * MAX_COLUMNS]
    for n, cells in rows[1:] if has_header else rows:
        _csv_row(found, n, list(zip(titles, cells, strict=False)))
    if not found.items:
        unreadable("has no question.")
    unknown = [cell for cell, title in zip(rows[0][1], titles, strict=False) if not title and cell.strip()]
    if unknown:
        found.miss("row 1", f"These columns are not known: {cut(', '.join(unknown), 300)}.")
    return found


def _title(cell: str) -> str:
    title = cell.strip().strip("\ufeff").lower()
    return "option" if _OPTION_COLUMN.fullmatch(title) else _TITLES.get(title, "")


def _csv_row(found: Questionnaire, n: int, cells: list[tuple[str, str]]) -> None:
    row = {title: cell.strip() for title, cell in reversed(cells) if title and title != "option"}
    text = plain(row.get("text", ""))
    if not text or found.skips():
        return
    options = [cell.strip() for title, cell in cells if title == "option" and cell.strip()]
    options += [each for each in _SEPARATED.split(row.get("options", ""), MAX_CHOICES)[:MAX_CHOICES] if each]
    name = row.get("name", "")
    item = Item(name, "open_text", text, f"row {n}", name=name, description=plain(row.get("description", "")))
    item.required = is_yes(row.get("required", ""))
    item.options = [Choice(line(each)) for each in options]
    item.minimum, item.maximum = number(row.get("min")), number(row.get("max"))
    kind = row.get("type", "").lower()
    if kind and kind not in KIND_OF:
        found.miss(item.where, f"The type “{cut(kind, 40)}” is not known; it was guessed.")
    give_kind(item, KIND_OF.get(kind) or ("single_punch" if options else "open_text"))
    if item.kind == "single_punch" and not options and kind in ("boolean", "yes/no", "yes no"):
        item.options = [Choice("Yes"), Choice("No")]
    found.add(item)


def give_kind(item: Item, kind: str) -> None:
    """Give an item the type that a word of KIND_OF names."""
    if kind in ("name", "email", "phone", "url", "date", "line"):
        item.kind, item.format = "open_text", kind
    elif kind == "menu":
        item.kind, item.is_menu = "single_punch", True
    else:
        item.kind = kind
