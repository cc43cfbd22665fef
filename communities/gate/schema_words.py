"""Texts of the OpenAPI description that are the same for every operation."""

from __future__ import annotations

from typing import Any

from communities.gate.envelope import CHALLENGE, MESSAGES, STATUS
from communities.gate.validation import VIOLATION_CODES
from communities.ground.errors import MAX_VIOLATIONS
from communities.ground.tiers import REQUESTS_PER_MINUTE_WITHOUT_KEY, TIERS

Example = dict[str, Any]

_KEPT = ", ".join(f"{tier.idempotency_bytes // 2**20:,} MiB on `{name}`" for name, tier in TIERS.items())
_LIMITS = ", ".join(f"{name} {tier.requests_per_minute}" for name, tier in TIERS.items())

_WEBHOOKS = """\
**Webhooks** spare you polling. Register a URL at `.../webhooks` with the types of events that it should
receive (`*` for all). An event goes to the webhooks that exist when it happens. Every event is stored in the
transaction of the change it reports, and delivered at least once: deduplicate by `webhook-id`. Events of one
object are delivered in order, unless an attempt fails or the object is a response to an anonymous project; no
other order is promised. `.../events` lists the events of the last 30 days, also those that no webhook wanted.
`timestamp` says when the event happened, to the second. A `POST` carries
`{"id", "type", "timestamp", "api_version": "v1", "community_id", "data"}`, where `data` is the object as the
interface returned it at that moment:

- `project.created`, `project.updated`, `project.opened`, `project.closed`, `project.deleted`:
  `{"project": Project}`. If the project was opened or closed on schedule, `timestamp` is the scheduled time.
  `project.updated` is sent when fields or the script change, and not for responses.
- `response.submitted`: `{"project_id", "response": Response}`, once, when the response is completed.
- `response.updated`: `{"project_id", "response": Response}`, whenever an answer of a completed response is
  changed, such as a vote that may be changed. A vote that is taken back sends `response.deleted`.
- `response.deleted`: `{"project_id", "response_id"}`, also for a partial response. Responses that are deleted
  with their project send no events of their own.
- `analysis.completed`, `analysis.failed`: `{"project_id", "analysis": Analysis}`.
- `member.updated`: `{"member": Member}`, when somebody joins or leaves, or when their name, nick, picture,
  access or account on the chat platform changes. It is not sent for XP and ranks.
- `member.erased`: `{"member_id"}`. Delete what you hold of that member. Their responses lose their name
  without a `response.updated`. If the member is in the middle of an anonymous project, the event follows at
  the end of the hour, or of the day if the project's times are rounded to it.
- `webhook.ping`: `{"webhook": Webhook}`, to the webhook that was pinged, whatever its `events`.

For responses to anonymous projects, `timestamp` and all times of deliveries are rounded to the hour, or to
the day if the project's times are, and the endpoint's responses are not stored: their numbers and times would
reveal the order of the answers. Events that were stored before a response was deleted are still delivered.

**Signatures** follow Standard Webhooks (standardwebhooks.com), which has libraries for most languages. Each
attempt sends the same body, byte for byte, with the headers `webhook-id` (the event's `id`, the same in each
attempt), `webhook-timestamp` (the Unix seconds of this attempt) and `webhook-signature`. Verify the signature
before you parse the body: decode the base64 after `whsec_` in the secret, compute the HMAC-SHA256 of
`<webhook-id>.<webhook-timestamp>.<body as received>` with it, and compare its base64 in constant time with
each of the signatures, which are `v1,<base64>` separated by spaces; one match is enough. Refuse timestamps
that are more than 5 minutes off. The secret is shown once, when the webhook is created. After `rotate_secret`
the old secret signs too, for 24 hours or until the next rotation.

**Deliveries.** Answer with 2xx within 15 seconds in total, and do the work afterwards. At most 64 KiB of the
response are read. Any other status, including a redirect, is a failure. There are attempts immediately and
after 5 seconds, 5 minutes, 30 minutes, 2, 5, 10, 14, 20 and 24 hours, each plus up to 10 %; a longer
`Retry-After` (seconds or a date) is honoured up to 24 hours. After the tenth attempt the delivery is
`abandoned`. `410` abandons it at once and switches the webhook off (`disabled_reason` `gone`), as do 5 days
of nothing but failures (`failing`); `PATCH` with `is_active` true switches it on again. A slow or dead
endpoint does not hold back the others. `.../deliveries/{id}/redeliver` sends an event again, under the same
`webhook-id`, whatever its state. Bodies and responses are stored for 30 days. If a person's data is erased,
later attempts send the body without their name.

**URLs of webhooks** use https, on port 443, 80 or one above 1023, without a user name or password. All
addresses that the host name resolves to must be public; this is checked at each attempt, and the checked
address is the one connected to. Redirects are not followed. Requests have the header
`User-Agent: Colloquy-Webhooks/1.0`."""

INTRODUCTION = f"""\
Conversational surveys and polls: write a script of blocks, open it, let people answer, read what they said.

**Keys.** Every request carries an API key in the header `X-API-Key`. A key belongs to one community. Its role
is the current role in that community of the user who created it: `admin`, `creator` or `member`. Its scope
may allow less: `read` only GET requests, `conversations` only leading conversations and reading projects and
scripts; any other request is `403`. Objects of other communities look exactly like objects that do not exist.
A site with an https address answers requests over plain http with `403 forbidden` and does not redirect them:
replace a key that was sent in clear.

**From pages.** An API key belongs on your server. For a page in a browser, the server asks for a token of one
conversation (`POST .../conversations/{{conversation_id}}/tokens`): the page sends it as
`Authorization: Bearer cqt_...`, reads the conversation, answers, continues and goes back, and can do nothing
else. Browsers allow this on the sites that `allowed_origins` of the community's settings names. Cookies play
no part.

**Limits.** The community's tier limits the requests of each key in any 60 seconds: {_LIMITS}. Every response
has the headers `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`. A request over the limit
gets `429` with `Retry-After`; it does not count, and waiting that long is enough. Requests without a valid
key are limited to {REQUESTS_PER_MINUTE_WITHOUT_KEY} a minute for each address.

**Bodies.** A body is at most 1 MiB of JSON, and 8 MiB if it imports responses, which also takes lines of JSON
(`application/x-ndjson`), or converts a questionnaire; no operation takes files. A larger one gets `413` with
`Connection: close`, unread. A request has to arrive within 10 seconds, and one more for each 16 KiB of its
body; else it gets `408`, and the connection is closed.

**Safe retries.** Send an `Idempotency-Key` (a UUID v4) with every write. If the same request is repeated
under the same key within 24 hours, it gets the first response again, byte for byte, with
`Idempotency-Replayed: true`; nothing is done again. Another request under that key gets `409 conflict`.
Refusals are not stored: they changed nothing, so the key is free again. While the first request is still
running, the second waits. The responses that are kept for one API key may take, in 24 hours, {_KEPT}:
as much as requests at the full rate with responses of 2 KiB. The response to a write beyond that has
`Idempotency-Stored: false`: the write is done, and its retry gets `409 conflict` instead of the response, so
that nothing is ever done twice.

**Lists** contain `data` and `pagination` (`page`, `per_page`, `total`, `has_more`). `page` counts from 1,
`per_page` is 1 to 100 and 25 by default. A page past the end is empty. Some lists also take `after`, the id
of the last object that you have: the page starts after it, and `page` is absent. In the order of ids, what
changes meanwhile neither repeats objects nor leaves out others. An unknown query parameter is refused, so
that a misspelt filter does not return everything.

**Fields.** Read-only fields are accepted and ignored, so an object that was read can be sent back. Unknown
fields are ignored too, and named in the response header `X-Ignored-Fields`, the first 4,096 characters of
them. A list that is longer than its limit is refused for its length alone. Ids are strings, except those
shown as integers. Times are UTC, `2026-01-31T09:30:00Z`; times that you send need an offset.

**Changes by others.** Every read has an `ETag`; with this tag in `If-None-Match`, a read returns `304` until
something has changed. `PUT`, `PATCH` and `DELETE` of an object that can be read take the tag in `If-Match`,
and are `409 conflict` if somebody has changed the object since. Figures that change by themselves, such as
`info.response_count` and the XP of a member, do not count for this. The response has the new tag.

**Errors** are `error`, a code for programs, and `message`, a sentence for people (`429` has `retry_after`
in its place). If fields are wrong, `violations` lists all of them, but at most {MAX_VIOLATIONS} and as many
as fit into 64 KiB; `message` says if there are more. Each has `field` (a path such as
`script.blocks[2].options[0].value`), `code`, `message`, and in expressions the `column`; long names and
values that are repeated there are cut. Every response has an `X-Request-Id`: the caller's own if it is 1 to
64 of `[A-Za-z0-9_-]`.

A method that an address does not take gets `405 method_not_allowed`, and `Allow` lists those that it takes.

Codes of errors: {", ".join(f"`{code}`" for code in STATUS)}.

Codes of violations: {", ".join(f"`{code}`" for code in VIOLATION_CODES)}.

**Scores.** With scoring enabled, options have points for each bucket (`score_values`), and questions have a
correct answer. `score`, `max_score`, `score_correct` and `max_score_correct` are variables, also with
`_<bucket>` (a `-` in a bucket's key may be written `_`), and so are `correct_answers` and
`max_correct_answers`: in logic, in formulas, and as tokens such as `[score]`. They count the blocks shown to
this respondent up to the current one; without a bucket they are the sums over all buckets. Scoring must be
enabled when the script is written. Otherwise points are ignored, and the script's `warnings` say so.

**Formulas** of calculated blocks have three forms, which nest: arithmetic with `[variables]`, numbers and
`+ - * / ( )`; `if <condition> then <value> else <value>`, whose values may be formulas, `"texts"` or bare
words; and `argmax([score_a], [score_b], ...)`, the name of the bucket with the most points, or the first of
equal ones. Unknown and unanswered variables count as 0, and division by zero gives 0. Numbers are decimals;
tokens show at most 6 of their decimals.

**Tokens.** `[UserName]`, `[answer]`, `[a block's name]` and the score variables are filled into prompts and
feedback; for XP there are `[xp_points]`, `[earned_xp]`, `[xp_name]`, `[month_total_xp]`, `[xp_to_next_level]`
and `[next_xp_level]`. A token that nothing defines stays as it is written. In `[UserName|there]`,
`[field.source|somewhere]` and `[a block's name|no answer]`, the text after the bar is shown where the value
is empty.

**XP** is given to members of the community only; for others `[xp_points]` is 0. An action block gives XP once
for its `fire_scope`, when it is reached; a score is rounded half up, and limited to a million. On anonymous
projects a score, or an action behind a condition, gives nothing, because that would reveal answers, and
entries have no session and no time finer than the day. Level n needs `50 * n * (n + 1)` XP.

{_WEBHOOKS}

**Versions.** `/v1` only grows: new fields, values and addresses may appear, so ignore what you do not know.
Changes that would break callers get another prefix.
"""


def _error(code: str, message: str) -> Example:
    return {"error": code, "message": message}


ANY_REFUSAL = "Refusals of every operation; `409`, `413` and `415` are those of writes alone."
# The meaning of each status, and an example for each error code.
REFUSALS: dict[str, tuple[str, list[Example]]] = {
    "400": (
        "A value breaks a rule, or the request could not be read; `violations` names each wrong field.",
        [
            {
                "error": "invalid_request",
                "message": "`name` must not be blank.",
                "violations": [{"field": "name", "code": "blank", "message": "`name` must not be blank."}],
            }
        ],
    ),
    "401": (
        "There is no API key, or it is not valid.",
        [
            _error("missing_api_key", "Send the API key in the header X-API-Key."),
            _error("invalid_api_key", "This API key is not valid."),
        ],
    ),
    "403": (
        "The key's role or scope does not allow this, or the community's tier lacks the feature.",
        [_error("forbidden", "This needs a key of role admin or above; this key's role is creator.")],
    ),
    "404": (
        "There is no such object in the key's community.",
        [_error("not_found", "There is no such object.")],
    ),
    "409": (
        "The object's state does not allow it, it has changed since the tag of `If-Match`, or the "
        "Idempotency-Key is in use, was used for another request, or its response was not kept.",
        [_error("conflict", "This Idempotency-Key was used for another request.")],
    ),
    "413": (
        "The body is larger than 1 MiB (8 MiB for an import of responses and for a questionnaire). It was "
        "not read, and the connection is closed.",
        [_error(*MESSAGES[413])],
    ),
    "415": ("The body is not JSON in UTF-8, or is compressed.", [_error(*MESSAGES[415])]),
    "429": (
        "Too many requests within a minute. Wait `retry_after` seconds.",
        [{"error": "rate_limit_exceeded", "retry_after": 12}],
    ),
    "500": ("An error on our side. `X-Request-Id` names the request in our log.", [_error(*MESSAGES[500])]),
    "503": (
        "The service cannot answer now. Retry after `Retry-After` seconds.",
        [_error(*MESSAGES[503])],
    ),
}
STATUSES_OF_WRITES = {"409", "413", "415"}

PAGINATION_EXAMPLE = {"page": 1, "per_page": 25, "total": 1, "has_more": False}
COMPONENTS: dict[str, dict[str, Any]] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "string",
                "enum": [code for code in STATUS if code != "rate_limit_exceeded"],
                "description": "A code for programs.",
            },
            "message": {"type": "string", "description": "A sentence for people."},
            "violations": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/Violation"},
                "maxItems": MAX_VIOLATIONS,
                "description": "All violations, if fields are wrong; `message` says if there are more.",
            },
        },
    },
    "RateLimited": {
        "type": "object",
        "required": ["error", "retry_after"],
        "properties": {
            "error": {"type": "string", "const": "rate_limit_exceeded"},
            "retry_after": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
        },
    },
    "Violation": {
        "type": "object",
        "required": ["field", "code", "message"],
        "properties": {
            "field": {
                "type": "string",
                "description": "The field's path; empty if it is the body.",
                "examples": ["script.blocks[2].options[0].value"],
            },
            "code": {"type": "string", "enum": VIOLATION_CODES},
            "message": {"type": "string", "description": "A sentence that names the field."},
            "column": {"type": "integer", "minimum": 1, "description": "In expressions: where, from 1."},
            "line": {
                "type": "integer",
                "minimum": 1,
                "description": "In an import: which response, from 1. In NDJSON the line, in JSON the place.",
            },
        },
    },
    "Pagination": {
        "type": "object",
        "required": ["per_page", "has_more"],
        "properties": {
            "page": {
                "type": "integer",
                "minimum": 1,
                "description": "Absent if the page is chosen by `after`.",
            },
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "total": {"type": "integer", "minimum": 0, "description": "Absent if nothing is counted."},
            "has_more": {"type": "boolean"},
        },
        "examples": [PAGINATION_EXAMPLE],
    },
}

HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The caller's, if it is 1 to 64 of `[A-Za-z0-9_-]`; otherwise a new one.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
    },
    "X-RateLimit-Limit": {
        "description": "Requests a minute for the tier.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-RateLimit-Remaining": {
        "description": "Requests left in the current minute.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-RateLimit-Reset": {
        "description": "Unix second, rounded up, at which the oldest counted request leaves the window.",
        "schema": {"type": "integer"},
    },
}
_RETRY_AFTER = {"type": "integer", "minimum": 1}
HEADERS_OF_STATUS: dict[str, dict[str, dict[str, Any]]] = {
    "401": {
        "WWW-Authenticate": {
            "description": "How to send a key.",
            "schema": {"type": "string", "const": CHALLENGE},
        }
    },
    "409": {
        "Retry-After": {"description": "Seconds to wait, if waiting helps.", "schema": _RETRY_AFTER},
    },
    "429": {
        "Retry-After": {"description": "Seconds to wait. That is enough.", "schema": _RETRY_AFTER},
    },
    "503": {"Retry-After": {"description": "Seconds to wait.", "schema": _RETRY_AFTER}},
}
