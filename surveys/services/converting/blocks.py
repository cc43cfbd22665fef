"""A questionnaire of another system as blocks that a write of a script accepts.

    blocks, unmet = as_blocks(questionnaire)

Names are those of the source where they can be used, else words of the prompt. `conditions` writes the logic.
Whatever the rules of scripts refuse is left out and named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from communities.ground.sent_text import appearance, sent_text
from surveys.engine.intake.fields import (
    MAX_DESCRIPTION,
    MAX_GROUP,
    MAX_LABEL,
    MAX_MENU_OPTIONS,
    MAX_NUMBER,
    MAX_OPTIONS,
    MAX_PROMPT,
    MAX_SCRIPT_OPTIONS,
    MAX_VALUE,
)
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language.lexer import NAME_PATTERN
from surveys.engine.rules import naming
from surveys.engine.rules.script import MAX_TEXTS
from surveys.engine.script import CHOICES, QUESTIONS, SCALES, STATEMENTS, WITH_ITEMS, title_case
from surveys.services.converting.conditions import MAX_RANKED, Writer, condition_fields, hidden_of
from surveys.services.converting.questionnaire import (
    END_OF_PIPE,
    MAX_UNMET,
    PIPE,
    Item,
    Logic,
    Questionnaire,
    cut,
    field_of,
)
from surveys.services.scripts import planning

Json = dict[str, Any]
MAX_PASSES = 6  # of the check, each of which leaves out what it found
_PIPED = re.compile(f"{PIPE}([^{PIPE}{END_OF_PIPE}]*){END_OF_PIPE}")
_STRAY = re.compile(f"[{PIPE}{END_OF_PIPE}]")
_BLOCK = re.compile(r"script\.blocks\[(\d+)\](?:\.(\w+))?")
_LOGIC = ("show_when", "hide_when", "precondition")
# Fields that a block can do without, if the rules refuse their value.
_OPTIONAL = frozenset(
    {"description", "group", "min", "max", "whole", "format"}
    | {"scale", "rank_top_n", "answer_style", "continue"}
)


def as_blocks(questionnaire: Questionnaire) -> tuple[list[Json], list[dict[str, str]]]:
    """The blocks, and what could not be said."""
    writer = Writer(questionnaire)
    writer.items = list(_kept(questionnaire))
    _name(writer)
    options = [list(_options(writer, item)) for item in writer.items]
    _count_options(writer, options)
    hidden = hidden_of(writer)
    blocks = []
    for n, item in enumerate(writer.items):
        writer.at = n
        blocks.append(_block(writer, item, options[n], hidden[n]))
    _group(writer, blocks)
    where = {block["name"]: item.where for block, item in zip(blocks, writer.items, strict=True)}
    blocks = [block for n, block in enumerate(blocks) if n not in writer.unreachable]
    blocks = _accepted(writer, blocks, where)
    unmet = questionnaire.unmet
    if questionnaire.unnamed:
        last = f"{questionnaire.unnamed:,} more could not be taken over and are not listed."
        unmet = [*unmet[: MAX_UNMET - 1], {"where": "The whole", "what": last}]
    return blocks, unmet


def _kept(questionnaire: Questionnaire) -> Iterator[Item]:
    """The items that can be blocks: as many as a script has, of choices those with options, and of
    calculations those whose questions are kept before them.
    """
    kept = size = 0
    answered = set[str]()
    left = questionnaire.left_out
    for item in questionnaire.items:
        item.text = _fitting(questionnaire, item, item.text, MAX_PROMPT, "text")
        item.description = _fitting(questionnaire, item, item.description, MAX_DESCRIPTION, "description")
        if item.kind in WITH_ITEMS and not any(sent_text(each.value) for each in item.options):
            questionnaire.miss(item.where, "The question has no options and became one for a text.")
            item.kind, item.options = "open_text", []
        if item.kind == "ranking" and len(item.options) < 2:
            questionnaire.miss(item.where, "The ranking has only one item and became a choice.")
            item.kind = "single_punch"
        if not item.text and item.kind != "calculated_block":
            if item.kind in STATEMENTS:
                continue
            item.text = item.group or item.name or "…"
            questionnaire.miss(item.where, "The question has no text.")
        lost = [key for key in _PIPED.findall(item.formula) if key.partition("|")[0] not in answered]
        if lost:
            what = (
                f"It is left out: its formula needs “{cut(lost[0], 80)}”, which is no earlier question here."
            )
            questionnaire.miss(item.where, what)
            continue
        own = len(item.text) + len(item.description) + sum(len(o.value) + len(o.label) for o in item.options)
        if kept == MAX_BLOCKS or size + own > MAX_TEXTS * 9 // 10:
            left += 1
            continue
        kept += 1
        size += own
        if item.kind not in STATEMENTS:
            answered.add(item.key)
        yield item
    if left:
        message = f"A script has at most {MAX_BLOCKS} blocks and 1 MiB: {left:,} at the end are left out."
        questionnaire.miss("The whole", message)


def _fitting(questionnaire: Questionnaire, item: Item, text: str, most: int, noun: str) -> str:
    text = sent_text(text)
    if len(text) > most - 200 and len(_PIPED.sub("[" + "x" * 64 + "]", text)) > most:  # names take room
        questionnaire.miss(item.where, f"The {noun} is longer than {most:,} characters and was cut.")
        return _STRAY.sub("", cut(text, most))
    return text


# --- Names -------------------------------------------------------------------------------------------


def _name(writer: Writer) -> None:
    wishes = [_usable(item.name) for item in writer.items]
    taken = set()
    for n, wish in enumerate(wishes):
        if title_case(wish) in taken:
            wishes[n] = ""
        taken.add(title_case(wish))
    for n, (item, wish) in enumerate(zip(writer.items, wishes, strict=True)):
        prompt = _STRAY.sub("", _PIPED.sub(" ", item.text))
        name = wish or naming.from_words(prompt, number=n + 1, taken=taken)
        taken.add(title_case(name))
        writer.names.append(name)
        if item.key:
            writer.index.setdefault(item.key, n)


def _usable(wish: str) -> str:
    """The name, if it can be one and means nothing else; empty otherwise."""
    name = sent_text(wish)[:64].strip().replace(".", "_").replace("/", "_")
    is_name = NAME_PATTERN.fullmatch(name) and not naming.means_something_else(name.lower())
    return name if is_name else ""


# --- Options -----------------------------------------------------------------------------------------


def _options(writer: Writer, item: Item) -> Iterator[Json]:
    values: dict[str, str] = {}
    writer.values.append(values)
    if item.kind not in WITH_ITEMS:
        return
    seen: dict[str, str] = {}
    other = ""
    most = MAX_OPTIONS
    if item.kind == "ranking":
        most = MAX_RANKED
    elif item.kind == "single_punch" and len(item.options) > MAX_OPTIONS:
        item.is_menu, most = True, MAX_MENU_OPTIONS
    for choice in item.options:
        value = cut(sent_text(choice.value), MAX_VALUE)
        if not value:
            continue
        look = appearance(value)
        if look in seen:
            writer.miss(item.where, f"The option “{cut(value, 80)}” is there twice; one is left out.")
            values.setdefault(choice.key or choice.value, seen[look])
            continue
        if len(seen) == most:
            writer.miss(item.where, f"At most {most:,} options are taken over; later ones are left out.")
            return
        seen[look] = value
        values.setdefault(choice.key or choice.value, value)
        values.setdefault(choice.value, value)
        option: Json = {"value": value}
        label = cut(sent_text(choice.label), MAX_LABEL)
        if label and label != value:
            option["label"] = label
        if choice.is_other and item.kind in CHOICES:
            if other:
                writer.miss(item.where, f"Only one option has a text: “{cut(value, 80)}” is one without.")
            else:
                other = value
                option["is_other"] = True
        if choice.is_exclusive and item.kind == "multi_punch":
            option["is_exclusive"] = True
        if choice.is_last and item.shuffled:
            option["anchor_position"] = "last"
        yield option


def _count_options(writer: Writer, options: list[list[Json]]) -> None:
    """Leave no more options than a script has in total."""
    total = 0
    for item, own in zip(writer.items, options, strict=True):
        total += len(own)
        if total > MAX_SCRIPT_OPTIONS:
            writer.miss(item.where, "The script has too many options: this question became one for a text.")
            total -= len(own)
            own.clear()
            item.kind = "open_text"


# --- Blocks ------------------------------------------------------------------------------------------


def _block(writer: Writer, item: Item, options: list[Json], hidden: Logic | None) -> Json:
    block: Json = {
        "type": item.kind,
        "name": writer.names[writer.at],
        "section": "intro" if item.is_intro else "main",
        "prompt": _text(writer, item, item.text),
    }
    if item.description and item.kind != "calculated_block":
        block["description"] = _text(writer, item, item.description)
    if item.video:
        block["video_url"] = item.video
    if options:
        block["options"] = options
    if item.right:
        block |= _right(writer, item, options)
    if item.kind in QUESTIONS:
        block["required"] = item.required
    block |= _of_type(writer, item)
    if hidden is not None:
        block |= condition_fields(writer, item, hidden)
    return block


def _right(writer: Writer, item: Item, options: list[Json]) -> Json:
    """The places of the right options, if the block can have all of them."""
    values = {writer.values[writer.at].get(key) for key in item.right}
    places = [n for n, option in enumerate(options) if option["value"] in values]
    if len(places) == len(values) and item.kind == "multi_punch":
        return {"correct_answer_indexes": places}
    if len(places) == len(values) == 1 and item.kind == "single_punch":
        return {"correct_answer_index": places[0]}
    writer.miss(item.where, f"The right answer “{cut(', '.join(item.right), 150)}” is not taken over.")
    return {}


def _of_type(writer: Writer, item: Item) -> Json:
    fields: Json = {}
    if item.kind in WITH_ITEMS and item.shuffled:
        fields["randomize_options"] = True
    if item.kind == "single_punch" and item.is_menu:
        fields["answer_style"] = "select_menu"
    if item.kind in SCALES:
        fields |= _scale(writer, item)
    if item.kind in ("multi_punch", "open_numeric"):
        fields |= {key: n for key, n in (("min", item.minimum), ("max", item.maximum)) if n is not None}
        for key in fields.keys() & {"min", "max"}:
            fields[key] = _whole_bound(writer, item, key, fields[key])
    if item.kind == "open_numeric" and item.whole:
        fields["whole"] = True
    if item.kind == "open_text" and item.format:
        fields["format"] = item.format
    if item.kind == "ranking" and item.top_n and item.top_n < len(item.options):
        fields["rank_top_n"] = item.top_n
    if item.kind == "content_block" and item.button:
        fields["continue"] = {"after": "click", "label": cut(sent_text(item.button), 80)}
    if item.kind == "calculated_block":
        fields["calculated_formula"] = _text(writer, item, item.formula)
    return fields


def _whole_bound(writer: Writer, item: Item, key: str, bound: float) -> int | None:
    if not float(bound).is_integer() or abs(bound) > MAX_NUMBER:
        writer.miss(item.where, f"The bound {bound:g} is no whole number and was rounded.")
        bound = max(-MAX_NUMBER, min(MAX_NUMBER, bound))
        return math.floor(bound) if key == "min" else math.ceil(bound)
    return int(bound)


def _scale(writer: Writer, item: Item) -> Json:
    """The range of a scale, its icon, and labels either at points or at the ends."""
    low = int(item.minimum if item.minimum is not None else 0 if item.kind == "opinion_scale" else 1)
    high = int(item.maximum if item.maximum is not None else 10 if item.kind == "opinion_scale" else 5)
    fields: Json = {} if item.kind == "nps" else {"min": low, "max": high}
    points = range(0, 11) if item.kind == "nps" else range(low, high + 1)
    scale: Json = {}
    if item.icon and item.kind != "nps":
        scale["icon"] = item.icon
    named = {point: cut(sent_text(label), MAX_LABEL) for point, label in item.point_labels.items() if label}
    if item.kind != "nps" and named and set(points) <= set(named):
        fields["options"] = [{"value": str(point), "label": named[point]} for point in points]
        writer.values[writer.at] |= {str(point): str(point) for point in points}
    elif item.kind != "nps":
        labels = list(item.labels)
        labels[0] = labels[0] or named.get(low, "")
        labels[2] = labels[2] or named.get(high, "")
        for key, label in zip(("label_left", "label_center", "label_right"), labels, strict=True):
            if label:
                scale[key] = cut(sent_text(label), 200)
    if scale:
        fields["scale"] = scale
    return fields


def _text(writer: Writer, item: Item, text: str) -> str:
    """The text with a token for each earlier answer that it repeats."""

    def token(match: re.Match[str]) -> str:
        key, _, fallback = match[1].partition("|")
        if field := field_of(key):
            return f"[{field}]"
        n = writer.index.get(key)
        if n is None or n >= writer.at or writer.items[n].kind in STATEMENTS:
            writer.miss(item.where, f"The text repeats “{cut(key, 80)}”, which is no earlier question here.")
            return fallback or "…"
        name = writer.names[n]
        fallback = re.sub(r"[\[\]|]", "", fallback)[:100]
        return f"[{name}|{fallback}]" if fallback else f"[{name}]"

    return _STRAY.sub("", _PIPED.sub(token, text))


def _group(writer: Writer, blocks: list[Json]) -> None:
    """Give neighbours that were one matrix their common title, if there are at least two."""
    titles = [cut(sent_text(item.group), MAX_GROUP) for item in writer.items]
    used: dict[str, int] = {}
    at = 0
    while at < len(blocks):
        last = at + 1
        while last < len(blocks) and titles[at] and _is_row_of(at, last, titles, blocks):
            last += 1
        title = _STRAY.sub("", _PIPED.sub("…", titles[at])).replace("[", "(").replace("]", ")")
        if title and last - at > 1:
            used[title] = used.get(title, 0) + 1
            title = title if used[title] == 1 else f"{title[: MAX_GROUP - 6]} ({used[title]})"
            for block in blocks[at:last]:
                block["group"] = title
        at = last


def _is_row_of(first: int, n: int, titles: list[str], blocks: list[Json]) -> bool:
    return titles[n] == titles[first] and all(
        blocks[n].get(key) == blocks[first].get(key) for key in ("type", "options", "min", "max", "scale")
    )


# --- The rules of scripts -----------------------------------------------------------------------------


def _accepted(writer: Writer, blocks: list[Json], where: Mapping[str, str]) -> list[Json]:
    """The blocks without what the rules of scripts refuse, which is named."""
    for attempt in range(MAX_PASSES):
        faults = _faults(blocks)
        if not faults:
            return blocks
        for n, (keys, message) in sorted(faults.items(), reverse=True):
            _mend(writer, blocks, n, keys if attempt < MAX_PASSES - 2 else [""], message, where)
    while blocks and (faults := _faults(blocks)):  # faults of the whole, such as too many texts
        writer.miss(where[blocks[-1]["name"]], "The script would be too large: this block is left out.")
        del blocks[len(blocks) // 2 :]
    return blocks


def _faults(blocks: list[Json]) -> dict[int, tuple[list[str], str]]:
    """By index of a block (the last one for faults of the whole), the fields that are refused and why."""
    _, violations = planning.read_new(
        {"blocks": blocks}, is_poll=False, scoring_enabled=False, bucket_names=(), chat=False, xp_limit=None
    )
    faults: dict[int, tuple[list[str], str]] = {}
    for violation in violations:
        match = _BLOCK.match(violation.field)
        n = int(match[1]) if match else len(blocks) - 1
        fields, _ = faults.setdefault(n, ([], violation.message))
        fields.append(match[2] or "" if match else "")
    return faults


def _mend(
    writer: Writer, blocks: list[Json], n: int, keys: list[str], message: str, where: Mapping[str, str]
) -> None:
    block = blocks[n]
    place, why = where[block["name"]], message.replace("`", "")
    fields = set(keys)
    if fields <= {*_LOGIC, *_OPTIONAL}:
        for key in fields & block.keys():
            del block[key]
        if fields & set(_LOGIC):
            writer.miss(place, f"Its condition is not accepted, so it is always shown: {why}")
        if others := fields - set(_LOGIC):
            writer.miss(place, f"{', '.join(sorted(others))} could not be taken over: {why}")
        return
    del blocks[n]
    writer.miss(place, f"This block is left out: {why}")
