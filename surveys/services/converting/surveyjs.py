"""Questionnaires of SurveyJS, as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from surveys.services.converting.formulas import REFERENCES, Expressions, calculate
from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    MAX_DEPTH,
    Choice,
    Item,
    Jump,
    Logic,
    Questionnaire,
    UnsayableError,
    both,
    cut,
    line,
    mapping,
    number,
    objects,
    pipe,
    plain,
    unreadable,
    word,
)

Json = dict[str, Any]
_EXPRESSIONS = Expressions(REFERENCES["surveyjs"])
_FIELD = re.compile(r"\{\s{0,20}([^{}]{1,200}?)\s{0,20}\}")
_FORMATS = {"email": "email", "url": "url", "tel": "phone", "date": "date", "text": "line"}
_NUMBERS = frozenset({"number", "range"})
_NO_BLOCK = frozenset(
    {"file", "signaturepad", "image", "matrixdropdown", "matrixdynamic", "paneldynamic", "empty"}
)
_ICONS = {"stars": "stars", "smileys": "numbers"}


def surveyjs(content: object) -> Questionnaire:
    """A survey of SurveyJS. Refuses an object without pages or elements."""
    survey = mapping(content)
    pages = objects(survey.get("pages"))
    elements = objects(survey.get("elements")) or objects(survey.get("questions"))
    if not pages and not elements:
        unreadable("must be a survey of SurveyJS: an object with `pages` or `elements`.")
    reader = _Reader(survey)
    for n, page in enumerate(pages or [{"elements": elements}]):
        reader.panel(page, page.get("name") or f"page {n + 1}", None, 0)
    reader.rest()
    return reader.found


class _Reader:
    def __init__(self, survey: Json) -> None:
        self.survey = survey
        self.found = Questionnaire()
        self.language = word(survey.get("locale")) or "default"
        self.others: set[str] = set()
        self.shuffles = survey.get("questionsOrder") == "random"
        title, description = self.text(survey.get("title")), self.text(survey.get("description"))
        if description:
            welcome = Item("", "content_block", title or description, "title", is_intro=True)
            welcome.description = description if title else ""
            self.found.add(welcome)
        if self.shuffles:
            self.found.miss("questionsOrder", "Questions keep their order here.")

    # --- Texts and logic

    def raw(self, value: object) -> object:
        """A text in the default language."""
        if not isinstance(value, dict):
            return value
        taken = self.language if self.language in value else "default"
        self.others |= {str(key)[:20] for key in value if key not in (taken, "default")}
        return value.get(taken) or next((each for each in value.values() if isinstance(each, str)), "")

    def text(self, value: object) -> str:
        return plain(_FIELD.sub(lambda match: pipe(match[1]), str(self.raw(value) or "")))

    def label(self, value: object) -> str:
        return line(self.raw(value) or "")

    def logic(self, text: object, where: str, key: str = "visibleIf") -> Logic | None:
        if not isinstance(text, str) or not text.strip():
            return None
        try:
            return _EXPRESSIONS.logic(text)
        except UnsayableError as error:
            self.found.miss(where, f"{key} “{cut(text, 200)}” cannot be said here: {error}.")
            return None

    # --- Elements

    def panel(self, panel: Json, where: str, shown: Logic | None, depth: int) -> None:
        """A page or a panel: its title, and its elements."""
        if depth > MAX_DEPTH:
            self.found.miss(where, "Panels are nested too deeply: this one is left out.")
            return
        if panel.get("visible") is False and not panel.get("visibleIf"):
            self.found.miss(where, "A hidden panel is left out.")
            return
        shown = self._both(shown, self.logic(panel.get("visibleIf"), where), where)
        title, description = self.text(panel.get("title")), self.text(panel.get("description"))
        if title or description:
            heading = Item("", "content_block", title or description, where, show=shown)
            heading.description = description if title else ""
            self.found.add(heading)
        for n, element in enumerate(objects(panel.get("elements")) or objects(panel.get("questions"))):
            place = f"{where}, {word(element.get('name')) or f'element {n + 1}'}"
            if element.get("type") == "panel":
                self.panel(element, place, shown, depth + 1)
            else:
                self._element(element, place, shown)

    def _both(self, one: Logic | None, other: Logic | None, where: str) -> Logic | None:
        try:
            return both(one, other)
        except UnsayableError as error:
            self.found.miss(where, f"visibleIf cannot be said here: {error}.")
            return one

    def _element(self, element: Json, where: str, shown: Logic | None) -> None:
        if self.found.skips():
            return
        kind, name = word(element.get("type")) or "text", word(element.get("name"))
        if element.get("visible") is False and not element.get("visibleIf"):
            self.found.miss(where, "A hidden question is left out.")
            return
        if kind in _NO_BLOCK:
            self.found.miss(where, f"The type “{kind}” cannot be asked here: the question is left out.")
            return
        item = Item(name, "open_text", self.text(element.get("title")) or name, where, name=name)
        item.description = self.text(element.get("description"))
        item.required = element.get("isRequired") is True
        item.show = self._both(shown, self.logic(element.get("visibleIf"), where), where)
        for key in (
            "requiredIf",
            "enableIf",
            "choicesVisibleIf",
            "defaultValue",
            "setValueIf",
        ):
            if element.get(key) not in (None, "", []):
                self.found.miss(where, f"{key} “{cut(str(element[key]), 150)}” is not taken over.")
        right = element.get("correctAnswer")
        if right not in (None, "", []):
            item.right = tuple(map(word, right if isinstance(right, list) else [right]))
        if kind in ("matrix", "multipletext"):
            if item.right:
                self.found.miss(where, f"correctAnswer “{cut(str(right), 150)}” is not taken over.")
            for each in self._rows(element, kind, item):
                self.found.add(each)
        elif self._typed(item, kind, element):
            self.found.add(item)

    def _typed(self, item: Item, kind: str, element: Json) -> bool:
        """Give the item its type; False if it becomes no block."""
        if kind in ("radiogroup", "dropdown", "checkbox", "tagbox", "imagepicker", "ranking", "buttongroup"):
            self._choice(item, kind, element)
        elif kind == "boolean":
            labels = (
                self.label(element.get("labelTrue")) or "Yes",
                self.label(element.get("labelFalse")) or "No",
            )
            values = (word(element.get("valueTrue", True)), word(element.get("valueFalse", False)))
            item.kind = "single_punch"
            item.options = [Choice(value, label) for value, label in zip(values, labels, strict=True)]
        elif kind == "rating":
            self._rating(item, element)
        elif kind == "slider":
            item.kind = "open_numeric"
            item.minimum, item.maximum = number(element.get("min", 0)), number(element.get("max", 100))
            self.found.miss(item.where, "The slider became a question for a number.")
        elif kind == "html":
            item.kind, item.text = "content_block", self.text(element.get("html"))
        elif kind == "expression":
            return self._calculated(item, element.get("expression"))
        elif kind == "text":
            self._text(item, element)
        elif kind != "comment":
            self.found.miss(item.where, f"The type “{cut(kind, 40)}” is not known; it became one for a text.")
        return True

    def _choice(self, item: Item, kind: str, element: Json) -> None:
        many = kind in ("checkbox", "tagbox") or (
            kind == "imagepicker" and element.get("multiSelect") is True
        )
        item.kind = "ranking" if kind == "ranking" else "multi_punch" if many else "single_punch"
        item.is_menu = kind == "dropdown"
        item.shuffled = element.get("choicesOrder") == "random"
        item.options = list(self._choices(element.get("choices"), item))
        if item.options and kind == "imagepicker":
            self.found.miss(item.where, "The pictures of the options are not taken over.")
        if element.get("choicesByUrl"):
            self.found.miss(item.where, "Options are loaded from an address, which is not done here.")
        if element.get("showOtherItem") or element.get("hasOther"):
            item.options.append(
                Choice("other", self.label(element.get("otherText")) or "Other", is_other=True)
            )
        if element.get("showNoneItem") or element.get("hasNone"):
            label = self.label(element.get("noneText")) or "None"
            item.options.append(Choice("none", label, is_exclusive=True, is_last=True))
        if many:
            item.minimum = number(element.get("minSelectedChoices")) or None
            item.maximum = number(element.get("maxSelectedChoices")) or None

    def _choices(self, choices: object, item: Item) -> Iterator[Choice]:
        for each in choices[:MAX_CHOICES] if isinstance(choices, list) else ():
            if not isinstance(each, dict):
                value, label = _parts(each)
                yield Choice(value, self.label(label))
                continue
            if each.get("visibleIf") or each.get("enableIf"):
                self.found.miss(
                    item.where, f"The condition of option “{word(each.get('value'))}” is left out."
                )
            value = word(each.get("value"))
            yield Choice(value or self.label(each.get("text")), self.label(each.get("text")))

    def _rating(self, item: Item, element: Json) -> None:
        values = list(self._choices(element.get("rateValues"), item))
        low, high = number(element.get("rateMin", 1)), number(element.get("rateMax", 5))
        if element.get("rateCount") and "rateMax" not in element:
            high = (low or 0) + (number(element["rateCount"]) or 5) - 1
        points = [number(each.value) for each in values]
        if values and points == list(range(int(points[0] or 0), int(points[0] or 0) + len(points))):
            low, high = points[0], points[-1]
            item.point_labels = {int(float(each.value)): each.label for each in values if each.label}
            values = []
        step = number(element.get("rateStep", 1))
        if values or low not in (0, 1) or high is None or not 1 <= high - (low or 0) <= 10 or step != 1:
            item.kind = "single_punch"
            numbers = range(int(low or 0), int(min(high or 5, (low or 0) + 99)) + 1, max(1, int(step or 1)))
            item.options = values or [Choice(str(n)) for n in numbers]
            return
        item.kind = "rating" if low == 1 and high <= 10 else "opinion_scale"
        item.minimum, item.maximum = low, high
        item.icon = _ICONS.get(word(element.get("rateType") or element.get("rateDisplayMode")), "numbers")
        left, right = element.get("minRateDescription"), element.get("maxRateDescription")
        item.labels = (self.label(left), "", self.label(right))

    def _text(self, item: Item, element: Json) -> None:
        kind = word(element.get("inputType")) or "text"
        validators = objects(element.get("validators"))
        numeric = next((each for each in validators if each.get("type") == "numeric"), None)
        if kind in _NUMBERS or numeric is not None:
            item.kind = "open_numeric"
            source = numeric or {}
            item.minimum = number(element.get("min", source.get("minValue")))
            item.maximum = number(element.get("max", source.get("maxValue")))
        elif any(each.get("type") == "email" for each in validators):
            item.format = "email"
        else:
            item.format = _FORMATS.get(kind, "line")
            if kind not in _FORMATS:
                self.found.miss(item.where, f"The input “{cut(kind, 40)}” is not checked here.")
        for each in validators:
            if each.get("type") not in ("numeric", "email"):
                self.found.miss(item.where, f"The validator “{word(each.get('type'))}” is not taken over.")

    def _calculated(self, item: Item, expression: object) -> bool:
        text = expression if isinstance(expression, str) else ""
        return calculate(self.found, item, text, by=_EXPRESSIONS, name="expression")

    def _rows(self, element: Json, kind: str, item: Item) -> Iterator[Item]:
        """A question for each row of a matrix, and for each text of several."""
        columns = list(self._choices(element.get("columns"), item))
        if kind == "multipletext":
            rows = [
                (each, word(each.get("name")), each.get("title")) for each in objects(element.get("items"))
            ]
        else:
            sent = element.get("rows")
            rows = [
                ({}, word(row.get("value")), row.get("text")) if isinstance(row, dict) else ({}, *_parts(row))
                for row in (sent[:MAX_CHOICES] if isinstance(sent, list) else ())
            ]
        if not rows:
            self.found.miss(item.where, "The table has no rows and is left out.")
        if item.description and rows:
            yield Item(
                "", "content_block", item.text, item.where, description=item.description, show=item.show
            )
        for source, name, title in rows:
            row = Item(f"{item.key}.{name}", "open_text", self.text(title) or name, f"{item.where}, {name}")
            row.show, row.name = item.show, f"{item.key}_{name}"
            row.required = (
                element.get("isAllRowRequired") is True or item.required or bool(source.get("isRequired"))
            )
            if kind == "multipletext":
                row.description = item.text
                self._text(row, source)
            else:
                many = element.get("cellType") == "checkbox"
                row.kind, row.options, row.group = (
                    ("multi_punch" if many else "single_punch"),
                    columns,
                    item.text,
                )
            yield row

    # --- Parts outside of pages

    def rest(self) -> None:
        """Calculated values, triggers, the end, and what is left out."""
        for n, each in enumerate(objects(self.survey.get("calculatedValues"))):
            name = word(each.get("name"))
            item = Item(name, "calculated_block", "", f"calculatedValues, {name or n + 1}", name=name)
            if self._calculated(item, each.get("expression")):
                self.found.add(item)
        end = self.text(self.survey.get("completedHtml"))
        for n, each in enumerate(objects(self.survey.get("triggers"))):
            self._trigger(each, f"triggers, {n + 1}", bool(end))
        if end:
            self.found.add(Item("$end", "content_block", end, "completedHtml"))
        if self.others:
            names = ", ".join(sorted(self.others))
            self.found.miss("locale", f"Only the texts in one language are taken, not {cut(names, 200)}.")
        for key in ("completedHtmlOnCondition", "navigateToUrl", "quizMode", "maxTimeToFinish"):
            if self.survey.get(key):
                self.found.miss(key, "Is not taken over.")

    def _trigger(self, trigger: Json, where: str, has_end: bool) -> None:
        kind, source = word(trigger.get("type")), word(trigger.get("expression"))
        if kind not in ("complete", "skip") or not source:
            self.found.miss(where, f"The trigger “{kind}” is not taken over.")
            return
        when = self.logic(source, where, "expression")
        mentioned = set(_FIELD.findall(source))
        self.found.spend(len(self.found.items))
        last = next((item for item in reversed(self.found.items) if item.key in mentioned), None)
        if when and last:
            target = word(trigger.get("gotoName")) if kind == "skip" else "$end" if has_end else None
            self.found.jump(last, Jump(when, target, source))


def _parts(text: object) -> tuple[str, str]:
    """The value and the label of an option or row that is written as one text: `vw|Volkswagen`, or `vw`."""
    value, _, label = word(text).partition("|")
    return value, label
