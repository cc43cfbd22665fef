"""A raw answer to a block → a reply, or the rule that the answer violates.

A reply is a small JSON object, stored in the conversation's state:
`{"option_ids": [...]}` for choices and rankings (best first), `{"number": "4.5"}` for scales and
numerics (in one form: `3.0` is stored as `3`), `{"text": "..."}`, or `{"skipped": true}`. Beside
`option_ids`, `other` is what somebody wrote for an option with `is_other`:
`{"option_id": 311, "text": "..."}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from communities.ground.sent_text import is_unstorable, sent_text
from communities.ground.translation import number as in_digits
from communities.ground.translation import say
from surveys.engine.intake.fields import MAX_NUMBER, MAX_OTHER_TEXT
from surveys.engine.language.values import Value, day_in_words, json_bytes, plain_digits
from surveys.engine.script import CHOICES, NUMBERS, SCALES, Block, Option, Violation
from surveys.engine.walk import defaults, follow_ups, formats

Reply = Mapping[str, object]
SKIPPED: Reply = {"skipped": True}
MAX_TEXT = 10_000
MAX_TEXT_BYTES = 4 * MAX_TEXT  # as JSON, in which a control character takes six bytes
MAX_DECIMALS = 100
OTHER = "other"  # of a reply, and of a state
ANSWER_KEYS = ("value", "option_id", "option_ids", "ranking", "skip")


class InvalidAnswer(ValueError):
    """An answer that its block does not accept. `violation` names the field and the reason."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.violation = Violation(field, code, message)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One stored row of a reply. `number` is set if the answer counts or compares as a number."""

    ordinal: int
    value: str
    option_id: int | None = None
    number: float | None = None


def is_sent(raw: Mapping[str, object]) -> bool:
    """Whether an answer object contains an answer of any kind, including a skip."""
    return bool(_sent(raw))


def _sent(raw: Mapping[str, object]) -> list[str]:
    return [key for key in ANSWER_KEYS if raw.get(key) is not None and raw.get(key) is not False]


def parse(block: Block, raw: Mapping[str, object]) -> Reply:
    """The reply to `block` that `raw` (the interface's answer object) contains.

    One of `value`, `option_id`, `option_ids`, `ranking` and `skip` is expected, beside it `other_text` if an
    option with `is_other` is chosen; null counts as not sent. Raises InvalidAnswer if the answer does not fit
    the block.
    """
    reply, text = parse_choice(block, raw), _other_text(raw)
    if not lacks_text(block, reply):
        if text:
            message = "`other_text` belongs to an option with `is_other`, and none is chosen."
            raise InvalidAnswer("other_text", "not_allowed", message)
        return reply
    assert block.other is not None
    if not text:
        message = say("Write your answer to “{option}”.", option=block.other.display_text)
        raise InvalidAnswer("other_text", "required", message)
    return {**reply, OTHER: {"option_id": block.other.id, "text": text}}


def lacks_text(block: Block, reply: Reply) -> bool:
    """Whether a reply chooses an option with `is_other` and has no text for it (rule 6.152)."""
    if block.other is None or OTHER in reply or "option_ids" not in reply:
        return False
    return block.other.id in _option_ids(reply)


def _other_text(raw: Mapping[str, object]) -> str:
    text = raw.get("other_text")
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InvalidAnswer("other_text", "invalid_type", "`other_text` must be text.")
    text = sent_text(text)
    if len(text) > MAX_OTHER_TEXT:
        message = say("`other_text` must have at most {most} characters.", most=MAX_OTHER_TEXT)
        raise InvalidAnswer("other_text", "too_long", message)
    if is_unstorable(text):
        message = "`other_text` must not contain null characters or unpaired surrogates."
        raise InvalidAnswer("other_text", "invalid", message)
    return text


def other_of(reply: Reply | None) -> tuple[int, str] | None:
    """The option with `is_other` that a reply chose, and the text for it; None if it has none."""
    other = (reply or {}).get(OTHER)
    return (other["option_id"], other["text"]) if isinstance(other, dict) else None


def parse_choice(block: Block, raw: Mapping[str, object]) -> Reply:
    """The same reply as `parse` returns, without the text of an option, which it may lack."""
    sent = _sent(raw)
    if len(sent) > 1:
        raise InvalidAnswer(sent[1], "conflicting", f"Send either {sent[0]} or {sent[1]}, not both.")
    if not sent or sent == ["skip"]:
        return _skip(block, is_explicit=bool(sent))
    key = sent[0]
    if key == "ranking" and block.type != "ranking":
        raise InvalidAnswer(key, "not_allowed", "Only a ranking is answered with ranking.")
    if block.type == "open_text":
        return _text(block, key, raw[key])
    if block.type in NUMBERS:
        return _number(block, key, raw[key])
    return _chosen(block, key, raw[key])


def _skip(block: Block, *, is_explicit: bool) -> Reply:
    if block.required:
        raise InvalidAnswer(
            "skip" if is_explicit else "value", "required", say("This question needs an answer.")
        )
    return SKIPPED


def _text(block: Block, key: str, raw: object) -> Reply:
    if key != "value" or isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        raise InvalidAnswer(key, "invalid_type", "Answer this question with a text in value.")
    text = sent_text(str(raw))
    if not text:
        return _skip(block, is_explicit=False)
    if is_unstorable(text):
        message = say("The answer must not contain null characters or unpaired surrogates.")
        raise InvalidAnswer("value", "invalid", message)
    if len(text) > MAX_TEXT:
        message = say("The answer is longer than {most} characters.", most=in_digits(MAX_TEXT))
        raise InvalidAnswer("value", "too_long", message)
    if 6 * len(text) > MAX_TEXT_BYTES and json_bytes(text) > MAX_TEXT_BYTES + 2:  # with its quotes
        message = say(
            "The answer has more than {most} bytes as JSON. Leave out control characters.",
            most=in_digits(MAX_TEXT_BYTES),
        )
        raise InvalidAnswer("value", "too_long", message)
    if block.format and (fault := formats.problem(block.format, text)):
        raise InvalidAnswer("value", "invalid", fault)
    return {"text": text}


def _number(block: Block, key: str, raw: object) -> Reply:
    if key == "option_id" and block.type in SCALES:
        raw = _option_of(block, key, raw)
        key = "value"
    if key != "value" or isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        raise InvalidAnswer(key, "invalid_type", "Answer this question with a number in value.")
    text = sent_text(str(raw))
    if not text:
        return _skip(block, is_explicit=False)
    number = _decimal(text)
    text = plain_digits(number)
    low, high = block.points if block.type in SCALES else (block.min, block.max)
    if (block.whole or block.type in SCALES) and number != number.to_integral_value():
        raise InvalidAnswer("value", "invalid", say("Answer with a whole number, such as 3."))
    if low is not None and number < low:
        message = say("Answer with a number of at least {least}.", least=in_digits(low))
        raise InvalidAnswer("value", "too_small", message)
    if high is not None and number > high:
        message = say("Answer with a number of at most {most}.", most=in_digits(high))
        raise InvalidAnswer("value", "too_large", message)
    return {"number": text}


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or "_" in text:  # `Decimal` also takes `1_0`
        message = say("This is not a number. Send digits, for example 12.50.")
        raise InvalidAnswer("value", "invalid", message)
    if number.copy_abs() > MAX_NUMBER:
        raise InvalidAnswer("value", "too_large", say("Numbers must be between -10^15 and 10^15."))
    if int(number.as_tuple().exponent) < -MAX_DECIMALS:
        message = say("Numbers must have at most {most} decimals.", most=MAX_DECIMALS)
        raise InvalidAnswer("value", "invalid", message)
    return number


def _option_of(block: Block, key: str, raw: object) -> str:
    option = block.option_by_id.get(raw) if type(raw) is int else None
    if option is None:
        raise InvalidAnswer(key, "not_found", say("No option of this question has this id."))
    return option.value


def _chosen(block: Block, key: str, raw: object) -> Reply:
    ids = _ids_by_value(block, raw) if key == "value" else _ids(block, key, raw)
    if len(set(ids)) < len(ids):
        raise InvalidAnswer(key, "duplicate", say("The answer contains an option twice."))
    if not ids:
        return _skip(block, is_explicit=False)
    if block.type == "single_punch" and len(ids) > 1:
        raise InvalidAnswer(key, "too_many", say("Choose one option."))
    if block.type == "multi_punch":
        _count_choices(block, key, ids)
        # Options are stored in the script's order, so neither clicks nor a shuffle affect logic.
        ids = _in_order(block, ids)
    if block.type == "ranking":
        count = block.rank_top_n or len(block.options)
        if len(ids) != count:
            message = "Rank every item." if count == len(block.options) else f"Rank exactly {count} items."
            raise InvalidAnswer(key, "too_few" if len(ids) < count else "too_many", message)
    return {"option_ids": ids}


def _count_choices(block: Block, key: str, ids: list[int]) -> None:
    """Rule 6.150: an exclusive option is chosen alone, whatever the limits are."""
    count = len(ids)
    exclusive = next((option for each in ids if (option := block.option_by_id[each]).is_exclusive), None)
    if exclusive is not None:
        if count > 1:
            message = say("“{option}” cannot be chosen together with others.", option=exclusive.display_text)
            raise InvalidAnswer(key, "conflicting", message)
        return
    if block.min is not None and count < block.min:
        raise InvalidAnswer(key, "too_few", say("Choose at least {count}.", count=block.min))
    if block.max is not None and count > block.max:
        raise InvalidAnswer(key, "too_many", say("Choose at most {count}.", count=block.max))


def _ids(block: Block, key: str, raw: object) -> list[int]:
    ids = raw if isinstance(raw, list | tuple) else [raw]
    if (key == "option_id") == isinstance(raw, list | tuple):
        kind = "one option id" if key == "option_id" else "a list of option ids"
        raise InvalidAnswer(key, "invalid_type", f"{key} takes {kind}.")
    for option_id in ids:
        if type(option_id) is not int or option_id not in block.option_by_id:
            raise InvalidAnswer(key, "not_found", say("No option of this question has this id."))
    return list(ids)


def _ids_by_value(block: Block, raw: object) -> list[int]:
    """The ids of options by their values, or else by their labels. `raw` is one text or a list."""
    by_name: dict[str, int] = {}
    for option in block.options:
        if option.id is not None:
            by_name.setdefault(sent_text(option.value), option.id)
    for option in block.options:
        if option.id is not None and option.label:
            by_name.setdefault(sent_text(option.label), option.id)
    names = raw if isinstance(raw, list | tuple) else [raw]
    if len(names) == 1 and isinstance(names[0], str) and not sent_text(names[0]):
        return []
    ids = []
    for name in names:
        if isinstance(name, bool) or not isinstance(name, str | int | float | Decimal):
            raise InvalidAnswer("value", "invalid_type", "Name the option by its value, as text.")
        option_id = by_name.get(sent_text(str(name)))
        if option_id is None:
            raise InvalidAnswer("value", "not_found", "No option of this question has this value.")
        ids.append(option_id)
    return ids


def as_sent(block: Block, reply: Reply) -> dict[str, object]:
    """The answer object that gives this reply, with the one key that suits its block.

    A text for an option that has lost its `is_other` is left out, as it would be refused (rule 6.190).
    """
    if "skipped" in reply:
        return {"skip": True}
    if "option_ids" not in reply:
        return {"value": reply["text"] if "text" in reply else reply["number"]}
    ids, other = _option_ids(reply), other_of(reply)
    takes_text = other is not None and block.other is not None and block.other.id == other[0]
    text = {"other_text": other[1]} if other is not None and takes_text else {}
    if block.type == "single_punch":
        return {"option_id": ids[0], **text}
    return {"ranking" if block.type == "ranking" else "option_ids": ids, **text}


def fits(block: Block, reply: Reply) -> bool:
    """Whether a stored reply still answers its block after the script was edited."""
    if "skipped" in reply:
        return not block.required
    if block.type == "ranking" and block.rank_top_n is None and "option_ids" in reply:
        ranked = _option_ids(reply)  # items may have been added since (rule 2.10)
        return len(ranked) > 1 and set(ranked) <= block.option_by_id.keys()
    raw = as_sent(block, reply)
    try:
        parsed = parse_choice(block, raw)
    except InvalidAnswer:
        return False
    if block.type == "multi_punch" and "option_ids" in reply:  # its options may have been reordered
        return set(_option_ids(parsed)) == set(_option_ids(reply))
    return parsed == {key: part for key, part in follow_ups.without(reply).items() if key != OTHER}


def is_answer(reply: Reply | None) -> bool:
    """Whether there is a reply that is not a skip."""
    return reply is not None and "skipped" not in reply


def count(replies: Mapping[int, Reply]) -> int:
    """The number of replies that are not skips."""
    return sum("skipped" not in reply for reply in replies.values())


def rows(block: Block, reply: Reply) -> Sequence[AnswerRow]:
    """The rows that store a reply (rule 6.49); none for a skip."""
    if "text" in reply:
        return [AnswerRow(0, str(reply["text"]))]
    if "number" in reply:
        # A scale's answer is only a number; its distribution has no option ids (rule 6.54).
        return [AnswerRow(0, str(reply["number"]), number=float(str(reply["number"])))]
    chosen = enumerate(_option_ids(reply) if "option_ids" in reply else ())
    if block.type == "ranking":
        return [AnswerRow(n, str(n + 1), option_id, float(n + 1)) for n, option_id in chosen]
    return [AnswerRow(n, block.option_by_id[option_id].value, option_id) for n, option_id in chosen]


def value(block: Block, reply: Reply | None) -> Value:
    """The value of a reply in logic (rules 4.9 to 4.11); None without a reply."""
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
    """A reply as people read it: labels if there are any, a list joined by commas.

    A text that was written for an option replaces the option (rule 6.153).
    """
    if reply is None or "skipped" in reply:
        return ""
    if "text" in reply:
        return str(reply["text"])
    if "number" in reply:
        number = str(reply["number"])
        return defaults.words_of_point(block, number) if block.type in SCALES else number
    other_id, other_text = other_of(reply) or (None, "")
    return ", ".join(
        other_text if option_id == other_id else block.option_by_id[option_id].display_text
        for option_id in _chosen_ids(block, reply)
    )


def text_as_read(block: Block, reply: Reply | None) -> str:
    """A reply as it is shown to its respondent: a date in words, a ranking with its numbers."""
    if block.type == "ranking" and reply is not None:
        named = (option.display_text for option in chosen_options(block, reply))
        return "\n".join(f"{rank}. {text}" for rank, text in enumerate(named, start=1))
    text = display_text(block, reply)
    return day_in_words(text) if block.format == "date" else text


def chosen_options(block: Block, reply: Reply) -> Iterator[Option]:
    """The options that a reply chose. For a scale, the option of the chosen point, if points have options."""
    if "option_ids" in reply:
        for option_id in _chosen_ids(block, reply):
            yield block.option_by_id[option_id]
    elif block.type in SCALES:
        text = str(reply.get("number"))
        yield from (option for option in block.options if option.value == text)


def is_graded(block: Block) -> bool:
    """Whether answers to a block are graded as correct or incorrect."""
    return bool(block.correct_answer_ids) and block.type in CHOICES | SCALES


def is_correct(block: Block, reply: Reply) -> bool | None:
    """Whether a graded question was answered correctly; None if it is not graded or was skipped."""
    if not is_graded(block) or not is_answer(reply):
        return None
    return {option.id for option in chosen_options(block, reply)} == set(block.correct_answer_ids or ())


def _chosen_ids(block: Block, reply: Reply) -> list[int]:
    """The chosen options that the block still has. A ranking is best first, others are in block order."""
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
