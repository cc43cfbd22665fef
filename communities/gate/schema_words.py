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

INTRODUCTION = f"""\
Conversational surveys and polls: write a script of blocks, open it, let people answer, read what they said.

**Keys.** Every request carries an API key in the header `X-API-Key`. A key belongs to one community. It acts
with the present role of the user who created it: `admin`, `creator` or `member`. Its scope may allow less:
`read` allows only GET requests; `conversations` allows only to lead conversations and to read projects and
scripts. Any other request gets `403`. Objects of other communities look exactly like objects that do not
exist. A site with an https address refuses requests over plain http with `403 forbidden`, without a redirect:
replace a key that was sent over plain http.

**From pages.** An API key belongs on your server. For a page in a browser, your server requests a token of
one conversation (`POST .../conversations/{{conversation_id}}/tokens`). The page sends this token as
`Authorization: Bearer cqt_...`. It can read the conversation, answer, continue and go back, and nothing else.
Browsers allow these requests only on the sites that the community lists in its setting `allowed_origins`.
Cookies are not used.

**Limits.** The community's tier limits the requests of each key in any 60 seconds: {_LIMITS}. Every response
has the headers `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`. A request over the limit
does not count. It gets `429` with `Retry-After`: wait this many seconds. Requests without a valid key are
limited to {REQUESTS_PER_MINUTE_WITHOUT_KEY} a minute for each IP address.

**Bodies.** A body is JSON of at most 1 MiB. Imports of responses and conversions of questionnaires take 8
MiB; imports also take lines of JSON (`application/x-ndjson`). No operation takes files. A larger body is
not read: the request gets `413` with `Connection: close`. A request has 10 seconds to arrive, and one more
second for each 16 KiB of its body; a slower request gets `408`, and the connection is closed.

**Safe retries.** Send an `Idempotency-Key` (a UUID v4) with every write. If you repeat the request with the
same Idempotency-Key within 24 hours, you get the first response again, byte for byte, with
`Idempotency-Replayed: true`, and nothing is done twice. A different request with this Idempotency-Key gets
`409 conflict`. Refusals are not stored: you can use the Idempotency-Key of a refused request again. While the
first request is running, the second waits. The stored responses of one API key may take, in 24 hours,
{_KEPT}.
Beyond this limit, a response has `Idempotency-Stored: false`: the write is done, and a retry gets
`409 conflict`.

**Lists** contain `data` and `pagination` (`page`, `per_page`, `total`, `has_more`). `page` counts from 1,
`per_page` is 1 to 100 and 25 by default. A page past the end is empty. Some lists also take `after`, the id
of the last object that you have read: the page starts after this object, and `page` is absent. In the order
of ids, changes by others cause neither repeated nor missing objects. An unknown query parameter is refused:
otherwise a misspelt filter would return everything.

**Fields.** Read-only fields are accepted and ignored: you can send back an object as you read it. Unknown
fields are ignored too; the response header `X-Ignored-Fields` names them, in at most 4,096 characters. A list
that is longer than its limit is refused; no entry beyond the limit is checked. Ids are strings, unless they
are shown as integers. Times are UTC, `2026-01-31T09:30:00Z`; times that you send need an offset.

**Changes by others.** Every read returns an `ETag`. Send this tag in `If-None-Match`, and the read returns
`304` until something changes. `PUT`, `PATCH` and `DELETE` of an object that can be read take the tag in
`If-Match`: they return `409 conflict` if somebody has changed the object since. `PUT` and `PATCH` return the
new tag.
Other writes refuse a tag. Figures that change by themselves, such as `info.response_count` and the XP of a
member, cause no conflict.

**Errors** contain `error`, a code for programs, and `message`, a sentence for people (`429` has `retry_after`
instead of `message`). If fields are wrong, `violations` lists at most {MAX_VIOLATIONS} violations, in at most
64 KiB; `message` says if there are more. Each violation has `field` (a path such as
`script.blocks[2].options[0].value`), `code`, `message`, and for an expression `column`. Long names and values
are cut. Absent objects (`404`) and missing rights (`403`) come before faulty fields. Every response has an
`X-Request-Id`: the caller's own if it has 1 to 64 of `[A-Za-z0-9_-]`.

If an address does not support a method, the request gets `405 method_not_allowed`, and the header `Allow`
lists the supported methods.

Codes of errors: {", ".join(f"`{code}`" for code in STATUS)}.

Codes of violations: {", ".join(f"`{code}`" for code in VIOLATION_CODES)}.

**Scores, formulas, tokens and XP** of scripts are in the guide [Logic and formulas](/docs/use-logic).

**Webhooks** replace polling. Register a URL at `.../webhooks` with the types of events that you want to
receive, or `*` for all: `project.created`, `project.updated`, `project.opened`, `project.closed`,
`project.deleted`, `response.submitted`, `response.updated`, `response.deleted`, `analysis.completed`,
`analysis.failed`, `member.updated`, `member.erased`, `webhook.ping`. Bodies are signed by the scheme Standard
Webhooks. Every event is delivered at least once: recognise duplicates by `webhook-id`. Answer with 2xx within
15 seconds; otherwise the delivery is retried, with ten attempts in about three days. `.../events` lists the
events of the last 30 days.
[Order, deliveries, addresses](/docs/receive-webhooks#what-events-promise).

**Versions.** `/v1` only grows. New fields, values and addresses may appear: ignore those that you do not
know. Changes that would break callers get another prefix.
"""


def _error(code: str, message: str) -> Example:
    return {"error": code, "message": message}


ANY_REFUSAL = "Refusals of every operation. Only writes get `409`, `413` and `415`."
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
        "The object's state does not allow the request, the object has changed since the tag of `If-Match`, "
        "or the Idempotency-Key is in use, was used for another request, or has no stored response.",
        [_error("conflict", "This Idempotency-Key was used for another request.")],
    ),
    "413": (
        "The body is larger than 1 MiB (8 MiB for imports of responses and for questionnaires). The body was "
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
                "description": "The violations, if fields are wrong; `message` says if there are more.",
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
                "description": "The field's path; empty for the whole body.",
                "examples": ["script.blocks[2].options[0].value"],
            },
            "code": {"type": "string", "enum": VIOLATION_CODES},
            "message": {"type": "string", "description": "A sentence that names the field."},
            "column": {
                "type": "integer",
                "minimum": 1,
                "description": ("The position in an expression, from 1."),
            },
            "line": {
                "type": "integer",
                "minimum": 1,
                "description": "The position of the response in an import, from 1.",
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
                "description": "Absent with `after`.",
            },
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "total": {"type": "integer", "minimum": 0, "description": "Absent if the list is not counted."},
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
