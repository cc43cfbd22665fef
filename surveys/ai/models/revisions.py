"""Changes of a script: the script in the form that a model reads, and the model's changes to the stored
script.

A model writes blocks in a simpler form than the form of our API. So a part that the model did not change
keeps the stored value. A part that the simpler form cannot express (pictures, rewards, complex logic) is
never lost. A stored option keeps its value, to which answers and logic point. A new wording of the option
becomes its label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.models.json_values import JsonObject, as_integer, as_objects, as_text, malformed
from surveys.ai.models.scripts import (
    BLOCK_TYPES,
    FEEDBACK,
    LABELS,
    Fields,
    is_scored,
    kind_of,
    read_block,
    read_sentences,
)
from surveys.ai.provider import ProposedScript, RevisionRequest
from surveys.engine.intake.fields import MAX_OPTIONS
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.rules import naming
from surveys.engine.script import CHOICES, SCALES, WITH_ITEMS, title_case

KEPT = "kept"
Block = Mapping[str, Any]  # A block as our API returns it.
_PLAIN = (
    "name",
    "prompt",
    "description",
    "group",
    "section",
    "required",
    "min",
    "max",
    "whole",
    "format",
    "randomize_options",
    "rank_top_n",
    "calculated_formula",
)
_PLACES = {"single_punch": "correct_answer_index", "multi_punch": "correct_answer_indexes"}


# --- Showing --------------------------------------------------------------------------------------------


def shown_script(blocks: Sequence[Block]) -> list[dict[str, object]]:
    """Return the blocks of a script in the model's form, with the ids of blocks and options."""
    texts = {_key(block): {option["value"]: _text(option) for option in _options(block)} for block in blocks}
    return [_shown_block(block, texts) for block in blocks]


def _shown_block(block: Block, texts: Mapping[str, Mapping[str, str]]) -> dict[str, object]:
    if block["type"] not in BLOCK_TYPES or len(_options(block)) > MAX_OPTIONS:
        return {"id": block["id"], "type": KEPT, "shows": block.get("prompt") or block["type"]}
    shown: dict[str, object] = {"id": block["id"], "type": block["type"]}
    shown |= {key: block[key] for key in _PLAIN if block.get(key) is not None}
    if block["type"] in CHOICES:
        grading = (_PLACES[block["type"]], *FEEDBACK)
        shown |= {key: block[key] for key in grading if block.get(key) is not None}
    shown |= {key: label for key in LABELS if (label := (block.get("scale") or {}).get(key))}
    if block["type"] in SCALES and (labels := _shown_point_labels(block)):
        shown["point_labels"] = labels
    if block["type"] in WITH_ITEMS:
        shown["options"] = [_shown_option(option) for option in _options(block)]
    shown["show_when"] = list(_shown_conditions(block.get("show_when"), texts))
    return shown


def _shown_option(option: Mapping[str, Any]) -> dict[str, object]:
    shown = {"id": option.get("id") or 0, "value": _text(option)}
    if option.get("emoji"):
        shown["emoji"] = option["emoji"]
    if option.get("score_values"):
        scores = option["score_values"].items()
        shown["scores"] = [{"bucket": bucket, "points": points} for bucket, points in scores]
    if (kind := kind_of(option)) != "plain":
        shown["kind"] = kind
    return shown


def _shown_point_labels(block: Block) -> list[dict[str, object]]:
    labelled = [option for option in _options(block) if option.get("label") and _is_point(option)]
    return [{"point": int(option["value"]), "label": option["label"]} for option in labelled]


def _is_point(option: Mapping[str, Any]) -> bool:
    value = str(option["value"])
    return value.isascii() and value.isdigit()


def _shown_conditions(
    condition: Mapping[str, Any] | None, texts: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, object]]:
    """Return the comparisons of a condition that must all be true; none if the model's form cannot express
    the condition.
    """
    leaves = [] if condition is None else condition.get("all") or [condition]
    if not all(isinstance(leaf, Mapping) and "op" in leaf for leaf in leaves):
        return
    for leaf in leaves:
        subject = leaf.get("block") or leaf.get("variable") or ""
        known = texts.get(title_case(subject), {})
        yield {"block": subject, "op": leaf["op"], "value": _mapped(leaf.get("value"), known)}


def _mapped(value: object, texts: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_mapped(each, texts) for each in value]
    return texts.get(value, value) if isinstance(value, str) else value


def _options(block: Block) -> Sequence[Mapping[str, Any]]:
    return block.get("options") or ()


def _text(option: Mapping[str, Any]) -> str:
    return str(option.get("label") or option["value"])


def _key(block: Block) -> str:
    return title_case(block.get("name") or "")


# --- Reading --------------------------------------------------------------------------------------------


def read_revision(response: JsonObject, request: RevisionRequest) -> ProposedScript:
    """Put what the model wrote over the stored script. Raises UnusableResponseError if it is not a script."""
    raw_blocks = as_objects(response.get("blocks"), most=MAX_BLOCKS)
    stored: dict[int, Block] = {block["id"]: block for block in _with_ids(request.blocks)}
    pairs = list(_pairs(raw_blocks, stored))
    if not pairs:
        raise malformed()
    names = frozenset(as_text(raw.get("name")) for raw, _ in pairs) | {
        str(block.get("name")) for block in stored.values()
    }
    values = _values_by_text(pairs, request.blocks)
    shown = {raw["id"]: raw for raw in shown_script(request.blocks)}
    blocks = []
    for raw, block in pairs:
        if block is None:
            blocks.append(_with_values(read_block(raw, names), values))
        elif raw.get("type") == block["type"]:
            blocks.append(_changed(block, raw, shown[block["id"]], values))
        else:
            blocks.append(dict(block))
    for position, changed in enumerate(blocks):
        if "position" in changed:
            changed["position"] = position
    return ProposedScript(
        naming.named(blocks),
        scoring_enabled=any(map(is_scored, blocks)),
        understood=read_sentences(response.get("understood")),
        unmet=read_sentences(response.get("unmet")),
    )


def _with_ids(blocks: Iterable[Block]) -> Iterator[Block]:
    return (block for block in blocks if isinstance(block.get("id"), int))


def _pairs(
    raw_blocks: Iterable[JsonObject], stored: Mapping[int, Block]
) -> Iterator[tuple[JsonObject, Block | None]]:
    """Yield each block that the model wrote with the stored block of the same id; None for a new block.

    A stored block is paired once, and only with a block of the same type.
    """
    seen: set[int] = set()
    for raw in raw_blocks:
        block_id = as_integer(raw.get("id")) or 0
        block = stored.get(block_id) if block_id not in seen else None
        if raw.get("type") == KEPT:
            if block is None:
                continue
        elif block is not None and block["type"] != raw.get("type"):
            block = None
        if block is not None:
            seen.add(block_id)
        yield raw, block


def _values_by_text(
    pairs: Iterable[tuple[JsonObject, Block | None]], blocks: Iterable[Block]
) -> dict[str, dict[str, str]]:
    """Return the values of stored options by their old and new texts, for each block by name."""
    values = {_key(block): {_text(option): option["value"] for option in _options(block)} for block in blocks}
    for raw, block in pairs:
        by_id = {option.get("id"): option["value"] for option in _options(block or {})}
        for option in as_objects(raw.get("options"), most=MAX_OPTIONS) if block else ():
            if (value := by_id.get(as_integer(option.get("id")))) is not None:
                values[_key(block or {})][as_text(option.get("value"))] = value
    return values


def _with_values(block: Fields, values: Mapping[str, Mapping[str, str]]) -> Fields:
    """The block, with values of options in place of their texts in the condition."""
    condition = block.get("show_when")
    if condition is None:
        return block
    leaves = condition.get("all") or [condition]
    mapped = [
        {**leaf, "value": _mapped(leaf["value"], values.get(title_case(leaf.get("block") or ""), {}))}
        for leaf in leaves
    ]
    return {**block, "show_when": {"all": mapped} if len(mapped) > 1 else mapped[0]}


def _changed(
    block: Block,
    raw: JsonObject,
    shown: JsonObject,
    values: Mapping[str, Mapping[str, str]],
) -> Fields:
    """The stored block, changed where the block that the model wrote differs from the block that the model
    was shown.
    """
    # Without the names of blocks, a token like `[q3]` stays the position that it is in the stored script.
    before, after = (read_block(each, frozenset()) for each in (shown, raw))
    changed = dict(block)
    differing = {key for key in before | after if before.get(key) != after.get(key)}
    for key in differing - {"name", "options", "scale", "show_when", *_PLACES.values()}:
        changed[key] = after.get(key)
    if "scale" in differing:
        labels = {key: (after.get("scale") or {}).get(key) for key in LABELS}
        changed["scale"] = {**(block.get("scale") or {}), **labels}
    if "show_when" in differing:
        for key in ("precondition", "hide_when"):
            changed.pop(key, None)
        changed["show_when"] = _with_values(after, values).get("show_when")
    has_options = "options" in differing or _ids(raw) != _ids(shown)
    if has_options:
        changed["options"] = _changed_options(block, raw, after)
    if block["type"] in CHOICES and (has_options or differing & {*_PLACES.values()}):
        _set_correct_answers(changed, block, raw, after)
    if block["type"] in SCALES and differing & {"min", "max"}:
        _set_points(changed, block, after)
    if block["type"] in SCALES:
        _set_point_labels(changed, raw, shown)
    return changed


def _set_point_labels(changed: Fields, raw: JsonObject, shown: JsonObject) -> None:
    """Replace the labels of points that the model changed. A point has a label only if the stored scale has
    options.
    """
    before, after = _labels_by_point(shown), _labels_by_point(raw)
    if before == after or not _options(changed):
        return
    changed["options"] = [
        {**option, "label": after.get(option["value"])}
        if before.get(option["value"]) != after.get(option["value"])
        else option
        for option in _options(changed)
    ]


def _labels_by_point(raw: JsonObject) -> dict[str, str]:
    labels = as_objects(raw.get("point_labels"), most=MAX_OPTIONS)
    by_point = {str(as_integer(each.get("point"))): as_text(each.get("label")) for each in labels}
    return {point: label for point, label in by_point.items() if label}


def _set_points(changed: Fields, block: Block, after: Fields) -> None:
    """Cut or extend the options of a scale to the new points. A right answer on a point that no longer exists
    is removed.
    """
    if not _options(block) or "min" not in after or "max" not in after:
        return
    stored = {option["value"]: option for option in _options(block)}
    points = [str(n) for n in range(after["min"], after["max"] + 1)[:MAX_OPTIONS]]
    has_labels = any(option.get("label") for option in stored.values())
    options = [
        stored.get(point, {"value": point, "label": point if has_labels else None}) for point in points
    ]
    changed["options"] = [
        {key: value for key, value in option.items() if key != "display_order"} for option in options
    ]
    if not {option.get("id") for option in options} & {*(block.get("correct_answer_ids") or ())}:
        for key in ("correct_answer_ids", *_PLACES.values(), *FEEDBACK):
            changed.pop(key, None)


def _ids(raw: JsonObject) -> list[int | None]:
    return [as_integer(option.get("id")) for option in as_objects(raw.get("options"), most=MAX_OPTIONS)]


def _changed_options(block: Block, raw: JsonObject, after: Fields) -> list[Fields]:
    """Return the options as the model wrote them, merged into the stored options with the same ids, in the
    new order.
    """
    stored = {option.get("id"): option for option in _options(block)}
    options = []
    for option_id, option in zip(_ids(raw), after.get("options", ()), strict=True):
        before = stored.pop(option_id, None) if option_id else None
        if before is None:
            options.append(option)
            continue
        text = option["value"]
        changed = {key: value for key, value in before.items() if key != "display_order"}
        if text != _text(before):
            changed["label"] = None if text == before["value"] else text
        changed["emoji"] = option.get("emoji")
        if kind_of(before) != kind_of(option):
            changed |= {key: option.get(key) for key in ("anchor_position", "is_other", "is_exclusive")}
        if "score_values" in before or "score_values" in option:
            changed["score_values"] = option.get("score_values")
        options.append(changed)
    return options


def _set_correct_answers(changed: Fields, block: Block, raw: JsonObject, after: Fields) -> None:
    """Name the correct options by ids where options have ids, because the indexes may have changed."""
    key, ids = _PLACES[block["type"]], _ids(raw)
    sent = after.get(key)
    indexes = sent if isinstance(sent, list) else [] if sent is None else [sent]
    right = [ids[index] if 0 <= index < len(ids) else None for index in indexes]
    known = {option.get("id") for option in _options(block)}
    for each in ("correct_answer_ids", *_PLACES.values()):
        changed.pop(each, None)
    if right and all(option_id and option_id in known for option_id in right):
        changed["correct_answer_ids"] = right
    elif indexes:
        changed[key] = sent
