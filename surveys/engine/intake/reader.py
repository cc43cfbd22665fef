"""Raw JSON → the engine's classes. Reading never raises: every fault becomes a violation.

    parsed     = reader.read_blocks(raw, path="blocks", scoring=project.scoring_enabled)
    parsed     = reader.read_patch(raw, block=stored, scoring=...)       # one block, sent fields merged in
    ordered    = ordering.order_blocks(parsed, before=stored_script)     # order and names
    violations = parsed.violations + rules.check(script, block_paths=ordered.block_paths,
                                                 invalid_fields=parsed.invalid_fields, ...)

Reading continues after a violation. An unreadable field gets the empty value of its type, and its path is
added to `invalid_fields`, so that the rules do not report it a second time. Reading ends once there are
`ENOUGH_VIOLATIONS`; the block that was being read is left out. The length of a list is checked before its
elements, and no more of them than the limit are read. Options are returned in display order, conditions with
their compiled precondition, and correct answers as ids if the option has one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from communities.ground.sent_text import UNSTORABLE_MESSAGE, is_unstorable, sent_text
from surveys.engine.intake import correct_answers
from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.field_types import (
    FieldSpec,
    IntegerType,
    ListType,
    ObjectType,
    TextType,
    WeightsType,
    describe_type,
)
from surveys.engine.intake.fields import (
    ACTION_CONFIG,
    BLOCK,
    CONTINUE,
    MAX_BUCKET_NAME,
    MAX_BUCKETS,
    MAX_NUMBER,
    MAX_SCRIPT_OPTIONS,
    SCALE,
)
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.language import conditions, names
from surveys.engine.language.conditions import CONNECTIVES, LEAF_FIELDS, MAX_NODES, MAX_VALUES
from surveys.engine.language.lexer import MAX_NESTING
from surveys.engine.script import (
    ENOUGH_VIOLATIONS,
    ActionConfig,
    Block,
    Continue,
    Option,
    Scale,
    Violation,
)

MAX_BLOCKS = 200  # rule 3.36
MAX_OUTRO_BLOCKS = 4
MAX_IGNORED = 1_000  # paths of unknown fields that are collected
# Word for word as rule 3.28 gives it, without the full stop of our other messages.
OUTRO_NEEDS_ID = "section='outro' requires id for update"
# The type for a block whose type cannot be read: such a block may be referred to, and has no required fields.
_UNREADABLE = "open_text"
_CONDITION_KEYS = frozenset({*LEAF_FIELDS, *CONNECTIVES})
_LOGIC_KEYS = ("precondition", "show_when", "hide_when")
_PLACES = ("correct_answer_index", "correct_answer_indexes")
_CORRECT_KEYS = ("correct_answer_ids", "correct_answer_id", *_PLACES)
_MERGED_KEYS = ("scale", "action_config", "continue")


@dataclass(frozen=True)
class ParsedBlocks:
    """The submitted blocks, as far as they could be read, in the order of the submitted array.

    `ignored` are the paths of unknown fields. `sent_keys` and `block_paths` have one entry for each block, in
    order.
    """

    blocks: tuple[Block, ...] = ()
    violations: list[Violation] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    sent_keys: tuple[frozenset[str], ...] = ()
    block_paths: tuple[BlockPath, ...] = ()

    @property
    def invalid_fields(self) -> frozenset[str]:
        """The paths of all fields that have a violation."""
        return frozenset(violation.field for violation in self.violations)


def read_blocks(raw: object, *, path: str, scoring: bool = True) -> ParsedBlocks:
    """Read a script's array of blocks.

    With `scoring` off, no `score_values` are refused, whatever they contain. Their block is marked as
    `scores_ignored`, and `revision.keep_stored_scores` decides which scores remain.
    """
    context = _ParseContext(scoring=scoring)
    if not isinstance(raw, list):
        code = "null" if raw is None else "invalid_type"
        context.report(path, code, f"`{_last(path)}` must be a list of blocks, not {describe_type(raw)}.")
        return ParsedBlocks(violations=context.violations)
    main = len(raw)
    if main <= MAX_BLOCKS + MAX_OUTRO_BLOCKS:
        main = sum(not (isinstance(item, dict) and item.get("section") == "outro") for item in raw)
    if main > MAX_BLOCKS:
        message = f"`{_last(path)}` must hold at most {MAX_BLOCKS} blocks, not {main}."
        context.report(path, "too_many", message)
        raw = raw[:MAX_BLOCKS]
    pairs: list[tuple[Block, BlockPath]] = []
    with suppress(_EnoughError):
        for n, item in enumerate(raw):
            pairs.append(_block(item, f"{path}[{n}]", context))
    raw = raw[: len(pairs)]
    # First, because a refusal repeats the message of its first violation, and this message is promised.
    context.violations.sort(key=lambda violation: violation.message != OUTRO_NEEDS_ID)
    return ParsedBlocks(
        blocks=tuple(block for block, _ in pairs),
        violations=context.violations,
        ignored=context.ignored,
        sent_keys=tuple(frozenset(item) if isinstance(item, dict) else frozenset() for item in raw),
        block_paths=tuple(block_path for _, block_path in pairs),
    )


def read_patch(raw: object, *, block: Block, scoring: bool = True) -> ParsedBlocks:
    """Read a patch of one block: the stored block merged with the submitted fields. Paths have no prefix.

    A field that is not sent stays unchanged, and an explicit null clears it. `scale`, `action_config` and
    `continue` change only in the submitted keys; lists and conditions are replaced. Sending one of
    `precondition`, `show_when` and `hide_when` replaces the stored logic.
    """
    if not isinstance(raw, dict):
        message = f"The block must be an object, not {describe_type(raw)}."
        violation = Violation("", "invalid_type", message)
        return ParsedBlocks(
            blocks=(block,),
            violations=[violation],
            sent_keys=(frozenset(),),
            block_paths=(BlockPath(""),),
        )
    context = _ParseContext(scoring=scoring)
    patched, block_path = block, BlockPath("")
    with suppress(_EnoughError):
        patched, block_path = _block(_merged(raw, block), "", context)
    return ParsedBlocks(
        blocks=(replace(patched, scores_ignored=not scoring and _has_scores(raw)),),
        violations=context.violations,
        ignored=context.ignored,
        sent_keys=(frozenset(raw),),
        block_paths=(block_path,),
    )


def _merged(raw: Mapping[str, object], block: Block) -> dict[str, object]:
    """The stored block as JSON, merged with the submitted fields."""
    stored = block_as_json(block, scoring=True)
    if any(key in raw for key in _CORRECT_KEYS):
        stored |= dict.fromkeys(("correct_answer_ids", *_PLACES))
    elif stored["correct_answer_ids"]:
        stored |= dict.fromkeys(_PLACES)  # the index changes when options move; the id does not
    stored |= _cleared_logic(raw, block)
    merged = {**stored, **raw, "id": block.id}
    for key in _MERGED_KEYS:
        old, new = stored[key], raw.get(key)
        is_new_action = (
            key == "action_config" and raw.get("action_kind", block.action_kind) != block.action_kind
        )
        if isinstance(old, dict) and isinstance(new, dict) and not is_new_action:
            merged[key] = {**old, **new}
    return merged


def _cleared_logic(raw: Mapping[str, object], block: Block) -> dict[str, object]:
    """The stored block's logic fields that a patch clears, each with None."""
    if any(raw.get(key) is not None for key in _LOGIC_KEYS):
        own = raw.get("precondition") == block.precondition and block.precondition is not None
        if own and raw.get("show_when") is None and raw.get("hide_when") is None:
            # The block's own compiled text was sent back; its condition was not sent, or is null.
            return {} if not {"show_when", "hide_when"} & raw.keys() else dict.fromkeys(_LOGIC_KEYS[1:])
        return dict.fromkeys(_LOGIC_KEYS)
    if "precondition" in raw:
        return dict.fromkeys(_LOGIC_KEYS)
    if any(key in raw and getattr(block, key) is not None for key in ("show_when", "hide_when")):
        return dict.fromkeys(_LOGIC_KEYS)
    return {}


# --- Reading objects by the table of fields ---------------------------------------------------------


class _EnoughError(Exception):
    """Enough violations are collected; reading further would be useless."""


class _ParseContext:
    """Collects violations and unknown fields while a request body is read.

    `room` is how many more options are read.
    """

    def __init__(self, *, scoring: bool) -> None:
        self.scoring = scoring
        self.violations: list[Violation] = []
        self.ignored: list[str] = []
        self.room = MAX_SCRIPT_OPTIONS

    def report(self, path: str, code: str, message: str) -> None:
        self.add([Violation(path, code, message)])

    def add(self, violations: Iterable[Violation]) -> None:
        self.violations += violations
        if len(self.violations) >= ENOUGH_VIOLATIONS:
            raise _EnoughError

    def ignore(self, path: str) -> None:
        if len(self.ignored) < MAX_IGNORED:
            self.ignored.append(path)


def _object(
    raw: Mapping[str, object], object_type: ObjectType, path: str, context: _ParseContext
) -> dict[str, object]:
    """The fields of one object by attribute name. Null and unreadable fields are left out."""
    values: dict[str, object] = {}
    prefix = f"{path}." if path else ""
    fields = object_type.fields
    for key, value in raw.items():
        if value is None and key in fields and fields[key].nullable:
            continue
        spec = fields.get(key)
        if spec is None:
            context.ignore(prefix + _printable(key))
        elif value is None:
            context.report(prefix + key, "null", f"`{key}` must not be null.")
        elif spec.is_scalar:
            if isinstance(spec.type, TextType):
                value = spec.type.stored(value)
            if problem := spec.type.problem(value):  # type: ignore[union-attr]  # checked by `is_scalar`
                context.report(prefix + key, problem[0], f"`{key}` {problem[1]}")
                if not (isinstance(value, str) and isinstance(spec.type, TextType)):
                    continue  # the text is stored: other blocks may refer to a name that is too long
            if value == "" and spec.empty_is_null:
                continue
            values[spec.attribute or key] = value
        else:
            part = _compound(value, spec, key, prefix + key, context)
            if part is not None:
                values[spec.attribute or key] = part
    for key in object_type.required:
        if key not in raw:
            context.report(prefix + key, "required", f"`{key}` is required.")
    return values


def _compound(value: object, spec: FieldSpec, key: str, path: str, context: _ParseContext) -> object:
    """The value of a field that is an object, a list, weights or a condition; None if it is unreadable."""
    type_ = spec.type
    if isinstance(type_, ObjectType):
        if isinstance(value, dict):
            return _BUILD[type_.name](_object(value, type_, path, context))
        context.report(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
        return None
    if isinstance(type_, ListType):
        return _list(value, type_, key, path, context)
    if isinstance(type_, WeightsType):
        return _weights(value, key, path, context if context.scoring else _ParseContext(scoring=False))
    if isinstance(value, dict):
        return _Conditions(context).read(value, path)
    context.report(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
    return None


def _list(
    value: object, list_type: ListType, key: str, path: str, context: _ParseContext
) -> list[object] | None:
    if not isinstance(value, list):
        context.report(path, "invalid_type", f"`{key}` must be a list, not {describe_type(value)}.")
        return None
    if len(value) > list_type.maximum:
        message = f"`{key}` must hold at most {list_type.maximum:,}, not {len(value):,}."
        context.report(path, "too_many", message)
        value = value[: list_type.maximum]
    item_type = list_type.item_type
    if isinstance(item_type, IntegerType):
        for n, item in enumerate(value):
            if problem := item_type.problem(item):
                context.report(f"{path}[{n}]", problem[0], f"`{key}[{n}]` {problem[1]}")
                return None
        return value
    if len(value) > context.room:
        message = f"All `{key}` of a script must be at most {MAX_SCRIPT_OPTIONS:,} together."
        context.report(path, "too_many", message)
        value = value[: context.room]
    context.room -= len(value)
    parts: list[object] = []
    for n, item in enumerate(value):
        if isinstance(item, dict):
            parts.append(_object(item, item_type, f"{path}[{n}]", context))
        else:
            message = f"`{key}[{n}]` must be an object, not {describe_type(item)}."
            context.report(f"{path}[{n}]", "invalid_type", message)
            parts.append({})
    return parts


def _weights(value: object, key: str, path: str, context: _ParseContext) -> dict[str, Decimal] | None:
    if not isinstance(value, dict):
        context.report(path, "invalid_type", f"`{key}` must be an object, not {describe_type(value)}.")
        return None
    if len(value) > MAX_BUCKETS:
        message = f"`{key}` must hold at most {MAX_BUCKETS} buckets, not {len(value)}."
        context.report(path, "too_many", message)
        return None
    weights = {}
    for raw_bucket, points in value.items():
        bucket = sent_text(raw_bucket)
        name = _printable(bucket)
        if problem := names.bucket_name_problem(bucket) or _too_long(bucket):
            context.report(path, "invalid", f"`{key}` has the key {name}, which {problem}")
            return None
        if bucket in weights:
            context.report(f"{path}.{name}", "duplicate", f"`{key}.{name}` is sent twice.")
        elif type(points) not in (int, float):
            message = f"`{key}.{name}` must be a number, not {describe_type(points)}."
            context.report(f"{path}.{name}", "invalid_type", message)
        elif not -MAX_NUMBER <= points <= MAX_NUMBER:  # false for NaN too
            message = f"`{key}.{name}` must be a number from -10^15 to 10^15."
            context.report(f"{path}.{name}", "invalid", message)
        else:
            weights[bucket] = Decimal(str(points))
    return weights


def _action_config(*, source_key: str | None = None, **values: Any) -> ActionConfig:
    return ActionConfig(source_key=source_key, **values)


class _Conditions:
    """Reads one Condition, and drops its unknown keys. `conditions` checks the rest.

    A condition that nests deeper or has more parts than the language allows is returned unchanged, and
    refused there.
    """

    def __init__(self, context: _ParseContext) -> None:
        self.context = context
        self.nodes = 0

    def read(self, raw: Mapping[str, object], path: str, depth: int = 1) -> dict[str, object]:
        self.nodes += 1
        condition: dict[str, object] = {}
        for key, value in raw.items():
            inner = f"{path}.{key}"
            if key not in _CONDITION_KEYS:
                self.context.ignore(f"{path}.{_printable(key)}")
                continue
            if isinstance(value, list) and len(value) <= MAX_VALUES and depth <= MAX_NESTING:
                value = [self.part(part, key, n, inner, depth) for n, part in enumerate(value)]
            elif isinstance(value, str):
                value = self.text(value, inner, key)
            condition[key] = value
        return condition

    def text(self, raw: str, path: str, name: str) -> str:
        if is_unstorable(raw):
            self.context.report(path, "invalid", f"`{name}` {UNSTORABLE_MESSAGE}")
        return sent_text(raw)

    def part(self, raw: object, key: str, n: int, path: str, depth: int) -> object:
        if isinstance(raw, str):
            return self.text(raw, f"{path}[{n}]", f"{key}[{n}]")
        if isinstance(raw, dict) and self.nodes < MAX_NODES:
            return self.read(raw, f"{path}[{n}]", depth + 1)
        return raw


# --- One block ------------------------------------------------------------------------------------


def _block(raw: object, path: str, context: _ParseContext) -> tuple[Block, BlockPath]:
    if not isinstance(raw, dict):
        message = f"`{_last(path)}` must be an object, not {describe_type(raw)}."
        context.report(path, "invalid_type", message)
        return Block(type=_UNREADABLE), BlockPath(path)
    values = _object(raw, BLOCK, path, context)
    values.setdefault("type", _UNREADABLE)
    block_path = BlockPath(path)
    if values.get("section") == "outro" and raw.get("id") is None:
        context.report(block_path.field("id"), "required", OUTRO_NEEDS_ID)
    if "options" in values:
        block_path = BlockPath(path, _sorted_options(values))
    if any(values.get(key) is not None for key in _CORRECT_KEYS):
        context.add(correct_answers.resolve(values, block_path))
    values.pop("correct_answer_id", None)
    if "show_when" in values or "hide_when" in values:
        _compile(values, block_path, context)
    values["scores_ignored"] = not context.scoring and _has_scores(raw)
    return Block(**values), block_path  # type: ignore[arg-type]  # a test compares the table with Block


def _has_scores(raw: Mapping[str, object]) -> bool:
    """Whether any option of a submitted block has points."""
    options = raw.get("options")
    if not isinstance(options, list):
        return False
    return any(isinstance(option, dict) and bool(option.get("score_values")) for option in options)


def _sorted_options(values: dict[str, object]) -> tuple[int, ...]:
    """Replace the options by `Option`s in display order; return each option's index in the submitted
    array.
    """
    sent: Sequence[dict[str, object]] = values["options"]  # type: ignore[assignment]
    order = range(len(sent))
    if any("display_order" in option for option in sent):
        order = sorted(order, key=lambda n: sent[n].get("display_order", n))  # type: ignore[assignment, arg-type, return-value]
    options = []
    for n, index in enumerate(order):
        sent[index]["display_order"] = n
        options.append(Option(**{"value": "", **sent[index]}))  # type: ignore[arg-type]
    values["options"] = tuple(options)
    return tuple(order)


def _compile(values: dict[str, object], block_path: BlockPath, context: _ParseContext) -> None:
    """Set the precondition that is compiled from `show_when` or `hide_when`.

    The two exclude each other, and a `precondition` that is sent with one of them must equal the compiled
    text.
    """
    sent = values.get("precondition")
    both = "show_when" in values and "hide_when" in values
    if both:
        message = "`hide_when` and `show_when` cannot be sent together."
        context.report(block_path.field("hide_when"), "conflicting", message)
    compiled = None
    for key in ("show_when", "hide_when"):
        if key not in values:
            continue
        try:
            compiled = conditions.compile(values[key], hide=key == "hide_when")  # type: ignore[arg-type]
        except conditions.ConditionError as error:
            context.add(
                Violation(_joined(block_path.field(key), inner), code, message)
                for inner, code, message in error.problems
            )
    if both or compiled is None:
        return
    if sent is not None and sent != compiled:
        key = "show_when" if "show_when" in values else "hide_when"
        message = f"`precondition` cannot be sent with `{key}`, unless it is what `{key}` compiles to."
        context.report(block_path.field("precondition"), "conflicting", message)
    else:
        values["precondition"] = compiled


def _joined(path: str, inner: str) -> str:
    """The path of a part of the field at `path`."""
    if not inner or inner.startswith("["):
        return path + inner
    return f"{path}.{inner}"


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def _too_long(name: str) -> str | None:
    return f"must have at most {MAX_BUCKET_NAME} characters." if len(name) > MAX_BUCKET_NAME else None


def _printable(key: object) -> str:
    """A key that is safe in a header: at most 64 characters, and `?` for unusual ones."""
    return re.sub(r"[^\w -]", "?", str(key)[:64], flags=re.ASCII)


_BUILD: Mapping[str, Callable[[dict[str, object]], object]] = {
    SCALE.name: lambda values: Scale(**values),  # type: ignore[arg-type]
    ACTION_CONFIG.name: lambda values: _action_config(**values),  # type: ignore[arg-type]
    CONTINUE.name: lambda values: Continue(**values),  # type: ignore[arg-type]
}
