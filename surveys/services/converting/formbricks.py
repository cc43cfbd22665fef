"""Surveys of Formbricks, as its interface and its exports write them."""

from __future__ import annotations

import re
from typing import Any

from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    MAX_DEPTH,
    Answered,
    Choice,
    Compare,
    Item,
    Jump,
    Logic,
    Questionnaire,
    UnsayableError,
    cut,
    line,
    mapping,
    negated,
    number,
    objects,
    pipe,
    plain,
    together,
    unreadable,
    word,
)

Json = dict[str, Any]
_RECALL = re.compile(r"#recall:([^#/\s]{1,100})/fallback:([^#]{0,200})#")
_INPUTS = {"email": "email", "url": "url", "phone": "phone", "text": None}
_NO_BLOCK = frozenset({"fileUpload", "cal"})
_COMPARISONS = {
    "equals": "eq", "doesNotEqual": "ne", "isGreaterThan": "gt", "isLessThan": "lt", "isAfter": "gt",
    "isGreaterThanOrEqual": "gte", "isLessThanOrEqual": "lte", "isBefore": "lt",
    "notEquals": "ne", "greaterThan": "gt", "lessThan": "lt", "greaterEqual": "gte", "lessEqual": "lte",
}  # fmt: skip
_ANSWERED = frozenset({"isSubmitted", "isSet", "isNotEmpty", "submitted", "isClicked", "clicked", "isBooked"})
_SKIPPED = frozenset({"isSkipped", "isNotSet", "isEmpty", "skipped", "isNotClicked"})
_FIELDS_OF_PEOPLE = {
    "addressLine1": "line", "addressLine2": "line", "city": "line", "state": "line", "zip": "line",
    "country": "line", "firstName": "name", "lastName": "name", "email": "email", "phone": "phone",
    "company": "line",
}  # fmt: skip


def formbricks(content: object) -> Questionnaire:
    """A survey. Refuses an object without questions or blocks."""
    survey = mapping(content)
    survey = mapping(survey.get("data")) or survey
    steps = _steps(survey)
    if not steps:
        unreadable("must be a survey of Formbricks: an object with `questions` or `blocks`.")
    reader = _Reader(survey)
    reader.welcome()
    for step, is_block in steps:
        reader.step(step, is_block)
    reader.ends()
    for item, rules, fallback, where in reader.rules:
        reader.logic(item, rules, fallback, where)
    reader.rest()
    return reader.found


def _steps(survey: Json) -> list[tuple[Json, bool]]:
    """The questions, or the blocks of them in newer versions."""
    blocks = [each for each in objects(survey.get("blocks")) if objects(each.get("elements"))]
    if blocks:
        return [(each, True) for each in blocks]
    return [(each, False) for each in objects(survey.get("questions")) if isinstance(each.get("type"), str)]


class _Reader:
    def __init__(self, survey: Json) -> None:
        self.survey = survey
        self.found = Questionnaire()
        self.by_key: dict[str, Item] = {}
        self.first: dict[str, str] = {}  # id of a block → key of its first item
        self.rules: list[tuple[Item, object, object, str]] = []
        self.others: set[str] = set()

    def raw(self, value: object) -> str:
        """A text in the default language."""
        if isinstance(value, dict):
            self.others |= {str(key)[:20] for key in value if key != "default"}
            value = value.get("default")
        return value if isinstance(value, str) else ""

    def text(self, value: object) -> str:
        return plain(_RECALL.sub(lambda match: pipe(f"{match[1]}|{match[2]}"), self.raw(value)))

    def label(self, value: object) -> str:
        return line(_RECALL.sub(r"\2", self.raw(value)))

    def welcome(self) -> None:
        card = mapping(self.survey.get("welcomeCard"))
        if card.get("enabled") is True:
            item = Item("", "content_block", self.text(card.get("headline")), "welcomeCard", is_intro=True)
            item.description = self.text(card.get("html") or card.get("subheader"))
            item.button = self.label(card.get("buttonLabel"))
            self.found.add(item)

    def step(self, step: Json, is_block: bool) -> None:
        """A question, or a block of several."""
        before = len(self.found.items)
        for each in objects(step.get("elements")) if is_block else [step]:
            self._question(each)
        own = self.found.items[before:]
        key = word(step.get("id"))
        if not own:
            return
        own[0].key = own[0].key or f"{key}/first"
        self.first[key] = own[0].key
        where = f"{'blocks' if is_block else 'questions'}, {key}"
        self.rules.append((own[-1], step.get("logic"), step.get("logicFallback"), where))

    def _question(self, question: Json) -> None:
        if self.found.skips():
            return
        key, kind = word(question.get("id")), word(question.get("type"))
        where = f"questions, {key}"
        if kind in _NO_BLOCK:
            self.found.miss(where, f"The type “{kind}” cannot be asked here: the question is left out.")
            return
        item = Item(key, "open_text", self.text(question.get("headline")), where)
        item.description = self.text(question.get("subheader") or question.get("html"))
        item.required = question.get("required") is True
        if kind in ("matrix", "address", "contactInfo"):
            self._several(question, kind, item)
            return
        self._typed(item, kind, question)
        self.by_key[key] = self.found.add(item)

    def _typed(self, item: Item, kind: str, question: Json) -> None:
        if kind in ("multipleChoiceSingle", "multipleChoiceMulti", "ranking", "pictureSelection"):
            many = kind == "multipleChoiceMulti" or question.get("allowMulti") is True
            item.kind = "ranking" if kind == "ranking" else "multi_punch" if many else "single_punch"
            item.shuffled = word(question.get("shuffleOption")) in ("all", "exceptLast")
            for n, each in enumerate(objects(question.get("choices"))[:MAX_CHOICES]):
                key = word(each.get("id"))
                label = self.label(each.get("label")) or f"Picture {n + 1}"
                item.options.append(
                    Choice(label, key=key, is_other=key == "other", is_exclusive=key == "none")
                )
            if item.options and question.get("shuffleOption") == "exceptLast":
                item.options[-1].is_last = True
            if kind == "pictureSelection":
                self.found.miss(item.where, "The pictures of the options are not taken over.")
        elif kind == "openText":
            inputs = word(question.get("inputType")) or "text"
            item.kind = "open_numeric" if inputs == "number" else "open_text"
            item.format = _INPUTS.get(inputs)
            if inputs == "text" and question.get("longAnswer") is False:
                item.format = "line"
        elif kind in ("nps", "rating"):
            item.kind, item.minimum = kind, 1 if kind == "rating" else None
            item.maximum = min(max(number(question.get("range")) or 5, 2), 10) if kind == "rating" else None
            item.icon = "stars" if question.get("scale") == "star" else "numbers"
            item.labels = (self.label(question.get("lowerLabel")), "", self.label(question.get("upperLabel")))
        elif kind == "consent":
            label = self.label(question.get("label")) or "I agree"
            item.kind, item.options = "single_punch", [Choice(label, key="accepted")]
        elif kind == "cta":
            item.kind, item.button = "content_block", self.label(question.get("buttonLabel"))
            if question.get("buttonUrl"):
                self.found.miss(item.where, f"Its button leads to {cut(str(question['buttonUrl']), 150)}.")
        elif kind == "date":
            item.format = "date"
        else:
            self.found.miss(item.where, f"The type “{cut(kind, 40)}” is not known; it became one for a text.")

    def _several(self, question: Json, kind: str, item: Item) -> None:
        """The rows of a matrix, or the fields of an address, as questions of their own."""
        if kind == "matrix":
            columns = [
                Choice(self._cell(each), key=self._cell_key(each)) for each in _cells(question, "columns")
            ]
            for n, cell in enumerate(_cells(question, "rows")):
                row = Item(
                    f"{item.key}.{self._cell_key(cell) or n}", "single_punch", self._cell(cell), item.where
                )
                row.options, row.group, row.required = columns, item.text, item.required
                row.description = "" if n else item.description
                self.by_key.setdefault(item.key, self.found.add(row))
            return
        for name, format_ in _FIELDS_OF_PEOPLE.items():
            field = mapping(question.get(name))
            if field.get("show") is True:
                row = Item(
                    f"{item.key}.{name}",
                    "open_text",
                    self.label(field.get("placeholder")) or name,
                    item.where,
                )
                row.format, row.required, row.description = format_, field.get("required") is True, item.text
                self.by_key.setdefault(item.key, self.found.add(row))

    def _cell(self, cell: Json) -> str:
        return self.label(cell.get("label") if "label" in cell else cell)

    def _cell_key(self, cell: Json) -> str:
        return word(cell.get("id")) if "label" in cell else ""

    def ends(self) -> None:
        card = mapping(self.survey.get("thankYouCard"))
        ends = objects(self.survey.get("endings")) or ([card] if card.get("enabled") is True else [])
        for each in ends:
            key = word(each.get("id")) or "$end"
            where = f"endings, {key}"
            if each.get("type") == "redirectToUrl":
                self.found.miss(
                    where, f"It leads to {cut(str(each.get('url')), 150)}: see the setting `end`."
                )
                text, description = self.text(each.get("label")) or "Thank you!", ""
            else:
                text, description = self.text(each.get("headline")), self.text(each.get("subheader"))
            item = Item(key, "content_block", text or "Thank you!", where, description=description)
            item.jumps = [Jump(None, None)]  # each end is the last that somebody sees
            self.found.add(item)

    # --- Logic

    def logic(self, item: Item, rules: object, fallback: object, where: str) -> None:
        for n, rule in enumerate(objects(rules), start=1):
            place = f"{where}, logic {n}"
            is_new = isinstance(rule.get("conditions"), dict)
            actions = (
                objects(rule.get("actions"))
                if is_new
                else [{"objective": "jump", "target": rule.get("destination")}]
            )
            for action in actions:
                objective, target = word(action.get("objective")), word(action.get("target"))
                if not objective.startswith("jump"):
                    self.found.miss(place, f"The action “{cut(objective, 40)}” is not taken over.")
                    continue
                try:
                    when = self._all(rule["conditions"], 0) if is_new else self._old(rule, item)
                except UnsayableError as error:
                    self.found.miss(place, f"The jump to {cut(target, 60)} cannot be said here: {error}.")
                    continue
                self.found.jump(item, Jump(when, self._target(target), f"jump to {target}"))
        if fallback:
            self.found.jump(item, Jump(None, self._target(word(fallback)), f"jump to {word(fallback)}"))

    def _target(self, target: str) -> str | None:
        return None if target == "end" else self.first.get(target, target)

    def _old(self, rule: Json, item: Item) -> Logic:
        value = rule.get("value")
        return self._compared(word(rule.get("condition")), item.key, value)

    def _all(self, group: Json, depth: int) -> Logic:
        if depth > MAX_DEPTH:
            raise UnsayableError("it is nested too deeply")
        parts: list[Logic] = []
        for each in objects(group.get("conditions")):
            if isinstance(each.get("conditions"), list):
                parts.append(self._all(each, depth + 1))
                continue
            left, right = mapping(each.get("leftOperand")), mapping(each.get("rightOperand"))
            if left.get("type") not in ("question", "element"):
                raise UnsayableError(f"it asks about a {cut(word(left.get('type')), 40) or 'thing'}")
            if right and right.get("type") != "static":
                raise UnsayableError("it compares with another answer")
            parts.append(
                self._compared(word(each.get("operator")), word(left.get("value")), right.get("value"))
            )
        if not parts:
            raise UnsayableError("it has no conditions")
        return together("any" if group.get("connector") == "or" else "all", parts)

    def _compared(self, op: str, key: str, value: object) -> Logic:
        item = self.by_key.get(key)
        if item is None:
            raise UnsayableError(f"“{cut(key, 60)}” is no question here")
        key = item.key
        values = tuple(word(each) for each in (value if isinstance(value, list) else [value]))
        if op in _ANSWERED | _SKIPPED:
            return Answered(key) if op in _ANSWERED else negated(Answered(key))
        if op in ("isAccepted", "accepted"):
            return Compare(key, "eq", "accepted")
        if op in ("equalsOneOf", "includesOneOf", "includesOne"):
            return Compare(key, "in", values)
        if op in ("includesAllOf", "includesAll"):
            return together("all", [Compare(key, "in", (each,)) for each in values])
        if op == "doesNotIncludeOneOf":  # at least one of them is missing
            return together("any", [negated(Compare(key, "in", (each,))) for each in values])
        if op == "doesNotIncludeAllOf":
            return negated(Compare(key, "in", values))
        if op not in _COMPARISONS:
            raise UnsayableError(f"“{cut(op, 40)}” has no equivalent")
        return Compare(key, _COMPARISONS[op], values[0])

    def rest(self) -> None:
        """Report the parts outside of the questions that are not taken over."""
        if self.others:
            names = ", ".join(sorted(self.others))
            self.found.miss(
                "languages", f"Only the texts in the default language are taken, not {cut(names, 200)}."
            )
        hidden = mapping(self.survey.get("hiddenFields")).get("fieldIds")
        if isinstance(hidden, list) and hidden:
            self.found.miss(
                "hiddenFields", f"{cut(', '.join(map(str, hidden)), 200)}: see the setting `hidden_fields`."
            )
        for each in objects(self.survey.get("variables")):
            self.found.miss(
                "variables", f"The variable “{cut(word(each.get('name')), 60)}” is not taken over."
            )


def _cells(question: Json, key: str) -> list[Json]:
    return objects(question.get(key))[:MAX_CHOICES]
