"""Forms of Typeform, as its interface returns them."""

from __future__ import annotations

import re
from typing import Any

from surveys.engine.intake import videos
from surveys.services.converting.questionnaire import (
    HIDDEN,
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
    field_of,
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
_FIELD = re.compile(r"\{\{\s{0,20}field:([^{}\s]{1,100})\s{0,20}\}\}")
_HIDDEN = re.compile(r"\{\{\s{0,20}hidden:([a-z0-9_]{1,40})\s{0,20}\}\}")
_OTHER_PIPE = re.compile(r"\{\{\s{0,20}((?:hidden|var):[^{}\s]{1,100})\s{0,20}\}\}")
_TEXTS = {
    "short_text": "line", "long_text": None, "email": "email", "phone_number": "phone", "website": "url",
    "date": "date",
}  # fmt: skip
_GROUPS = frozenset({"group", "inline_group", "contact_info", "address"})
_COMPARISONS = {
    "equal": "eq", "is": "eq", "not_equal": "ne", "is_not": "ne", "greater_than": "gt",
    "greater_equal_than": "gte", "lower_than": "lt", "lower_equal_than": "lte", "on": "eq", "not_on": "ne",
    "earlier_than": "lt", "earlier_than_or_on": "lte", "later_than": "gt", "later_than_or_on": "gte",
    "before": "lt", "after": "gt",
}  # fmt: skip


def typeform(content: object) -> Questionnaire:
    """A form. Refuses an object without fields."""
    form = mapping(content)
    fields = objects(form.get("fields"))
    if not fields or not all(isinstance(each.get("type"), str) for each in fields):
        unreadable("must be a form of Typeform: an object with `fields`.")
    reader = _Reader()
    for screen in objects(form.get("welcome_screens")):
        reader.screen(screen, is_intro=True)
    reader.fields(fields, "", 0)
    ends = [each for each in objects(form.get("thankyou_screens")) if each.get("ref") != "default_tys"]
    for screen in ends:
        reader.screen(screen, is_intro=False)
    for n, rule in enumerate(objects(form.get("logic"))):
        reader.logic(rule, f"logic, {n + 1}")
    if form.get("hidden"):
        names = cut(", ".join(map(str, form["hidden"])), 200)
        reader.found.miss("hidden", f"{names}: declare such fields in the settings, as `hidden_fields`.")
    if form.get("variables"):
        reader.found.miss("variables", f"{cut(', '.join(map(str, form['variables'])), 200)}: not taken over.")
    return reader.found


def _text(value: object) -> str:
    raw = _HIDDEN.sub(lambda match: pipe(f"{HIDDEN}{match[1]}"), value) if isinstance(value, str) else ""
    return plain(_OTHER_PIPE.sub("…", _FIELD.sub(lambda match: pipe(match[1]), raw)).replace("\\_", "_"))


class _Reader:
    def __init__(self) -> None:
        self.found = Questionnaire()
        self.first: dict[str, str] = {}  # reference of a group → of its first and of its last field
        self.last: dict[str, Item] = {}
        self.by_key: dict[str, Item] = {}

    def screen(self, screen: Json, *, is_intro: bool) -> None:
        properties = mapping(screen.get("properties"))
        where = f"{'welcome' if is_intro else 'thankyou'}_screens, {word(screen.get('ref'))}"
        item = Item(word(screen.get("ref")), "content_block", _text(screen.get("title")), where)
        item.description, item.is_intro = _text(properties.get("description")), is_intro
        item.button = line(properties.get("button_text")) if is_intro else ""
        item.video = self._video(screen, where)
        if properties.get("redirect_url"):
            self.found.miss(
                where, f"It leads to {cut(str(properties['redirect_url']), 150)}: see the setting `end`."
            )
        if not is_intro:  # each end is the last that somebody sees
            item.jumps = [Jump(None, None)]
        self.found.add(item)

    def fields(self, fields: list[Json], group: str, depth: int) -> None:
        for n, each in enumerate(fields):
            ref, kind = word(each.get("ref")) or word(each.get("id")), word(each.get("type"))
            where = f"fields, {ref or n + 1}"
            properties = mapping(each.get("properties"))
            inner = objects(properties.get("fields"))
            if kind in _GROUPS or kind == "matrix":
                if depth > MAX_DEPTH:
                    self.found.miss(where, "Groups are nested too deeply: this one is left out.")
                    continue
                before = len(self.found.items)
                title, description = _text(each.get("title")), _text(properties.get("description"))
                if kind != "matrix" and title:
                    self.found.add(Item("", "content_block", title, where, description=description))
                self.fields(inner, title if kind == "matrix" else "", depth + 1)
                own = self.found.items[before:]
                if own:
                    own[0].key = own[0].key or f"{ref}/title"
                    self.first[ref], self.last[ref] = own[0].key, own[-1]
                continue
            self._field(each, kind, ref, where, group)

    def _field(self, field: Json, kind: str, ref: str, where: str, group: str) -> None:
        if self.found.skips():
            return
        properties, validations = mapping(field.get("properties")), mapping(field.get("validations"))
        item = Item(ref, "open_text", _text(field.get("title")), where, group=group)
        item.description = _text(properties.get("description"))
        item.required = validations.get("required") is True
        if not self._typed(item, kind, properties, validations):
            self.found.miss(
                where, f"The type “{cut(kind, 40)}” cannot be asked here: the question is left out."
            )
            return
        if video := self._video(field, where):
            if item.kind == "content_block":
                item.video = video
            else:  # Only content blocks have videos. Jumps to the question lead to its video.
                self.first[ref] = f"{ref}/video"
                self.found.add(
                    Item(self.first[ref], "content_block", "Please watch this first.", where, video=video)
                )
        self.by_key[ref] = self.last[ref] = self.found.add(item)

    def _video(self, holder: Json, where: str) -> str:
        """The address of the video of a field or a screen; empty for none. Other attachments are named."""
        layout = mapping(holder.get("layout"))
        attached = mapping(holder.get("attachment")) or mapping(layout.get("attachment"))
        address, is_video = word(attached.get("href")), attached.get("type") == "video"
        if is_video and videos.read(address):
            return address
        if attached:
            kind = "video, which is not on YouTube or Vimeo," if is_video else "picture"
            self.found.miss(where, f"Its {kind} is not taken over: {cut(address, 200)}")
        return ""

    def _typed(self, item: Item, kind: str, properties: Json, validations: Json) -> bool:
        """Give the item its type; False if there is none for it."""
        if kind in ("multiple_choice", "dropdown", "picture_choice", "ranking"):
            many = properties.get("allow_multiple_selection") is True
            item.kind = "ranking" if kind == "ranking" else "multi_punch" if many else "single_punch"
            item.is_menu = kind == "dropdown"
            item.shuffled = properties.get("randomize") is True
            for each in objects(properties.get("choices"))[:MAX_CHOICES]:
                key = word(each.get("ref")) or word(each.get("id"))
                item.options.append(Choice(line(each.get("label")), key=key))
            if properties.get("allow_other_choice") is True and kind != "ranking":
                item.options.append(Choice("Other", key="other", is_other=True))
            if item.kind == "multi_punch":
                item.minimum = number(validations.get("min_selection")) or None
                item.maximum = number(validations.get("max_selection")) or None
            if kind == "picture_choice":
                self.found.miss(item.where, "The pictures of the options are not taken over.")
        elif kind in ("yes_no", "legal", "checkbox"):
            labels = ("Yes", "No") if kind == "yes_no" else ("I accept", "I don’t accept")
            item.kind = "single_punch"
            item.options = [Choice(labels[0], key="true"), Choice(labels[1], key="false")]
        elif kind in ("opinion_scale", "rating", "nps"):
            self._scale(item, kind, properties)
        elif kind == "number":
            item.kind = "open_numeric"
            item.minimum = number(validations.get("min_value"))
            item.maximum = number(validations.get("max_value"))
        elif kind == "statement":
            item.kind, item.button = "content_block", line(properties.get("button_text"))
        elif kind in _TEXTS:
            item.format = _TEXTS[kind]
            if validations.get("max_length"):
                self.found.miss(
                    item.where, f"At most {validations['max_length']} characters: not checked here."
                )
        else:
            return False
        return True

    def _scale(self, item: Item, kind: str, properties: Json) -> None:
        labels = mapping(properties.get("labels"))
        item.labels = (line(labels.get("left")), line(labels.get("center")), line(labels.get("right")))
        steps = int(number(properties.get("steps")) or (5 if kind == "rating" else 11))
        low = 1 if kind == "rating" or properties.get("start_at_one") is True else 0
        item.kind = "nps" if kind == "nps" else "rating" if kind == "rating" else "opinion_scale"
        item.minimum, item.maximum = low, low + min(max(steps, 2), 10 if kind == "rating" else 11) - 1
        if kind == "rating":
            item.icon = "stars"

    # --- Logic

    def logic(self, rule: Json, where: str) -> None:
        ref = word(rule.get("ref"))
        if rule.get("type") != "field" or ref not in self.last:
            if rule.get("actions"):
                self.found.miss(where, f"The logic of “{rule.get('type')}” {cut(ref, 80)} is not taken over.")
            return
        item = self.last[ref]
        for each in objects(rule.get("actions")):
            target = mapping(mapping(each.get("details")).get("to"))
            to = word(target.get("value"))
            source = f"{word(each.get('action'))} to {cut(to, 60)}"
            if each.get("action") != "jump":
                self.found.miss(
                    f"{where} ({ref})", f"The action “{word(each.get('action'))}” is not taken over."
                )
                continue
            try:
                when = self._condition(mapping(each.get("condition")), 0)
            except UnsayableError as error:
                self.found.miss(f"{where} ({ref})", f"“{source}” cannot be said here: {error}.")
                continue
            key = None if to == "default_tys" else self.first.get(to, to)
            self.found.jump(item, Jump(when, key, source))

    def _condition(self, condition: Json, depth: int) -> Logic | None:
        op, parts = word(condition.get("op")), objects(condition.get("vars"))
        if op == "always":
            return None
        if depth > MAX_DEPTH:
            raise UnsayableError("it is nested too deeply")
        if op in ("and", "or"):
            inner = [self._condition(part, depth + 1) for part in parts]
            said = [part for part in inner if part is not None]
            if not said or (op == "or" and len(said) < len(inner)):
                return None
            return together("all" if op == "and" else "any", said)
        field = next((word(part.get("value")) for part in parts if part.get("type") == "field"), "")
        values = [part.get("value") for part in parts if part.get("type") in ("choice", "constant")]
        item = self.by_key.get(field)
        hidden = next((word(part.get("value")) for part in parts if part.get("type") == "hidden"), "")
        if field_of(f"{HIDDEN}{hidden}"):
            field, item = f"{HIDDEN}{hidden}", Item(hidden, "open_text", "", "")
        if item is None:
            kinds = ", ".join(str(part.get("type")) for part in parts)
            raise UnsayableError(f"it asks about {cut(kinds, 60) or 'nothing'}")
        if op == "answered":
            wanted = word(values[0]) if values else "true"
            return Answered(field) if wanted == "true" else negated(Answered(field))
        if not values:
            raise UnsayableError(f"“{op}” has no value")
        value = word(values[0])
        if item.kind == "multi_punch" and op in (
            "is",
            "equal",
            "contains",
            "is_not",
            "not_equal",
            "not_contains",
        ):
            among = Compare(field, "in", (value,))
            return negated(among) if op.startswith(("is_not", "not")) else among
        if op not in _COMPARISONS:
            raise UnsayableError(f"“{op}” has no equivalent")
        return Compare(field, _COMPARISONS[op], value)
