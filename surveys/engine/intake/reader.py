"""Raw JSON → the engine's vocabulary. Whatever is sent, nothing is raised: what is wrong becomes a violation.

    reading     = intake.read_blocks(raw, path="blocks", scoring=project.scoring_enabled)
    reading     = intake.read_patch(raw, block=stored, scoring=...)       # one block, fields laid over it
    arrangement = arrangement.arrange(reading, before=stored_script)      # order, names: see there
    violations  = reading.violations + rules.check(script, places=arrangement.places,
                                                   faulty=reading.faulty, ...)

Reading goes on after a fault: what cannot be read stands as an empty value of its kind, and `faulty` holds
its path, so that the rules say nothing more about it. Options come out in display order, conditions with
their compiled precondition, and correct answers as ids wherever the option has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from surveys.engine.intake import correct_answers
from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.field_types import (
    UNSTORABLE_MESSAGE,
    FieldSpec,
    IntegerType,
    ListType,
    ObjectType,
    TextType,
    WeightsType,
    describe_type,
    is_unstorable,
)
from surveys.engine.intake.fields import (
    ACTION_CONFIG,
    BLOCK,
    CONTINUE,
    MAX_BUCKET_NAME,
    MAX_BUCKETS,
    MAX_NUMBER,
    SCALE,
)
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.language import conditions, names
from surveys.engine.script import ActionConfig, Block, Continue, Option, Scale, Violation, normalized

MAX_BLOCKS = 200
MAX_DEPTH = 50  # of conditions in conditions; deeper ones are kept as they are, and refused by `conditions`
# Word for word as the interface gives it (2.4), without the full stop of our other sentences.
OUTRO_NEEDS_ID = "section='outro' requires id for update"
# Stands for a block whose type cannot be read: anything may refer to it, and nothing is asked of it.
_UNREADABLE = "open_text"
_CONDITION_KEYS = frozenset({"block", "variable", "op", "value", "all", "any"})
_LOGIC_KEYS = ("precondition", "show_when", "hide_when")
_CORRECT_KEYS = ("correct_answer_ids", "correct_answer_id", "correct_answer_index")
_MERGED_KEYS = ("scale", "action_config", "continue")


@dataclass(frozen=True)
class ParsedBlocks:
    """What was sent, as far as it could be read: blocks in the order of the array sent."""

    blocks: tuple[Block, ...] = ()
    violations: list[Violation] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    given: tuple[frozenset[str], ...] = ()
    places: tuple[BlockPath, ...] = ()

    @property
    def faulty(self) -> frozenset[str]:
        return frozenset(violation.field for violation in self.violations)


def read_blocks(raw: object, *, path: str, scoring: bool = True) -> ParsedBlocks:
    """Read a script's array of blocks. With `scoring` off no `score_values` are refused, whatever they are;
    that there were any is noted on their block, and what counts is for `revision.keep_scores` to say."""
    notes = _ParseContext(scoring=scoring)
    if not isinstance(raw, list):
        code = "null" if raw is None else "invalid_type"
        notes.fault(path, code, f"`{_last(path)}` must be a list of blocks, not {describe_type(raw)}.")
        return ParsedBlocks(violations=notes.violations)
    main = sum(not (isinstance(each, dict) and each.get("section") == "outro") for each in raw)
    if main > MAX_BLOCKS:
        notes.fault(path, "too_many", f"`{_last(path)}` may hold at most {MAX_BLOCKS} blocks, not {main}.")
        raw = raw[:MAX_BLOCKS]
    read = [_block(each, f"{path}[{n}]", notes) for n, each in enumerate(raw)]
    # First of all, as the message of a refusal is that of its first violation, and this one is promised.
    notes.violations.sort(key=lambda violation: violation.message != OUTRO_NEEDS_ID)
    return ParsedBlocks(
        blocks=tuple(block for block, _ in read),
        violations=notes.violations,
        ignored=notes.ignored,
        given=tuple(frozenset(each) if isinstance(each, dict) else frozenset() for each in raw),
        places=tuple(place for _, place in read),
    )


def read_patch(raw: object, *, block: Block, scoring: bool = True) -> ParsedBlocks:
    """Read one block: the stored one with the sent fields laid over it, paths without a prefix.

    A field not sent stays, an explicit null clears. `scale`, `action_config` and `continue` change the
    keys that are sent; lists and conditions are replaced. Of `precondition`, `show_when` and
    `hide_when` the one that is sent takes the place of what was there.
    """
    if not isinstance(raw, dict):
        fault = Violation("", "invalid_type", f"The block must be an object, not {describe_type(raw)}.")
        return ParsedBlocks(
            blocks=(block,), violations=[fault], given=(frozenset(),), places=(BlockPath(""),)
        )
    notes = _ParseContext(scoring=scoring)
    patched, place = _block(_merged(raw, block), "", notes)
    return ParsedBlocks(
        blocks=(replace(patched, scores_ignored=not scoring and _weighs(raw)),),
        violations=notes.violations,
        ignored=notes.ignored,
        given=(frozenset(raw),),
        places=(place,),
    )


def _merged(raw: Mapping[str, object], block: Block) -> dict[str, object]:
    stored = block_as_json(block, scoring=True)
    if any(key in raw for key in _CORRECT_KEYS):
        stored |= dict.fromkeys(("correct_answer_ids", "correct_answer_index"))
    elif stored["correct_answer_ids"]:
        stored["correct_answer_index"] = None  # it moves with the options; the id does not
    stored |= _kept_logic(raw, block)
    merged = {**stored, **raw, "id": block.id}
    for key in _MERGED_KEYS:
        old, new = stored[key], raw.get(key)
        other_kind = key == "action_config" and raw.get("action_kind", block.action_kind) != block.action_kind
        if isinstance(old, dict) and isinstance(new, dict) and not other_kind:
            merged[key] = {**old, **new}
    return merged


def _kept_logic(raw: Mapping[str, object], block: Block) -> dict[str, object]:
    """Which of the stored block's logic fields stand beside those that are sent."""
    if any(raw.get(key) is not None for key in _LOGIC_KEYS):
        own = raw.get("precondition") == block.precondition and block.precondition is not None
        if own and raw.get("show_when") is None and raw.get("hide_when") is None:
            # Its own compiled text beside a condition that is not sent, or cleared by a null.
            return {} if not {"show_when", "hide_when"} & raw.keys() else dict.fromkeys(_LOGIC_KEYS[1:])
        return dict.fromkeys(_LOGIC_KEYS)
    if "precondition" in raw:
        return dict.fromkeys(_LOGIC_KEYS)
    if any(key in raw and getattr(block, key) is not None for key in ("show_when", "hide_when")):
        return dict.fromkeys(_LOGIC_KEYS)
    return {}


# --- Reading by the table -------------------------------------------------------------------------


class _ParseContext:
    """What is found on the way."""

    def __init__(self, *, scoring: bool) -> None:
        self.scoring = scoring
        self.violations: list[Violation] = []
        self.ignored: list[str] = []

    def fault(self, path: str, code: str, message: str) -> None:
        self.violations.append(Violation(path, code, message))


def _object(
    raw: Mapping[str, object], shape: ObjectType, path: str, notes: _ParseContext
) -> dict[str, object]:
    """The fields of one object, by the vocabulary's names; a null, absent or unreadable one is absent."""
    taken: dict[str, object] = {}
    prefix = f"{path}." if path else ""
    fields = shape.fields
    for key, value in raw.items():
        if value is None and key in fields and fields[key].nullable:
            continue
        field_ = fields.get(key)
        if field_ is None:
            notes.ignored.append(prefix + _printable(key))
        elif value is None:
            notes.fault(prefix + key, "null", f"`{key}` must not be null.")
        elif field_.scalar:
            if fault := field_.kind.fault(value):  # type: ignore[union-attr]  # `scalar` says so
                notes.fault(prefix + key, fault[0], f"`{key}` {fault[1]}")
                if not (isinstance(value, str) and isinstance(field_.kind, TextType)):
                    continue  # a name out of bounds may still be what others refer to
            if value == "" and field_.empty_is_null:
                continue
            taken[field_.attribute or key] = value
        else:
            part = _part(value, field_, key, prefix + key, notes)
            if part is not None:
                taken[field_.attribute or key] = part
    for key in shape.required:
        if key not in raw:
            notes.fault(prefix + key, "required", f"`{key}` is required.")
    return taken


def _part(value: object, field_: FieldSpec, key: str, path: str, notes: _ParseContext) -> object:
    kind = field_.kind
    if isinstance(kind, ObjectType):
        if isinstance(value, dict):
            return _BUILD[kind.name](_object(value, kind, path, notes))
        notes.fault(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
        return None
    if isinstance(kind, ListType):
        return _list(value, kind, key, path, notes)
    if isinstance(kind, WeightsType):
        return _weights(value, key, path, notes if notes.scoring else _ParseContext(scoring=False))
    if isinstance(value, dict):
        return _condition(value, path, notes)
    notes.fault(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
    return None


def _list(value: object, kind: ListType, key: str, path: str, notes: _ParseContext) -> list[object] | None:
    if not isinstance(value, list):
        notes.fault(path, "invalid_type", f"`{key}` must be a list, not {describe_type(value)}.")
        return None
    if len(value) > kind.maximum:
        most = f"`{key}` may hold at most {kind.maximum}, not {len(value)}."
        notes.fault(path, "too_many", most)
        value = value[: kind.maximum]
    if isinstance(kind.kind, IntegerType):
        for n, each in enumerate(value):
            if fault := kind.kind.fault(each):
                notes.fault(f"{path}[{n}]", fault[0], f"`{key}[{n}]` {fault[1]}")
                return None
        return value
    parts: list[object] = []
    for n, each in enumerate(value):
        if isinstance(each, dict):
            parts.append(_object(each, kind.kind, f"{path}[{n}]", notes))
        else:
            notes.fault(
                f"{path}[{n}]", "invalid_type", f"`{key}[{n}]` must be an object, not {describe_type(each)}."
            )
            parts.append({})
    return parts


def _weights(value: object, key: str, path: str, notes: _ParseContext) -> dict[str, Decimal] | None:
    if not isinstance(value, dict):
        notes.fault(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
        return None
    if len(value) > MAX_BUCKETS:
        notes.fault(path, "too_many", f"`{key}` may hold at most {MAX_BUCKETS} buckets, not {len(value)}.")
        return None
    weights = {}
    for written, points in value.items():
        bucket = normalized(written)
        name = _printable(bucket)
        if fault := names.bucket_name_problem(bucket) or _too_long(bucket):
            notes.fault(path, "invalid", f"`{key}` has a key that cannot be a bucket's: {name} {fault}")
            return None
        if bucket in weights:
            notes.fault(f"{path}.{name}", "duplicate", f"`{key}.{name}` is sent twice.")
        elif type(points) not in (int, float):
            wrong = f"`{key}.{name}` must be a number, not {describe_type(points)}."
            notes.fault(f"{path}.{name}", "invalid_type", wrong)
        elif not -MAX_NUMBER <= points <= MAX_NUMBER:  # which NaN is not either
            notes.fault(f"{path}.{name}", "invalid", f"`{key}.{name}` must be a number up to 10^15.")
        else:
            weights[bucket] = Decimal(str(points))
    return weights


def _action_config(*, source_key: str | None = None, **taken: Any) -> ActionConfig:
    return ActionConfig(source_key=source_key and normalized(source_key), **taken)


def _condition(
    raw: Mapping[str, object], path: str, notes: _ParseContext, depth: int = 1
) -> dict[str, object]:
    """A Condition without the keys that nobody knows. Its meaning is for `conditions` to judge."""
    kept: dict[str, object] = {}
    for key, value in raw.items():
        if key not in _CONDITION_KEYS:
            notes.ignored.append(f"{path}.{_printable(key)}")
            continue
        if isinstance(value, list) and depth <= MAX_DEPTH:
            for n, part in enumerate(value):
                if isinstance(part, str) and is_unstorable(part):
                    notes.fault(f"{path}.{key}[{n}]", "invalid", f"`{key}[{n}]` {UNSTORABLE_MESSAGE}")
            value = [
                _condition(part, f"{path}.{key}[{n}]", notes, depth + 1) if isinstance(part, dict) else part
                for n, part in enumerate(value)
            ]
        elif isinstance(value, str) and is_unstorable(value):
            notes.fault(f"{path}.{key}", "invalid", f"`{key}` {UNSTORABLE_MESSAGE}")
        kept[key] = value
    return kept


# --- One block ------------------------------------------------------------------------------------


def _block(raw: object, path: str, notes: _ParseContext) -> tuple[Block, BlockPath]:
    if not isinstance(raw, dict):
        notes.fault(path, "invalid_type", f"`{_last(path)}` must be an object, not {describe_type(raw)}.")
        return Block(type=_UNREADABLE), BlockPath(path)
    taken = _object(raw, BLOCK, path, notes)
    taken.setdefault("type", _UNREADABLE)
    place = BlockPath(path)
    if taken.get("section") == "outro" and raw.get("id") is None:
        notes.fault(place.at("id"), "required", OUTRO_NEEDS_ID)
    if "options" in taken:
        place = BlockPath(path, _sorted_options(taken))
    if any(taken.get(key) is not None for key in _CORRECT_KEYS):
        notes.violations += correct_answers.resolve(taken, place)
    taken.pop("correct_answer_id", None)
    if "show_when" in taken or "hide_when" in taken:
        _compile(taken, place, notes)
    taken["scores_ignored"] = not notes.scoring and _weighs(raw)
    return Block(**taken), place  # type: ignore[arg-type]  # the table is held to Block by a test


def _weighs(raw: Mapping[str, object]) -> bool:
    """Whether any option of a block is sent with points."""
    options = raw.get("options")
    if not isinstance(options, list):
        return False
    return any(isinstance(option, dict) and bool(option.get("score_values")) for option in options)


def _sorted_options(taken: dict[str, object]) -> tuple[int, ...]:
    sent: Sequence[dict[str, object]] = taken["options"]  # type: ignore[assignment]
    order = range(len(sent))
    if any("display_order" in option for option in sent):
        order = sorted(order, key=lambda n: sent[n].get("display_order", n))  # type: ignore[assignment, arg-type, return-value]
    options = []
    for n, index in enumerate(order):
        sent[index]["display_order"] = n
        options.append(Option(**{"value": "", **sent[index]}))  # type: ignore[arg-type]
    taken["options"] = tuple(options)
    return tuple(order)


def _compile(taken: dict[str, object], place: BlockPath, notes: _ParseContext) -> None:
    """The precondition that the condition comes to; exactly one of the three may say something else."""
    written = taken.get("precondition")
    both = "show_when" in taken and "hide_when" in taken
    if both:
        notes.fault(
            place.at("hide_when"), "conflicting", "`hide_when` and `show_when` cannot be sent together."
        )
    compiled = None
    for key in ("show_when", "hide_when"):
        if key not in taken:
            continue
        try:
            compiled = conditions.compile(taken[key], hide=key == "hide_when")  # type: ignore[arg-type]
        except conditions.ConditionError as fault:
            notes.violations += [
                Violation(_joined(place.at(key), where), code, message)
                for where, code, message in fault.faults
            ]
    if both or compiled is None:
        return
    if written is not None and written != compiled:
        key = "show_when" if "show_when" in taken else "hide_when"
        message = f"`precondition` cannot be sent with `{key}`, unless it is what `{key}` compiles to."
        notes.fault(place.at("precondition"), "conflicting", message)
    else:
        taken["precondition"] = compiled


def _joined(path: str, inner: str) -> str:
    if not inner or inner.startswith("["):
        return path + inner
    return f"{path}.{inner}"


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _too_long(name: str) -> str | None:
    return f"must have at most {MAX_BUCKET_NAME} characters." if len(name) > MAX_BUCKET_NAME else None


def _printable(key: object) -> str:
    """A key as it may stand in a header: hostile ones shortened and made plain."""
    return re.sub(r"[^\w -]", "?", str(key)[:64], flags=re.ASCII)


_BUILD: Mapping[str, Callable[[dict[str, object]], object]] = {
    SCALE.name: lambda taken: Scale(**taken),  # type: ignore[arg-type]
    ACTION_CONFIG.name: lambda taken: _action_config(**taken),  # type: ignore[arg-type]
    CONTINUE.name: lambda taken: Continue(**taken),  # type: ignore[arg-type]
}
