"""Changes of scripts in the words of the script editor, for the history of a project and of a community."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from communities.ground.audit_actions import Action
from communities.models import AuditEntry
from communities.staff import audit_trail
from communities.staff.audit_trail import Difference, field_words, value_words
from surveys.engine.flow import drawing, titles
from surveys.engine.flow.wording import Wording
from surveys.engine.language import expressions
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.logic_tree import Negation
from surveys.engine.script import Script, title_case
from surveys.models import Project
from surveys.services.ground import history
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue

Json = Mapping[str, Any]

# The words of the editor's form. `merging.js` contains the same words.
FIELDS = {
    "prompt": "Text",
    "description": "Description",
    "group": "Group",
    "image_url": "Picture",
    "image_alt": "What the picture shows",
    "thumbnail_url": "Small picture",
    "thumbnail_alt": "What the small picture shows",
    "video_url": "Video",
    "min": "Least",
    "max": "Greatest",
    "whole": "Whole numbers only",
    "format": "Answers are",
    "rank_top_n": "How many to rank",
    "follow_ups": "Further questions",
    "precondition": "Condition",
    "calculated_formula": "Formula",
    "correct_answer_ids": "Right answer",
    "action_kind": "What is given",
    "action_config": "What is given",
    "when_correct": "After a right answer",
    "when_incorrect": "After a wrong answer",
    "answer_style": "Look of the answers",
    "color": "Colour",
    "randomize_options": "Shuffled options",
    "score_values": "Points",
    "is_exclusive": "Cannot be chosen with others",
    "is_other": "Asks for a text",
    "value": "Stored value",
    "continue": "Button",
    "options_order": "Order of the options",
    "is_scored": "Scored",
    "scoring.buckets": "New scores",
}
# The condition contains the two texts in words
_NEVER_SHOWN = frozenset({"id", "show_when", "hide_when", "revision"})
# These are shown beside the block, or are not informative
_TOLD_OF_WHOLE = _NEVER_SHOWN | {"name", "type", "section"}
_MISSING = Catalogue(Script(()), {}, {})


@audit_trail.add_differences
def differences(entry: AuditEntry) -> Iterator[Difference] | None:
    """The blocks that a write of the script added, removed and changed; None for other entries."""
    if entry.action != Action.SCRIPT_UPDATED:
        return None
    return _Words(entry).differences()


class _Words:
    """An entry, and the project's current script, which still contains most of its blocks."""

    def __init__(self, entry: AuditEntry) -> None:
        self.before: Json = entry.before or {}
        self.after: Json = entry.after or {}
        project = Project.objects.filter(pk=entry.project_id).only("revision").first()
        self.known = _MISSING
        if project is not None:
            self.known = script_cache.of(project).catalogue
        self.script = self.known.script
        self.wording = Wording(self.script)
        self.numbers = {block.id: number for number, block in enumerate(self.script.blocks, start=1)}

    def differences(self) -> Iterator[Difference]:
        old, new = (_by_id(side.get("blocks")) for side in (self.before, self.after))
        last = len(self.numbers) + 1
        for key in sorted({**old, **new}, key=lambda key: self.numbers.get(key, last)):
            yield from self._of_block(key, old.get(key), new.get(key))
        if history.is_moved(*(side.get("order", ()) for side in (self.before, self.after))):
            yield self._field("order", self.before, self.after, "")
        for name in self.after:
            if name not in ("blocks", "order", *_NEVER_SHOWN):
                yield self._field(name, self.before, self.after, "")

    def _of_block(self, key: int, old: Json | None, new: Json | None) -> Iterator[Difference]:
        was, now = old or {}, new or {}
        part = self._called(key, now, was)
        told = _NEVER_SHOWN
        if old is None or new is None:
            told = _TOLD_OF_WHOLE
            field = self._field("type", was, now, part)
            words = "Block added" if old is None else "Block removed"
            yield Difference(words, field.before, field.after, part)
        is_reordered = history.is_moved(*(side.get("options_order", ()) for side in (was, now)))
        for name in dict.fromkeys((*was, *now)):
            if name == "options":
                yield from self._of_options(was.get(name), now.get(name), part)
            elif name == "options_order" and not is_reordered:
                continue
            elif name not in told and was.get(name) != now.get(name):
                yield self._field(name, was, now, part)

    def _of_options(self, was: Any, now: Any, part: str) -> Iterator[Difference]:
        old, new = _by_id(was), _by_id(now)
        for key in {**old, **new}:
            before, after = old.get(key, {}), new.get(key, {})
            called = _option_words(before)
            if not before or not after:
                words = "Option added" if after else "Option removed"
                yield Difference(words, _option_words(before), _option_words(after), part)
                continue
            for name in dict.fromkeys((*before, *after)):
                if before.get(name) != after.get(name):
                    field = self._field(name, before, after, part)
                    yield Difference(f"Option {called} · {field.field}", field.before, field.after, part)

    def _field(self, name: str, was: Json, now: Json, part: str) -> Difference:
        words = FIELDS.get(name) or field_words(name)
        return Difference(words, self._value(name, was.get(name)), self._value(name, now.get(name)), part)

    def _value(self, name: str, value: Any) -> str:
        if name == "precondition" and value:
            return self._condition(value)
        if name == "type":
            return drawing.TYPES.get(value or "", value_words(value))
        if name in ("correct_answer_ids", "options_order"):
            return ", ".join(self._option(each) for each in value or ())
        if name == "order":
            return ", ".join(self._named(each) for each in value or ())
        if isinstance(value, Mapping):
            kept = {key: each for key, each in value.items() if each is not None}
            return ", ".join(f"{key.replace('_', ' ')} {value_words(each)}" for key, each in kept.items())
        return ", ".join(map(value_words, value)) if isinstance(value, list) else value_words(value)

    def _condition(self, text: str) -> str:
        """A condition in the words of the script's flow, with the current names of blocks.

        A long condition is cut to the number of characters that the history shows of a value.
        """
        try:
            tree = expressions.parse(text).tree
        except ParseError:
            return text
        if isinstance(tree, Negation):
            return f"Shown when {self.wording.words(tree.part, most=audit_trail.MAX_SHOWN)}"
        return f"Hidden when {self.wording.words(tree, most=audit_trail.MAX_SHOWN)}"

    def _called(self, key: int, *sides: Json) -> str:
        """A block by its name or text at that time, or else its current one, and its current position."""
        known = self.known.blocks.get(key)
        number = self.numbers.get(key)
        names = [side.get("name") for side in sides]
        chosen = next((name for name in names if titles.is_chosen(name)), None)
        prompt = next((side["prompt"] for side in sides if side.get("prompt")), known.prompt if known else "")
        words = chosen or titles.shortened(prompt) or next(filter(None, names), "")
        return " · ".join(filter(None, (words, f"Block {number}" if number else "no longer in the script")))

    def _named(self, name: str) -> str:
        """The readable title of a block; an order lists only names."""
        at = self.script.index_by_title.get(title_case(name))
        return name if at is None else titles.of_block(self.script.blocks[at], at + 1)

    def _option(self, key: Any) -> str:
        known = self.known.options.get(key)
        return known.display_text if known else value_words(key)


def _by_id(values: Any) -> dict[int, Json]:
    return {each["id"]: each for each in values or ()}


def _option_words(option: Json) -> str:
    words = option.get("label") or option.get("value")
    return " ".join(filter(None, (option.get("emoji"), words)))
