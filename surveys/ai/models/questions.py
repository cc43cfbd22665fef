"""Checks of claims about results, remarks on questions, and further questions that a model wrote."""

from __future__ import annotations

import re
from typing import get_args

from surveys.ai.models.json_values import (
    JsonObject,
    as_flag,
    as_integer,
    as_list,
    as_objects,
    as_text,
    malformed,
)
from surveys.ai.models.plain_text import as_plain_line
from surveys.ai.provider import (
    MAX_FURTHER_QUESTION,
    Claim,
    FollowUpRequest,
    Remark,
    RemarkCode,
)
from surveys.ai.quotes import points_elsewhere

MAX_CLAIMS = 8
MAX_REMARKS = 60
_MAX_CLAIM = 400  # A claim has at most this many characters.
_MAX_REMARK = 300
_END_OF_SENTENCE = re.compile(r"[.!?…。！？؟](?=\s|$)")
_QUESTION_MARKS = ("?", "？", "؟")
# A respondent must not take what a model writes for a promise or an opinion of the community.
_PROMISES = re.compile(
    r"\b(?:we|i)(?:['’]ll| will| promise| guarantee| think| believe| agree| can offer)\b"
    r"|\bsorry\b|\bapologi[sz]"
    r"|\bwir (?:werden|versprechen|garantieren|finden|bieten)\b|\bich (?:finde|denke|glaube|verspreche)\b"
    r"|\bleider\b|\btut (?:mir|uns) leid\b|\bentschuldig"
    r"|\bnous (?:allons|promettons|pensons)\b|\bje (?:pense|crois|promets)\b|\bdésolé|\bmalheureusement\b"
    r"|\bvamos a\b|\bcreo que\b|\bpromet(?:o|emos)\b|\blo siento\b|\blo sentimos\b|\blamentamos\b"
    r"|\bnós vamos\b|\bacho que\b|\bachamos que\b|\bsinto muito\b|\bsentimos muito\b",
    re.IGNORECASE,
)


def read_claims(response: JsonObject) -> list[Claim]:
    """Return the claims with their references. The services check whether the figures confirm the claims."""
    if not isinstance(response.get("claims"), list):
        raise malformed()
    claims = []
    for entry in as_objects(response["claims"], most=200):
        text = as_plain_line(entry.get("text"), most=_MAX_CLAIM)
        references = [as_text(reference) for reference in as_list(entry.get("references"), most=200)]
        if text:
            claims.append(Claim(text, tuple(dict.fromkeys(references))))
    return claims[:MAX_CLAIMS]


def read_remarks(response: JsonObject, *, count: int) -> list[Remark]:
    """Return the remarks on the `count` blocks; at most one remark of each code for a block."""
    if not isinstance(response.get("remarks"), list):
        raise malformed()
    remarks: dict[tuple[int, str], Remark] = {}
    for entry in as_objects(response["remarks"], most=1_000):
        position, code = as_integer(entry.get("position")), as_text(entry.get("code"))
        message = as_plain_line(entry.get("message"), most=_MAX_REMARK)
        if position is not None and 0 <= position < count and code in get_args(RemarkCode) and message:
            remarks.setdefault((position, code), Remark(position, code, message))
    return sorted(remarks.values(), key=lambda remark: remark.position)[:MAX_REMARKS]


def read_further_question(response: JsonObject, request: FollowUpRequest) -> str | None:
    """Return the further question if it is one new sentence without a link or an address; else None.

    A promise or an opinion is not accepted, either.
    """
    if as_flag(response.get("is_clear")):
        return None
    question = as_plain_line(response.get("question"), most=2 * MAX_FURTHER_QUESTION)
    is_one_question = question.endswith(_QUESTION_MARKS) and len(_END_OF_SENTENCE.findall(question)) == 1
    asked = {_key(request.prompt), *(_key(earlier) for earlier, _ in request.earlier)}
    is_new = _key(question) not in asked
    is_short = len(question) <= MAX_FURTHER_QUESTION
    is_harmless = not (_PROMISES.search(question) or points_elsewhere(question))
    return question if is_one_question and is_short and is_new and is_harmless else None


def _key(question: str) -> str:
    return " ".join(question.casefold().split())
