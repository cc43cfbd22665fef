"""Sends texts that have caused faults elsewhere to a field of the interface, and examines the response."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import transaction

from tests.support.api_requests import ask
from tests.support.caller import Caller
from tests.support.place import made_place
from tests.support.text_fields import ANY_NAME, EACH, TextField

TROUBLE: Mapping[str, str] = {
    "letters in parts": " \N{NO-BREAK SPACE}Zoe\N{COMBINING DIAERESIS} \u1112\u1161\u11ab\n",
    "nothing visible": "\N{ZERO WIDTH SPACE}\N{HANGUL FILLER} \N{BRAILLE PATTERN BLANK}\t",
    "signs": (
        "\N{RIGHT-TO-LEFT EMBEDDING}שלום\N{POP DIRECTIONAL FORMATTING} می\N{ZERO WIDTH NON-JOINER}خواهم "
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f469\U0001f3fd\u200d\U0001f680 '`<b>&amp;%s{0}\\"
    ),
    "null": "a\0b",
    "10,000 letters": "e\N{COMBINING ACUTE ACCENT}" * 10_000,
}
# The texts that are stored and returned in another form. All others stay the same.
ONE_FORM = {
    "letters in parts": "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS} \N{HANGUL SYLLABLE HAN}",
    "nothing visible": "",
    "10,000 letters": "\N{LATIN SMALL LETTER E WITH ACUTE}" * 10_000,
}
OPTIONS = [{"value": "red", "label": "Red", "emoji": "🟥"}, {"value": "green"}]
BLOCKS: Mapping[str, dict[str, Any]] = {
    "options": {"type": "single_punch", "prompt": "Which colour?", "options": OPTIONS},
    "when_correct": {
        "type": "single_punch",
        "prompt": "Which?",
        "options": OPTIONS,
        "correct_answer_index": 0,
    },
    "when_incorrect": {
        "type": "single_punch",
        "prompt": "Which?",
        "options": OPTIONS,
        "correct_answer_index": 0,
    },
    "scale": {"type": "rating", "prompt": "How good?", "scale": {}},
    "continue": {"type": "content_block", "prompt": "Hello.", "continue": {"after": "click"}},
    "action_config": {
        "type": "action_block",
        "prompt": "Here.",
        "action_kind": "give_xp",
        "action_config": {"xp_amount": 1},
    },
    "calculated_formula": {"type": "calculated_block"},
    "": {"type": "open_text", "prompt": "Why?"},
}
ASKING = {"type": "open_text", "prompt": "Who?", "name": "Who", "required": False}
PAST = {"started_at": "2026-01-31T09:30:00Z", "submitted_at": None}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "POST /api_keys": {"name": "Website"},
    "POST /members": {"nick": "Ann"},
    "POST /members/{member_id}/xp": {"amount": 1},
    "POST /projects": {"name": "Moves", "type": "convo", "scoring": {"enabled": True}},
    "POST /scripts/convert": {"format": "text"},
    "POST /webhooks": {"url": "https://example.com/", "events": ["*"]},
    "POST /webhooks/{webhook_id}/redeliver": {"since": "2026-01-31T09:30:00Z"},
}
# The address at which a text can be read, if the response does not contain it.
RESPONSES = "/v1/communities/{community_id}/projects/{project_id}/responses?status=all"
READ_BACK = {
    "POST /conversations/{conversation_id}/answers": RESPONSES,
    "POST /projects/{project_id}/responses": RESPONSES,
}
NEW: Mapping[str, Mapping[str, Any]] = {"show_when": {"block": "Who", "op": "eq", "value": "x"}}
# What stands beside the text, in the settings of a project and in what somebody agreed to.
BESIDE: Mapping[str, Any] = {
    "consent": None,
    "quotas": [{"where": 'language = "en"', "limit": 1}],
    "end": {"url": "https://example.com/"},
    "ends": [{"where": 'language = "en"'}],
}
_COMMUNITY = "/v1/communities/{community_id}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The response to a text. `texts` are all its strings, `faults` the fields of its violations."""

    status: int
    texts: frozenset[str]
    faults: frozenset[str]

    def is_right(self, field: TextField, trouble: str) -> bool:
        """Whether the text was refused with the field's name, or accepted and returned in its one form."""
        if self.status >= 400:
            return self.status in (400, 409) and any(_is_within(field, each) for each in self.faults)
        sent = TROUBLE[trouble].strip()
        return trouble not in ONE_FORM or all(each.strip() != sent for each in self.texts)

    def has(self, trouble: str) -> bool:
        """Whether the text was accepted, and returned in its one form."""
        return self.status < 400 and ONE_FORM.get(trouble, TROUBLE[trouble]) in self.texts


def trouble_place(caller: Caller) -> dict[str, str]:
    """The place of `made_place` with a declared field, and a project that is not open, for scripts."""
    place = made_place(caller, settings={"hidden_fields": ["plan"]})
    asked = caller.get(f"/projects/{place['project_id']}/script").json()["blocks"]
    draft = caller.make(BLOCKS["when_correct"])
    block = caller.get(f"/projects/{draft['id']}/script").json()["blocks"][0]
    return place | {
        "text_id": str(asked[2]["id"]),
        "draft_id": draft["id"],
        "draft_block_id": str(block["id"]),
        "draft_option_id": str(block["options"][0]["id"]),
    }


# What a query without bodies needs beside the field.
QUERIES = {
    "GET /projects/{project_id}/analysis/cross": {"rows": "completed.day", "columns": "completed.week"}
}


def send(field: TextField, value: str, place: Mapping[str, str]) -> Outcome:
    """Send one value in a field of an otherwise valid request, and roll it back. For `trouble_place`."""
    if "/script" in field.path:
        place = {**place, "project_id": place["draft_id"], "block_id": place["draft_block_id"]}
    elif field.path.endswith("/codebook"):
        place = {**place, "block_id": place["text_id"]}
    path, body = field.path, b"" if field.is_query else _body(field, value, place)
    if field.is_query:
        name = field.steps[0].replace("field.name", "field.plan")
        path += "?" + urlencode({**QUERIES.get(_operation(field), {}), name: value})
    with transaction.atomic():
        answer = _ask(field.method, path, place, body)
        back = READ_BACK.get(_operation(field)) if answer.status_code < 400 else None
        texts = [*_texts(_json(answer)), *(_texts(_json(_ask("get", back, place))) if back else ())]
        transaction.set_rollback(True)
    content = _json(answer)
    faults = content.get("violations", ()) if isinstance(content, dict) else ()
    return Outcome(answer.status_code, frozenset(texts), frozenset(each["field"] for each in faults))


def _ask(method: str, path: str, place: Mapping[str, str], body: object = b"") -> Any:
    return ask(
        method.upper(), re.sub(r"\{(\w+)\}", lambda name: place[name[1]], path), key=place["key"], body=body
    )


def _json(answer: Any) -> Any:
    return answer.json() if answer.headers.get("Content-Type") == "application/json" else {}


def _operation(field: TextField) -> str:
    return f"{field.method.upper()} {field.path.removeprefix(_COMMUNITY)}"


def _body(field: TextField, value: str, place: Mapping[str, str]) -> dict[str, Any]:
    operation = _operation(field)
    body: dict[str, Any] = deepcopy(dict(BODIES.get(operation, {})))
    text_id, member = int(place["text_id"]), {"member_id": place["member_id"]}
    if operation.endswith("/answers"):
        body["block_id"] = text_id
        if field.steps[-1] == "other_text":
            body["value"] = "x"
    elif operation.endswith("/responses"):
        body["data"] = [{**PAST, "answers": [{"block_id": text_id, "value": "x"}]}]
    elif operation.endswith("/dashboard"):
        body["block_ids"] = [text_id]
    elif operation.endswith("/links"):
        body |= {"links": [member]} if "links" in field.steps else member if "metadata" in field.steps else {}
    elif operation.endswith("/{block_id}") and field.steps[-1].startswith("when_"):
        body["correct_answer_ids"] = [int(place["draft_option_id"])]
    if "script" in field.steps:
        body |= {
            "script": {"blocks": [deepcopy(_block_with(field)), deepcopy(ASKING)]},
        }
        if {"show_when", "precondition"} & {*field.steps}:
            body["script"]["blocks"].reverse()
    for step, beside in BESIDE.items():
        if step in field.steps and "settings" in field.steps:
            body["settings"] = {step: deepcopy(beside)}
        elif step in field.steps and "data" in field.steps:
            body["data"][0][step] = {"at": PAST["started_at"]}
    _put(body, field.steps, value)
    if operation.endswith("/codebook") and field.steps[-1] == "description":
        body["themes"][0]["title"] = "Price"
    return body


def _block_with(field: TextField) -> dict[str, Any]:
    return next((BLOCKS[step] for step in field.steps if step in BLOCKS), BLOCKS[""])


def _put(holder: Any, steps: tuple[str, ...], value: str) -> None:
    """Set the value, and create missing objects and lists on its path."""
    step, *rest = steps
    key: Any = {EACH: 0, ANY_NAME: "plan"}.get(step, step)
    if step == EACH and not holder:
        holder.append(None)
    elif step == EACH and rest[:1] in (["show_when"], ["precondition"]):
        key = 1  # behind the block that the condition names
    if not rest:
        holder[key] = value
        return
    inner = holder[key] if step == EACH else holder.get(key)
    if not isinstance(inner, dict | list):
        inner = holder[key] = [] if rest[0] == EACH else dict(NEW.get(step, {}))
        if step == "value":
            holder["op"] = "in"
    _put(inner, tuple(rest), value)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _is_within(field: TextField, named: str) -> bool:
    """Whether a violation names the field, an object or list around it, or a part of it."""
    own = [step.replace("field.name", "field") for step in field.steps if step not in (EACH, ANY_NAME)]
    path = [step for step in re.split(r"\[\d+\]|\.", named) if step]
    shorter = min(len(own), len(path))
    return shorter > 0 and path[:shorter] == own[:shorter]
