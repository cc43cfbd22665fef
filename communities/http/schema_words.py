"""The words of the OpenAPI description that are the same for every operation."""

from __future__ import annotations

from typing import Any

from communities.http.envelope import MESSAGES, STATUS
from communities.http.shapes import VIOLATION_CODES
from communities.tiers import REQUESTS_PER_MINUTE_WITHOUT_KEY, TIERS

Example = dict[str, Any]

_LIMITS = ", ".join(f"{name} {tier.requests_per_minute}" for name, tier in TIERS.items())

_WEBHOOKS = """\
**Webhooks** spare you polling. Register an address at `.../webhooks` with the types of events it wants
(`*` is all); who hears of an event is decided when it happens. Every event is written in the transaction of
its change, and told at least once: so deduplicate by `webhook-id`. What happens to one object comes in
order, unless an attempt fails or it is a response to an anonymous project; beyond that no order is promised.
`timestamp` says when it happened, to the second. A `POST` carries `{"id", "type", "timestamp",
"api_version": "v1", "community_id", "data"}`, and `data` is what the interface gave for the object at that
moment:

- `project.created`, `project.opened`, `project.closed`, `project.deleted`: `{"project": Project}`. Where the
  clock opened or closed it, `timestamp` is the scheduled moment.
- `response.submitted`: `{"project_id", "response": Response}`, once, when the response is completed. A vote
  that is changed later is not told again; one that is taken back is `response.deleted`.
- `response.deleted`: `{"project_id", "response_id"}`, of a partial response too. Those that go with their
  project are not told one by one.
- `analysis.completed`, `analysis.failed`: `{"project_id", "analysis": Analysis}`.
- `webhook.ping`: `{"webhook": Webhook}`, to one webhook that was asked for it, whatever its `events`.

Of responses to anonymous projects, `timestamp` and all times of deliveries are rounded to the hour, or to
the day where the project's times are, and what the endpoint answers is not kept: its numbers and times would
tell in which order they came. What was written down before a response was deleted is delivered all the same.

**Signatures** follow Standard Webhooks (standardwebhooks.com), which has libraries for most languages. Each
attempt sends the same body, byte for byte, with the headers `webhook-id` (the event's `id`, the same on each
attempt), `webhook-timestamp` (Unix seconds of this attempt) and `webhook-signature`. Verify it before
parsing: decode the base64 behind `whsec_` of the secret, take HMAC-SHA256 under it of
`<webhook-id>.<webhook-timestamp>.<body as received>`, and compare in constant time the base64 of that with
each of the signatures, which are `v1,<base64>` with spaces between; one match is enough. Refuse timestamps
more than 5 minutes off. The secret is shown once, at creation. After `rotate_secret` the old one signs too,
for 24 hours or until the next rotation.

**Deliveries.** Answer 2xx within 15 seconds in all; work on it afterwards. At most 64 KiB of the answer are
read. Anything else, redirects too, is a failure. Attempts are made at once and then after 5 seconds, 5
minutes, 30 minutes, 2, 5, 10, 14, 20 and 24 hours, each plus up to 10 %; a longer `Retry-After` (seconds or
a date) is honoured up to 24 hours. After the tenth the delivery is `abandoned`. `410` abandons it at once and
switches the webhook off (`disabled_reason` `gone`), as do 5 days of nothing but failures (`failing`); `PATCH`
with `is_active` true switches it on again. One slow or dead endpoint does not hold back the others.
`.../deliveries/{id}/redeliver` sends an event again, under the same `webhook-id`, whatever became of it.
Bodies and answers are kept for 30 days. Where a person's data is erased meanwhile, later attempts send the
body without their name.

**Addresses of webhooks** are https, on port 443, 80 or one above 1023, without a name or password. All that
a name resolves to must be public; it is checked at each attempt, and the address that was checked is the one
connected to. Redirects are not followed. Calls come with `User-Agent: Colloquy-Webhooks/1.0`."""

INTRODUCTION = f"""\
Conversational surveys and polls: write a script of blocks, open it, let people answer, read what they said.

**Keys.** Every request carries an API key in the header `X-API-Key`. A key belongs to one community, and has
the role there, at the moment of the request, of the user who made it: `admin`, `creator` or `member`. Objects
of other communities look exactly like absent ones.

**Limits.** A tier has so many requests in any 60 seconds, for each key: {_LIMITS}. Every response tells
`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`. One request too many is `429` with
`Retry-After`; it does not count, and waiting that long is enough. Attempts without a valid key are limited to
{REQUESTS_PER_MINUTE_WITHOUT_KEY} a minute for each address. A body is at most 1 MiB.

**Safe retries.** Send an `Idempotency-Key` (a UUID v4) with every write. The same request under the same
key, within 24 hours, is answered with the first answer, byte for byte, and `Idempotency-Replayed: true`;
nothing is done again. Another request under that key is `409 conflict`. Refusals are not kept: they changed
nothing, so the key is free again. While the first is still running, a second waits for it.

**Lists** answer `data` and `pagination` (`page`, `per_page`, `total`, `has_more`). `page` counts from 1,
`per_page` is 1 to 100, 25 if not said. A page past the end is empty. A query parameter that an address does
not know is refused, so that a misspelt filter does not answer with everything.

**Fields.** Read-only fields are taken and ignored, so what was read can be sent back. Unknown fields are
ignored too, and named in the response header `X-Ignored-Fields`. Ids are strings, other than those shown as
integers. Times are UTC, `2026-01-31T09:30:00Z`; times sent must carry an offset.

**Errors** are `error`, a code for programs, and `message`, a sentence for people. Where fields are at fault,
`violations` lists all of them: `field` (a path such as `script.blocks[2].options[0].value`), `code`,
`message`, and in expressions the `column`. Every response carries `X-Request-Id`, the caller's own where it
is 1 to 64 of `[A-Za-z0-9_-]`.

Codes of errors: {", ".join(f"`{code}`" for code in STATUS)}.

Codes of violations: {", ".join(f"`{code}`" for code in VIOLATION_CODES)}.

**Scores.** With scoring on, options carry points by bucket (`score_values`) and questions a right answer.
Each of `score`, `max_score`, `score_correct` and `max_score_correct` is a variable, also with `_<bucket>`
(a `-` in a bucket's key may be written `_`), and so are `correct_answers` and `max_correct_answers`: in
logic, in formulas, and as tokens such as `[score]`. They count the blocks shown to this respondent up to
the one that is reached; without a bucket they are the sums over all. Scoring has to be on when the script
is written: else points are ignored, as the script's `warnings` then tell.

**Formulas** of calculated blocks take three forms, which nest: arithmetic with `[variables]`, numbers and
`+ - * / ( )`; `if <condition> then <value> else <value>`, whose values may be formulas, `"texts"` or bare
words; and `argmax([score_a], [score_b], ...)`, the name of the bucket with the most points, the first of
equals. What is unknown or unanswered is 0, and so is a division by zero. Numbers are decimals, told with
at most 6 of them.

**Tokens.** `[UserName]`, `[answer]`, `[a block's name]` and the score variables are filled into prompts
and feedback; about XP `[xp_points]`, `[earned_xp]`, `[xp_name]`, `[month_total_xp]`, `[xp_to_next_level]`
and `[next_xp_level]`. What nothing defines stays as it is written.

**XP** is given to members of the community alone: to others `[xp_points]` is 0. An action block gives
once for its `fire_scope`, when it is reached; a score is rounded half up, and bounded to a million. On
anonymous projects a score, or an action behind a condition, gives nothing, as that would tell what was
answered, and entries carry no session and no time finer than the day. Level n needs `50 * n * (n + 1)`
XP.

{_WEBHOOKS}

**Versions.** `/v1` only grows: new fields, values and addresses may appear, so ignore what you do not know.
Anything that would break a caller comes under another prefix.
"""


def _words(code: str, message: str) -> Example:
    return {"error": code, "message": message}


# For each status, what it means and an example for each code that it may carry.
REFUSALS: dict[str, tuple[str, list[Example]]] = {
    "400": (
        "A value breaks a rule, or the request could not be read; `violations` names each field at fault.",
        [
            {
                "error": "invalid_request",
                "message": "`name` must not be blank.",
                "violations": [{"field": "name", "code": "blank", "message": "`name` must not be blank."}],
            }
        ],
    ),
    "401": (
        "No API key, or one that is unknown, revoked or expired, or whose maker lost access.",
        [
            _words("missing_api_key", "Send the API key in the header X-API-Key."),
            _words("invalid_api_key", "This API key is not valid."),
        ],
    ),
    "403": (
        "The key's role may not do this, or the community's tier lacks the feature.",
        [_words("forbidden", "This needs a key of role admin or above; this key's role is creator.")],
    ),
    "404": (
        "No such object within the key's community.",
        [_words("not_found", "There is no such object.")],
    ),
    "405": (
        "The address does not take this method; `Allow` lists those it does.",
        [_words("method_not_allowed", "This address takes GET.")],
    ),
    "409": (
        "The object's state forbids it, or the Idempotency-Key is in flight or was used for another request.",
        [_words("conflict", "This Idempotency-Key was used for another request.")],
    ),
    "413": ("The body is larger than 1 MiB.", [_words(*MESSAGES[413])]),
    "415": ("The body is not JSON in UTF-8, or is compressed.", [_words(*MESSAGES[415])]),
    "429": (
        "Too many requests within a minute; wait `retry_after` seconds.",
        [{"error": "rate_limit_exceeded", "retry_after": 12}],
    ),
    "500": ("A fault on our side; `X-Request-Id` names the request in our log.", [_words(*MESSAGES[500])]),
    "503": ("The service cannot answer now; try again after `Retry-After`.", [_words(*MESSAGES[503])]),
}
OF_WRITES_ALONE = {"409", "413", "415"}

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
                "description": "Every fault that was found, where fields are at fault.",
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
                "description": "The field's path; empty where it is the body.",
                "examples": ["script.blocks[2].options[0].value"],
            },
            "code": {"type": "string", "enum": VIOLATION_CODES},
            "message": {"type": "string", "description": "A sentence that names the field."},
            "column": {"type": "integer", "minimum": 1, "description": "In expressions: where, from 1."},
        },
    },
    "Pagination": {
        "type": "object",
        "required": ["per_page", "total", "has_more"],
        "properties": {
            "page": {"type": "integer", "minimum": 1, "description": "Absent where `after` was sent."},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "total": {"type": "integer", "minimum": 0},
            "has_more": {"type": "boolean"},
        },
    },
}
PAGINATION_EXAMPLE = {"page": 1, "per_page": 25, "total": 1, "has_more": False}

HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The caller's, when it is 1 to 64 of `[A-Za-z0-9_-]`, else a new one.",
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
HEADERS_OF_WRITES: dict[str, dict[str, Any]] = {
    "Idempotency-Replayed": {
        "description": "`true` where this is the answer to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "const": "true"},
    },
    "X-Ignored-Fields": {
        "description": "Paths of fields that nobody knows, with commas between them.",
        "schema": {"type": "string"},
    },
}
HEADERS_OF_STATUS: dict[str, dict[str, dict[str, Any]]] = {
    "405": {"Allow": {"description": "The methods taken here.", "schema": {"type": "string"}}},
    "409": {
        "Retry-After": {
            "description": "Seconds to wait, where waiting helps.",
            "schema": {"type": "integer", "minimum": 1},
        }
    },
    "429": {
        "Retry-After": {
            "description": "Seconds to wait; enough.",
            "schema": {"type": "integer", "minimum": 1},
        }
    },
    "503": {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}},
}
