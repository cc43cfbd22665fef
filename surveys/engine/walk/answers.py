"""A raw answer against a block: a reply to keep, or what is wrong with it.

A reply is a small JSON object, kept in the conversation's state:
`{"option_ids": [...]}` for choices and rankings (best first), `{"number": "4.5"}` for scales and
numerics (decimal text, as it was given), `{"text": "..."}`, or `{"skipped": true}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from surveys.engine.language.expressions import Value
from surveys.engine.script import CHOICES, NUMBERS, SCALES, Block, Option, Violation

Reply = Mapping[str, object]
SKIPPED: Reply = {"skipped": True}
MAX_TEXT = 10_000
LARGEST_NUMBER = Decimal(10) ** 15
MAX_DECIMALS = 100
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch
ANSWER_KEYS = ("value", "option_id", "option_ids", "ranking", "skip")


class InvalidAnswer(ValueError):
    """An answer that its block does not take; `violation` names the field and the reason."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.violation = Violation(field, code, message)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One stored row of a reply. `number` is set where the answer counts or compares as a number."""

    ordinal: int
    value: str
    option_id: int | None = None
    number: float | None = None


def parse(block: Block, raw: Mapping[str, object]) -> Reply:
    """The reply that `raw` (the interface's answer object) makes to `block`.

    Raises BadAnswer where it does not fit. Exactly one of `value`, `option_id`, `option_ids`,
    `ranking` and `skip` is expected; null counts as not sent.
    """
    given = [way for way in ANSWER_KEYS if raw.get(way) is not None and raw.get(way) is not False]
    if len(given) > 1:
        raise InvalidAnswer(given[1], "conflicting", f"Send either {given[0]} or {given[1]}, not both.")
    if not given or given == ["skip"]:
        return _skip(block, asked_to=bool(given))
    way = given[0]
    if way == "ranking" and block.type != "ranking":
        raise InvalidAnswer(way, "not_allowed", "Only a ranking is answered with ranking.")
    if block.type == "open_text":
        return _text(block, way, raw[way])
    if block.type in NUMBERS:
        return _number(block, way, raw[way])
    return _chosen(block, way, raw[way])


def _skip(block: Block, *, asked_to: bool) -> Reply:
    if block.required:
        raise InvalidAnswer("skip" if asked_to else "value", "required", "This question needs an answer.")
    return SKIPPED


def _text(block: Block, way: str, raw: object) -> Reply:
    if way != "value" or isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise InvalidAnswer(way, "invalid_type", "Answer this question with a text in value.")
    text = str(raw).strip()
    if not text:
        return _skip(block, asked_to=False)
    if _UNSTORABLE.search(text):
        told = "The answer holds null characters or halves of characters, which cannot be kept."
        raise InvalidAnswer("value", "invalid", told)
    if len(text) > MAX_TEXT:
        raise InvalidAnswer("value", "too_long", f"The answer is longer than {MAX_TEXT:,} characters.")
    return {"text": text}


def _number(block: Block, way: str, raw: object) -> Reply:
    if way == "option_id" and block.type in SCALES:
        raw = _option_of(block, way, raw)
        way = "value"
    if way != "value" or isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise InvalidAnswer(way, "invalid_type", "Answer this question with a number in value.")
    written = str(raw).strip()
    if not written:
        return _skip(block, asked_to=False)
    number = _decimal(written)
    written = _written(written, number)
    if block.type in SCALES:
        low: int | None
        high: int | None
        low, high = block.points
        if number != number.to_integral_value():
            raise InvalidAnswer("value", "invalid", "Answer with a whole number.")
        written = str(int(number))
    else:
        low, high = block.min, block.max
    if low is not None and number < low:
        raise InvalidAnswer("value", "too_small", f"Answer with a number of at least {low}.")
    if high is not None and number > high:
        raise InvalidAnswer("value", "too_large", f"Answer with a number of at most {high}.")
    return {"number": written}


def _decimal(written: str) -> Decimal:
    try:
        number = Decimal(written)
    except InvalidOperation:
        raise InvalidAnswer("value", "invalid", "This is not a number.") from None
    if not number.is_finite():
        raise InvalidAnswer("value", "invalid", "This is not a number.")
    if number.copy_abs() > LARGEST_NUMBER:
        raise InvalidAnswer("value", "too_large", "Numbers beyond 10^15 are not taken.")
    if int(number.as_tuple().exponent) < -MAX_DECIMALS:
        raise InvalidAnswer("value", "invalid", f"Numbers have at most {MAX_DECIMALS} decimals.")
    return number


def _written(written: str, number: Decimal) -> str:
    """The number as typed, if in plain digits; else (`1e3`, `1_000`, digits of other scripts) in those."""
    return written if _PLAIN(written) else format(number, "f")


def _option_of(block: Block, way: str, raw: object) -> str:
    option = block.option_by_id.get(raw) if type(raw) is int else None
    if option is None:
        raise InvalidAnswer(way, "not_found", "No option of this question has this id.")
    return option.value


def _chosen(block: Block, way: str, raw: object) -> Reply:
    ids = _ids_by_value(block, raw) if way == "value" else _ids(block, way, raw)
    if len(set(ids)) < len(ids):
        raise InvalidAnswer(way, "duplicate", "An option stands in the answer twice.")
    if not ids:
        return _skip(block, asked_to=False)
    if block.type == "single_punch" and len(ids) > 1:
        raise InvalidAnswer(way, "too_many", "Choose one option.")
    if block.type == "multi_punch":
        _count_choices(block, way, len(ids))
        # A set: kept in the script's order, so that neither clicks nor a shuffle decide what logic sees.
        ids = _in_order(block, ids)
    if block.type == "ranking":
        wanted = block.rank_top_n or len(block.options)
        if len(ids) != wanted:
            told = "Rank every item." if wanted == len(block.options) else f"Rank exactly {wanted} items."
            raise InvalidAnswer(way, "too_few" if len(ids) < wanted else "too_many", told)
    return {"option_ids": ids}


def _count_choices(block: Block, way: str, count: int) -> None:
    if block.min is not None and count < block.min:
        raise InvalidAnswer(way, "too_few", f"Choose at least {block.min}.")
    if block.max is not None and count > block.max:
        raise InvalidAnswer(way, "too_many", f"Choose at most {block.max}.")


def _ids(block: Block, way: str, raw: object) -> list[int]:
    ids = raw if isinstance(raw, list | tuple) else [raw]
    if (way == "option_id") == isinstance(raw, list | tuple):
        kind = "one option id" if way == "option_id" else "a list of option ids"
        raise InvalidAnswer(way, "invalid_type", f"{way} takes {kind}.")
    for option_id in ids:
        if type(option_id) is not int or option_id not in block.option_by_id:
            raise InvalidAnswer(way, "not_found", "No option of this question has this id.")
    return list(ids)


def _ids_by_value(block: Block, raw: object) -> list[int]:
    """Options named by what they are called: the value, else the label (a scalar or a list of them)."""
    by_name: dict[str, int] = {}
    for option in block.options:
        if option.id is not None:
            by_name.setdefault(option.value, option.id)
    for option in block.options:
        if option.id is not None and option.label:
            by_name.setdefault(option.label, option.id)
    names = raw if isinstance(raw, list | tuple) else [raw]
    if len(names) == 1 and isinstance(names[0], str) and not names[0].strip():
        return []
    ids = []
    for name in names:
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            raise InvalidAnswer("value", "invalid_type", "Name the option by its value, as text.")
        option_id = by_name.get(str(name), by_name.get(str(name).strip()))
        if option_id is None:
            raise InvalidAnswer("value", "not_found", "No option of this question has this value.")
        ids.append(option_id)
    return ids


def fits(block: Block, reply: Reply) -> bool:
    """Whether a kept reply still answers its block, after the block was written anew."""
    if "skipped" in reply:
        return not block.required
    if "option_ids" in reply:
        raw: Mapping[str, object] = {"option_ids": reply["option_ids"]}
        if block.type == "single_punch":
            raw = {"option_id": _option_ids(reply)[0]}
    else:
        raw = {"value": reply["text"] if "text" in reply else reply["number"]}
    try:
        now = parse(block, raw)
    except InvalidAnswer:
        return False
    if block.type == "multi_punch" and "option_ids" in reply:  # its options may stand in another order now
        return set(_option_ids(now)) == set(_option_ids(reply))
    return now == reply


def is_answer(reply: Reply | None) -> bool:
    """Whether there is a reply that is not a skip."""
    return reply is not None and "skipped" not in reply


def rows(block: Block, reply: Reply) -> Iterator[AnswerRow]:
    """The rows a reply is stored as (decisions 8.5); none for a skip."""
    if "text" in reply:
        yield AnswerRow(0, str(reply["text"]))
    elif "number" in reply:
        # A scale answer is told by its number alone; its distribution has no option ids (interface 2.11).
        yield AnswerRow(0, str(reply["number"]), number=float(str(reply["number"])))
    elif "option_ids" in reply:
        for ordinal, option_id in enumerate(_option_ids(reply)):
            if block.type == "ranking":
                yield AnswerRow(ordinal, str(ordinal + 1), option_id, float(ordinal + 1))
            else:
                yield AnswerRow(ordinal, block.option_by_id[option_id].value, option_id)


def value(block: Block, reply: Reply | None) -> Value:
    """What logic sees of a reply (decisions 6.4); None where there is no value."""
    if reply is None:
        return None
    if "text" in reply:
        return str(reply["text"])
    if "number" in reply:
        return Decimal(str(reply["number"]))
    if "option_ids" in reply:
        chosen = tuple(block.option_by_id[option_id].value for option_id in _chosen_ids(block, reply))
        if block.type == "single_punch":
            return chosen[0] if chosen else None
        return chosen
    return None


def display_text(block: Block, reply: Reply | None) -> str:
    """What a reader sees of a reply: labels where there are any, a list joined by commas."""
    if reply is None or "skipped" in reply:
        return ""
    if "text" in reply:
        return str(reply["text"])
    if "number" in reply:
        written = str(reply["number"])
        labels = {option.value: option.label for option in block.options if option.label}
        return labels.get(written) or written
    return ", ".join(block.option_by_id[option_id].display_text for option_id in _chosen_ids(block, reply))


def chosen_options(block: Block, reply: Reply) -> Iterator[Option]:
    """The options that a reply chose; of a scale the point's, where points have options."""
    if "option_ids" in reply:
        for option_id in _chosen_ids(block, reply):
            yield block.option_by_id[option_id]
    elif block.type in SCALES:
        written = str(reply.get("number"))
        yield from (option for option in block.options if option.value == written)


def is_graded(block: Block) -> bool:
    """Whether an answer to a block is right or wrong."""
    return bool(block.correct_answer_ids) and block.type in CHOICES | SCALES


def is_correct(block: Block, reply: Reply) -> bool | None:
    """Whether a graded question was answered rightly; None where it is not graded, or was skipped."""
    if not is_graded(block) or not is_answer(reply):
        return None
    return {option.id for option in chosen_options(block, reply)} == set(block.correct_answer_ids or ())


def _chosen_ids(block: Block, reply: Reply) -> list[int]:
    """The options of a reply that still are the block's: a ranking best first, the others in its order."""
    ids = _option_ids(reply)
    if block.type == "ranking":
        return [option_id for option_id in ids if option_id in block.option_by_id]
    return _in_order(block, ids)


def _in_order(block: Block, ids: list[int]) -> list[int]:
    return [option_id for option_id in block.option_by_id if option_id in ids]


def _option_ids(reply: Reply) -> list[int]:
    ids = reply["option_ids"]
    assert isinstance(ids, list)
    return ids
