"""Converts questionnaires of other systems into blocks of a script. Nothing is saved.

convert(format="xlsform", content="UEsDB…", …)     Converted(format, blocks, unmet)

A conversion is one of the large jobs of a process (rule 11.30).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from communities.gate import bodies
from communities.ground.errors import InvalidRequest
from communities.ground.slots import large_jobs, of_community
from surveys.services.converting import (
    blocks,
    formbricks,
    limesurvey,
    plain_text,
    qualtrics,
    sheets,
    surveyjs,
    tables,
    typeform,
    workbooks,
)
from surveys.services.converting.questionnaire import Questionnaire, unreadable

FORMATS = (
    "xlsform",
    "surveyjs",
    "typeform",
    "formbricks",
    "limesurvey",
    "qualtrics",
    "redcap",
    "csv",
    "text",
)
MAX_CONTENT = 8_388_608  # characters
SECONDS_TO_WAIT = 1.0  # for a slot; most conversions take less
RETRY_AFTER = 5  # seconds
BUSY = "Other questionnaires are being converted, or files are being made. Please retry shortly."
_slots = large_jobs
_DATA = re.compile(r"data:[\w.+/;=-]{0,100};base64,")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_JSON: dict[str, Callable[[object], Questionnaire]] = {
    "surveyjs": surveyjs.surveyjs,
    "typeform": typeform.typeform,
    "formbricks": formbricks.formbricks,
    "qualtrics": qualtrics.qualtrics,
}
_TEXTS: dict[str, Callable[[str], Questionnaire]] = {
    "redcap": sheets.redcap,
    "csv": sheets.questions,
    "text": plain_text.text,
}


@dataclass(frozen=True)
class Converted:
    """Blocks as a write of a script takes them, and what could not be said: where, and what."""

    format: str
    blocks: list[dict[str, Any]]
    unmet: list[dict[str, str]]


def convert(*, format: str | None, content: str, community_id: int) -> Converted:
    """Convert a content of one of FORMATS; None is the format that it seems to have.

    Raises InvalidRequest for a content that is not of its format, and Unavailable if others are converting.
    """
    owner = of_community(community_id)
    with _slots.held(owner, timeout=SECONDS_TO_WAIT, busy=BUSY, retry_after=RETRY_AFTER):
        data = _bytes(content)
        format = format or _guess(data)
        written, unmet = blocks.as_blocks(_read(format, data))
    if not written:
        unreadable("has no question that can be asked here.")
    return Converted(format, written, unmet)


def _guess(data: bytes) -> str:
    """The format that a content seems to have; `text` if it has no sign of another one."""
    if data.startswith(workbooks.SIGNS):
        return "xlsform"
    start = data[:4_096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return "limesurvey"
    if start.startswith((b"{", b"[")):
        return _guess_json(data)
    head = start.partition(b"\n")[0].lower()
    if b"field type" in head or b"field_type" in head:
        return "redcap"
    titles = re.split(r"[,;\t]", head.decode("utf-8", "replace"))
    is_table = len(titles) > 1 and any(
        title.strip(' "') in ("question", "prompt", "type") for title in titles
    )
    return "csv" if is_table else "text"


def _guess_json(data: bytes) -> str:
    try:
        content = _json(data)
    except orjson.JSONDecodeError:
        return "text"
    survey = content if isinstance(content, dict) else {}
    if "SurveyElements" in survey:
        return "qualtrics"
    survey = survey["data"] if isinstance(survey.get("data"), dict) else survey
    if "pages" in survey or "elements" in survey:
        return "surveyjs"
    if "fields" in survey:
        return "typeform"
    first = survey.get("questions")
    first = first[0] if isinstance(first, list) and first else {}
    is_formbricks = "blocks" in survey or (isinstance(first, dict) and "headline" in first)
    return "formbricks" if is_formbricks else "surveyjs"


def _json(data: bytes) -> object:
    """The value of JSON. Refuses too many values before any is built, and values nested too deeply."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        bodies.require_few_values(data, max_values=bodies.MAX_VALUES_OF_LINES, has_long_text=True)
        value: object = orjson.loads(data)
        bodies.require_shallow(value)
    except InvalidRequest as refused:
        unreadable(refused.message.removeprefix("The body "))
    return value


def _read(format: str, data: bytes) -> Questionnaire:
    if format == "xlsform":
        return sheets.xlsform(data)
    if format == "limesurvey":
        return limesurvey.limesurvey(data)
    if format in _JSON:
        try:
            return _JSON[format](_json(data))
        except orjson.JSONDecodeError:
            unreadable("must be JSON.")
    return _TEXTS[format](tables.decoded(data))


def _bytes(content: str) -> bytes:
    """The content as bytes: from an address with `data:`, or from base64 if it is nothing else."""
    content = content.strip()
    address = _DATA.match(content)
    if address or (len(content) % 4 == 0 and _BASE64.fullmatch(content)):
        try:
            return base64.b64decode(content[address.end() if address else 0 :], validate=True)
        except binascii.Error:
            unreadable("must be valid base64.")
    return content.encode("utf-8", "replace")
