"""Converts a submitted form into an API answer, or back into the values of its controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.http import HttpRequest, QueryDict

from communities.ground.ids import id_of
from communities.ground.translation import say
from surveys import written_numbers
from surveys.drawing.widgets import Typed
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.script import CHOICES, GROUPED, SCALES, Block, Script
from surveys.engine.walk import defaults

SHOW_PAST = "show-past"  # the action of the buttons that lead to earlier and later past steps
PAST = "_past"  # the field of these buttons, and the parameter of the address to which they lead
ROWS = "rows"  # the field that names the questions of a group
CONSENT = "consent"  # the box that is ticked before the first answer is stored
PRIVACY_MARK = "privacy"  # the field with the mark of what the page says about privacy
OWNER = "owner"  # the name under which the browser stores what is typed (`browsers.owner_of_typed`)
SEND, REVISE = "send", "revise:"  # what the buttons of the review do; the block's id follows the second
MAX_DIGITS = 4


_UNRANKED = {  # by whether only the best are ranked, and an answer is required
    (True, True): "Choose your best {count}.",
    (True, False): "Choose your best {count}, or press “{skip}”.",
    (False, True): "Put the items in order.",
    (False, False): "Put the items in order, or press “{skip}”.",
}
_RANK_SOME = "Choose {count} items: give each number from 1 to {count} once."
_RANK_ALL = "Rank every item: give each number from 1 to {count} once."


class BadForm(ValueError):
    """The form is not a valid answer, for example a rank given twice. The message says how to correct it."""


def raw_answer(block: Block, sent: QueryDict, *, language: str) -> Mapping[str, object]:
    """Return the answer object (rules 6.7 and 6.8) of a form; `language` is the page's. Raises BadForm."""
    answer: dict[str, object] = {"block_id": block.id}
    if sent.get("do") == "skip":
        return answer | {"skip": True}
    if block.type in CHOICES:
        return {**answer, **_chosen(block, sent)}
    if block.type == "ranking":
        return answer | {"ranking": _ranking(block, sent)}
    value = _clean(sent.get("value", ""))
    if block.type == "open_numeric":
        try:
            value = written_numbers.read(value, language=language)
        except written_numbers.UnclearNumber as unclear:
            raise BadForm(str(unclear)) from None
    return answer | {"value": value}


def row_answers(script: Script, sent: QueryDict) -> list[Mapping[str, object]]:
    """Return the answer objects of a group's form, in the order of the script; empty for any other form."""
    ids = filter(None, map(id_of, sent.get(ROWS, "").split()[:MAX_BLOCKS]))
    blocks = [script.blocks[script.index_by_id[each]] for each in ids if each in script.index_by_id]
    return [row_answer(block, sent.getlist(f"row-{block.id}")) for block in blocks if block.type in GROUPED]


def row_answer(block: Block, chosen: Iterable[str]) -> Mapping[str, object]:
    """Return the answer object of one row; without an answer if nothing is `chosen`."""
    values = list(chosen)
    answer: dict[str, object] = {"block_id": block.id}
    if block.type in SCALES:
        return answer | {"value": "".join(values[:1])}
    ids = _ids(values)
    key = "option_ids" if block.type == "multi_punch" else "option_id"
    return answer | ({key: ids if block.type == "multi_punch" else ids[0]} if ids else {})


def revised_id(do: str) -> int:
    """The id of the block whose answer the review's button wants to change; 0 for none."""
    return id_of(do.removeprefix(REVISE)) or 0


def _chosen(block: Block, sent: QueryDict) -> Mapping[str, object]:
    """The chosen options, and the text for the one with `is_other`.

    Who writes a text without a script on the page has chosen its option too: in a single punch, if no other
    is chosen. Raises BadForm for a text that is no option of a menu.
    """
    chosen, text = _ids(sent.getlist("option")), _clean(sent.get("other", "")).strip()
    other_id = block.other.id if block.other else None
    if 0 in chosen and block.answer_style == "select_menu":  # what was typed into a long menu
        raise BadForm(say("Choose one from the list. Nothing in the list is called what you typed."))
    is_meant = block.type == "multi_punch" or not chosen
    if text and is_meant and other_id is not None and other_id not in chosen:
        chosen.append(other_id)
    answer: dict[str, object] = {}
    if chosen:
        answer = {"option_id": chosen[0]} if block.type == "single_punch" else {"option_ids": chosen}
    return answer | ({"other_text": text} if other_id in chosen else {})


def follow_up_of(sent: QueryDict) -> int:
    """Which further question the form was about; 0 for the question itself."""
    number = sent.get("follow_up", "")
    return int(number) if number in ("1", "2") else 0


def typed_in(block: Block | None, sent: QueryDict) -> Typed:
    """Return the submitted values, to fill in the controls again."""
    ranks = {str(option.id): sent.get(f"rank-{option.id}", "") for option in (block.options if block else ())}
    rows = {
        block_id: frozenset(sent.getlist(f"row-{each}"))
        for each in sent.get(ROWS, "").split()[:MAX_BLOCKS]
        if (block_id := id_of(each))
    }
    value, chosen = sent.get("value", ""), sent.getlist("option")
    return Typed(
        rows=rows,
        chosen=frozenset([*chosen, value]),
        ranks=ranks,
        text=value,
        other=sent.get("other", ""),
        consent=sent.get(CONSENT, ""),
    )


def in_words(block: Block | None, sent: QueryDict) -> str:
    """Return the submitted answer as text, for pages that no longer have its control."""
    value = sent.get("value", "")
    if block is None:
        return value
    if block.type == "ranking":
        ranks = {option: sent.get(f"rank-{option.id}", "") for option in block.options}
        ranked = sorted((int(rank), option.display_text) for option, rank in ranks.items() if _is_rank(rank))
        return ", ".join(text for _, text in ranked)
    if block.type in SCALES:
        return next((option.display_text for option in block.options if option.value == value), value)
    chosen = set(sent.getlist("option"))
    named = [option.display_text for option in block.options if str(option.id) in chosen]
    return ", ".join(filter(None, [*named, sent.get("other", "")])) or value


def _clean(value: str) -> str:
    """Turn the CRLF that browsers send into LF, and remove null characters, which PostgreSQL cannot store."""
    return value.replace("\r\n", "\n").replace("\x00", "")


def _ids(sent: list[str]) -> list[int]:
    """Return ids as numbers. Invalid ids become 0, which is no option's id."""
    return [id_of(each) or 0 for each in sent if each]


def _is_rank(written: str) -> bool:
    return written.isascii() and written.isdigit() and len(written) < 4


def _ranking(block: Block, sent: QueryDict) -> list[int]:
    by_rank: dict[int, int] = {}
    for option in block.options:
        written = sent.get(f"rank-{option.id}", "").strip()
        if not written:
            continue
        rank = int(written) if _is_rank(written) else 0
        if rank in by_rank:
            raise BadForm(say("Two items have the number {rank}. Give each number once.", rank=rank))
        by_rank[rank] = option.id or 0
    counted = block.rank_top_n or len(block.options)
    is_best = counted < len(block.options)
    if not by_rank:  # no skip either: the order in which the items are shown looks like an answer
        raise BadForm(say(_UNRANKED[is_best, bool(block.required)], count=counted, skip=say(defaults.SKIP)))
    if sorted(by_rank) != list(range(1, counted + 1)):
        raise BadForm(say(_RANK_SOME if is_best else _RANK_ALL, count=counted))
    return [by_rank[rank] for rank in sorted(by_rank)]


def past_before(request: HttpRequest) -> int | None:
    """The step before which the past steps on the page end, from the address or from the pressed button."""
    sent = request.POST if request.POST.get("do") == SHOW_PAST else request.GET
    number = sent.get(PAST, "")
    return int(number) if number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS else None
