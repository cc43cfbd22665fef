"""Surveys of Qualtrics (`.qsf`), as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from surveys.services.converting.questionnaire import (
    MAX_CHOICES,
    MAX_COMPARISONS,
    MAX_DEPTH,
    Answered,
    Choice,
    Compare,
    Item,
    Jump,
    Logic,
    Questionnaire,
    UnsayableError,
    both,
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
_PIPED = re.compile(r"\$\{q://(QID\d+(?:#\d+)?)/[^{}]{1,120}\}")
_OTHER_PIPE = re.compile(r"\$\{(?:e|m|rand|date|lm|gr|loc)://[^{}]{1,160}\}")
_LOCATOR = re.compile(r"q://(QID\d+)/(\w+)/?([^/\s]{0,40})")
_COMPARISONS = {
    "EqualTo": "eq", "NotEqualTo": "ne", "GreaterThan": "gt", "GreaterThanOrEqual": "gte", "LessThan": "lt",
    "LessThanOrEqual": "lte", "GreaterThanOrEqualTo": "gte", "LessThanOrEqualTo": "lte",
}  # fmt: skip
_NO_BLOCK = {
    "Timing": "A timer", "Meta": "Facts about the browser", "Captcha": "A captcha", "FileUpload": "A file",
    "HotSpot": "A hot spot", "HeatMap": "A heat map", "HL": "Text to highlight", "Draw": "A signature",
    "PGR": "Sorting into groups", "SBS": "Tables side by side", "DD": "A drill down",
    "Signature": "A signature", "GAP": "A gap analysis",
}  # fmt: skip
_FORMATS = {"ValidEmail": "email", "ValidPhone": "phone", "ValidURL": "url", "ValidDate": "date"}


def qualtrics(content: object) -> Questionnaire:
    """A survey. Refuses an object without survey elements."""
    elements = objects(mapping(content).get("SurveyElements"))
    survey = _Survey(elements)
    if not survey.questions:
        unreadable("must be a survey of Qualtrics (.qsf): an object with `SurveyElements` and questions.")
    survey.read()
    return survey.found


class _Survey:
    def __init__(self, elements: list[Json]) -> None:
        self.found = Questionnaire()
        self.questions: dict[str, Json] = {}
        self.blocks: dict[str, Json] = {}
        self.flow: list[Json] = []
        self.by_key: dict[str, Item] = {}
        self.ended: list[Logic] = []  # conditions of branches that ended the survey
        self.asked: set[str] = set()
        self.ends: dict[str, int] = {}  # of blocks: how many items there are up to its end
        for element in elements:
            kind, payload = element.get("Element"), element.get("Payload")
            if kind == "SQ" and isinstance(payload, dict):
                self.questions[word(element.get("PrimaryAttribute")) or word(payload.get("QuestionID"))] = (
                    payload
                )
            elif kind == "BL":
                every = payload.values() if isinstance(payload, dict) else payload
                for block in objects(list(every)) if isinstance(every, list | type({}.values())) else ():
                    self.blocks[word(block.get("ID"))] = block
            elif kind == "FL":
                self.flow = objects(mapping(payload).get("Flow"))
            elif kind == "QO":
                self.found.miss("quotas", "Quotas are not taken over: see the setting `quotas`.")

    def read(self) -> None:
        if self.flow:
            self._walk(self.flow, None, 0)
        elif self.blocks:
            for block in self.blocks.values():
                self._block(block, None)
        else:
            for key in self.questions:
                self._question(key, None)
        items = self.found.items
        for jump in [jump for item in items for jump in item.jumps]:
            end = self.ends.get(jump.target or "")
            if end is not None:
                jump.target = items[end].key if end < len(items) else None

    # --- Flow

    def _walk(self, flow: list[Json], shown: Logic | None, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.found.miss("flow", "Branches are nested too deeply: what is in them is left out.")
            return
        for step in flow:
            kind = word(step.get("Type"))
            where = f"flow, {word(step.get('FlowID')) or kind}"
            inner = objects(step.get("Flow"))
            if kind in ("Block", "Standard", "Root"):
                block = self.blocks.pop(word(step.get("ID")), None)  # it is asked once
                if block:
                    self._block(block, shown)
                self._walk(inner, shown, depth + 1)
            elif kind == "Branch":
                try:
                    own = both(shown, self.logic(mapping(step.get("BranchLogic"))))
                except UnsayableError as error:
                    self.found.miss(where, f"The branch cannot be said here: {error}. It is always taken.")
                    own = shown
                    inner = [each for each in inner if each.get("Type") != "EndSurvey"]
                self._walk(inner, own, depth + 1)
            elif kind == "EndSurvey":
                self._end(shown, where)
            elif kind in ("Group", "BlockRandomizer", "Randomizer"):
                if kind != "Group":
                    self.found.miss(where, "Blocks keep their order here, and all are asked.")
                self._walk(inner, shown, depth + 1)
            else:
                self.found.miss(where, f"The element “{cut(kind, 40)}” of the flow is not taken over.")

    def _end(self, shown: Logic | None, where: str) -> None:
        if shown is None:
            return
        if len(self.ended) <= MAX_COMPARISONS:  # the conditions of one more cannot be said
            self.ended.append(shown)
        self.found.miss(where, "An end in a branch hides what follows; its own message is not taken over.")

    def _block(self, block: Json, shown: Logic | None) -> None:
        if block.get("Type") == "Trash":
            return
        name = line(block.get("Description"))
        options = mapping(block.get("Options"))
        if options.get("RandomizeQuestions") not in (None, "", "false", False):
            self.found.miss(f"block {name}", "Questions keep their order here.")
        if options.get("Looping") not in (None, "", "None", False):
            self.found.miss(f"block {name}", "The questions of a loop are asked once.")
        for element in objects(block.get("BlockElements")):
            if element.get("Type") == "Question":
                self._question(word(element.get("QuestionID")), shown)
                self._skips(element, block)
        self.ends[f"end of {word(block.get('ID'))}"] = len(self.found.items)

    def _skips(self, element: Json, block: Json) -> None:
        key = word(element.get("QuestionID"))
        item = self.by_key.get(key)
        rules = element.get("SkipLogic")
        for rule in objects(rules) or objects(list(mapping(rules).values())):
            to = word(rule.get("SkipToDestination"))
            where = f"{key}, skip to {to}"
            try:
                when = self._comparison({**rule, "Operator": rule.get("Condition"), "LogicType": "Question"})
            except UnsayableError as error:
                self.found.miss(where, f"It cannot be said here: {error}.")
                continue
            if item is None:
                continue
            if to == "ENDOFBLOCK":
                target: str | None = f"end of {word(block.get('ID'))}"
            else:
                target = None if to == "ENDOFSURVEY" else to
            self.found.jump(item, Jump(when, target, f"skip to {to}"))

    # --- Logic

    def logic(self, logic: Json) -> Logic | None:
        """Groups of comparisons, each joined to those before it. Raises UnsayableError."""
        whole: Logic | None = None
        for _, group in _numbered(logic):
            inner: Logic | None = None
            for _, each in _numbered(group):
                part = self._comparison(each)
                joined = word(each.get("Conjuction") or each.get("Conjunction")).lower()
                inner = part if inner is None else together("any" if joined == "or" else "all", [inner, part])
            if inner is not None:
                is_or = word(group.get("Type")).lower().startswith("or")
                whole = inner if whole is None else together("any" if is_or else "all", [whole, inner])
        return whole

    def _comparison(self, rule: Json) -> Logic:
        if rule.get("LogicType") != "Question":
            raise UnsayableError(f"it asks about “{cut(word(rule.get('LogicType')), 40)}”")
        op = word(rule.get("Operator"))
        locator = word(rule.get("ChoiceLocator")) or word(rule.get("LeftOperand"))
        match = _LOCATOR.search(locator)
        if match is None:
            raise UnsayableError(f"“{cut(locator, 60)}” is not understood")
        key, kind, choice = match.groups()
        question = self.questions.get(key, {})
        if question.get("QuestionType") in ("Matrix", "Slider"):
            rest = locator.split("/")
            key, choice = f"{key}.{choice}", rest[-1] if len(rest) > 5 else choice
        if op in ("Selected", "NotSelected"):
            chosen = Compare(key, "in", (choice,))
            return chosen if op == "Selected" else negated(chosen)
        if op in ("Displayed", "NotDisplayed"):
            raise UnsayableError("it asks whether a question is displayed")
        if op in ("Empty", "NotEmpty"):
            return Answered(key) if op == "NotEmpty" else negated(Answered(key))
        if op not in _COMPARISONS or kind == "SelectedChoicesCount":
            raise UnsayableError(f"“{cut(op, 40)}” has no equivalent")
        return Compare(key, _COMPARISONS[op], word(rule.get("RightOperand")))

    # --- Questions

    def text(self, value: object) -> str:
        raw = value if isinstance(value, str) else ""
        raw = _PIPED.sub(lambda match: pipe(match[1].replace("#", ".")), raw)
        return plain(_OTHER_PIPE.sub("…", raw))

    def _question(self, key: str, shown: Logic | None) -> None:
        question = self.questions.get(key)
        if question is None or key in self.asked or self.found.skips():
            return
        self.asked.add(key)
        tag = word(question.get("DataExportTag"))
        where = f"{key}" + (f" ({tag})" if tag else "")
        kind = word(question.get("QuestionType"))
        if kind in _NO_BLOCK:
            self.found.miss(where, f"{_NO_BLOCK[kind]} cannot be asked here: the question is left out.")
            return
        item = Item(key, "open_text", self.text(question.get("QuestionText")), where, name=tag)
        settings = mapping(mapping(question.get("Validation")).get("Settings"))
        item.required = settings.get("ForceResponse") == "ON"
        try:
            own = both(shown, self.logic(mapping(question.get("DisplayLogic"))))
        except UnsayableError as error:
            self.found.miss(where, f"Its display logic cannot be said here: {error}.")
            own = shown
        self.found.spend(len(self.ended))
        try:
            item.show = (
                together("all", [*([own] if own else []), *map(negated, self.ended)]) if self.ended else own
            )
        except UnsayableError as error:
            self.found.miss(where, f"The ends before it cannot be said here: {error}.")
            item.show = own
        languages = sorted(map(str, mapping(question.get("Language"))))
        if languages and not any(each["where"] == "languages" for each in self.found.unmet):
            self.found.miss(
                "languages", f"Only the texts in the default language are taken, not {languages[0][:20]} …"
            )
        self._typed(item, kind, question, settings)

    def _typed(self, item: Item, kind: str, question: Json, settings: Json) -> None:
        selector = word(question.get("Selector"))
        if question.get("Randomization") and mapping(question["Randomization"]).get("Type") not in (
            None,
            "None",
        ):
            item.shuffled = True
        if kind == "MC" and selector != "NPS":
            item.kind = "multi_punch" if selector.startswith("M") else "single_punch"
            item.is_menu = selector in ("DL", "SB")
            item.options = list(self._choices(question, "Choices", "ChoiceOrder"))
            if item.kind == "multi_punch" and settings.get("Type") in (
                "ChoiceRange",
                "MinChoices",
                "MaxChoices",
            ):
                item.minimum, item.maximum = (
                    number(settings.get("MinChoices")),
                    number(settings.get("MaxChoices")),
                )
        elif kind in ("MC", "NPS"):
            item.kind = "nps"
        elif kind == "TE":
            if selector == "FORM":
                self._form(item, question)
                return
            self._text(item, selector, settings)
        elif kind in ("Matrix", "Slider", "CS"):
            self._rows(item, kind, selector, question)
            return
        elif kind == "RO":
            item.kind, item.options = "ranking", list(self._choices(question, "Choices", "ChoiceOrder"))
        elif kind == "DB":
            item.kind = "content_block"
            if selector != "TB":
                self.found.miss(item.where, "Its picture is not taken over.")
        else:
            self.found.miss(item.where, f"The type “{cut(kind, 40)}” is not known; it became one for a text.")
        self.by_key[item.key] = self.found.add(item)

    def _text(self, item: Item, selector: str, settings: Json) -> None:
        content = word(settings.get("ContentType"))
        if content == "ValidNumber":
            bounds = mapping(settings.get("ValidNumber"))
            item.kind = "open_numeric"
            item.minimum, item.maximum = number(bounds.get("Min")), number(bounds.get("Max"))
        else:
            item.format = _FORMATS.get(content) or ("line" if selector == "SL" else None)
            if content and content not in _FORMATS:
                self.found.miss(item.where, f"The validation “{cut(content, 40)}” is not checked here.")

    def _choices(self, question: Json, key: str, order: str) -> Iterator[Choice]:
        choices = question.get(key)
        if isinstance(choices, list):
            choices = {str(n): each for n, each in enumerate(choices)}
        choices = mapping(choices)
        ordered = question.get(order)
        keys = [word(each) for each in ordered] if isinstance(ordered, list) else list(choices)
        for each in (keys or list(choices))[:MAX_CHOICES]:
            choice = mapping(choices.get(each))
            label = line(_OTHER_PIPE.sub("…", _PIPED.sub("…", word(choice.get("Display")))))
            if choice:
                is_other = choice.get("TextEntry") in ("true", True, "on")
                exclusive = choice.get("ExclusiveAnswer") in ("true", True, "on")
                yield Choice(label or each, key=each, is_other=is_other, is_exclusive=exclusive)

    def _form(self, item: Item, question: Json) -> None:
        for each in self._choices(question, "Choices", "ChoiceOrder"):
            row = Item(f"{item.key}.{each.key}", "open_text", each.value, f"{item.where}, {each.key}")
            row.description, row.format, row.show, row.required = item.text, "line", item.show, item.required
            self.by_key.setdefault(item.key, self.found.add(row))

    def _rows(self, item: Item, kind: str, selector: str, question: Json) -> None:
        """A question for each row of a matrix or a slider."""
        answers = list(self._choices(question, "Answers", "AnswerOrder"))
        many = word(question.get("SubSelector")) == "MultipleAnswer"
        if selector not in ("Likert", "Bipolar", "HSLIDER", "HBAR", "STAR", "TE", "Profile"):
            self.found.miss(item.where, f"The table “{cut(selector, 30)}” is asked row by row.")
        bounds = mapping(question.get("Configuration"))
        for each in self._choices(question, "Choices", "ChoiceOrder"):
            row = Item(f"{item.key}.{each.key}", "single_punch", each.value, f"{item.where}, {each.key}")
            row.show, row.required = item.show, item.required
            if kind == "Matrix" and selector != "TE":
                row.kind = "multi_punch" if many else "single_punch"
                row.options, row.group = answers, item.text
            elif kind == "Matrix":
                row.kind, row.description = "open_text", item.text
            else:
                row.kind, row.description = "open_numeric", item.text
                row.minimum, row.maximum = (
                    number(bounds.get("CSSliderMin")),
                    number(bounds.get("CSSliderMax")),
                )
            self.by_key.setdefault(item.key, self.found.add(row))


def _numbered(value: Json) -> Iterator[tuple[str, Json]]:
    """The parts of logic, which are under the keys 0, 1, 2, …"""
    for key in sorted((key for key in value if key.isdecimal() and len(key) < 6), key=int):
        if isinstance(value[key], dict):
            yield key, value[key]
