"""The responses that each role gets from every action under /v1, written by hand from rules 1.26 to 1.32.

A row has the permitted roles, their status, the request's body, and an object that replaces the usual one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from communities.api.pictures import SENT

# Member, another creator, the creator of the project, admin. Everybody else has no valid key here.
EVERYBODY = "yes yes yes yes"
CREATORS = "no yes yes yes"
OWN_OR_ANY = "no no yes yes"
ADMINS = "no no no yes"
# Of a project that is not open, which members do not see.
OWN_OR_ANY_DRAFT = "absent no yes yes"
READERS_OF_DRAFTS = "absent yes yes yes"

PAST = {"started_at": "2025-01-01T00:00:00Z", "submitted_at": "2025-01-01T00:00:00Z", "answers": []}
SINCE = {"since": "2026-01-01T00:00:00Z"}


@dataclass(frozen=True, slots=True)
class Row:
    """`{name}` in a body or a query stands for an id of the community. `of` renames arguments of the path."""

    who: str
    status: int
    body: Any = None
    of: Mapping[str, str] = field(default_factory=dict)
    query: str = ""


DRAFT = {"project_id": "draft_id"}
QUESTION = {"block_id": "text_id"}
TALK = {"conversation_id": "talking_id"}
TABLE: dict[str, Row] = {
    "community.list": Row(EVERYBODY, 200),
    "community.retrieve": Row(EVERYBODY, 200),
    "settings.retrieve": Row(EVERYBODY, 200),
    "settings.partial_update": Row(ADMINS, 200, {}),
    "verified_source.list": Row(EVERYBODY, 200),
    "audit.list": Row(ADMINS, 200),
    "picture.create": Row(CREATORS, 201, {"content": SENT}),
    "api_key.list": Row(ADMINS, 200),
    "api_key.create": Row(ADMINS, 201, {"name": "Website"}),
    "api_key.rotate": Row(ADMINS, 200),
    "api_key.destroy": Row(ADMINS, 204),
    "member.list": Row(EVERYBODY, 200),
    "member.retrieve": Row(EVERYBODY, 200),
    "leaderboard.list": Row(EVERYBODY, 200),
    "achievement.list": Row(EVERYBODY, 200),
    "member.create": Row(ADMINS, 201, {"nick": "Kari"}),
    "member.partial_update": Row(ADMINS, 200, {"nick": "Kari"}),
    "xp.list": Row(ADMINS, 200),  # somebody else's
    "xp.create": Row(ADMINS, 201, {"amount": 5}),
    "person.retrieve": Row(ADMINS, 200),
    "person.destroy": Row(ADMINS, 204),
    "webhook.list": Row(ADMINS, 200),
    "webhook.create": Row(ADMINS, 201, {"url": "https://example.com/", "events": ["*"]}),
    "webhook.retrieve": Row(ADMINS, 200),
    "webhook.partial_update": Row(ADMINS, 200, {"name": "Board"}),
    "webhook.destroy": Row(ADMINS, 204),
    "webhook.rotate_secret": Row(ADMINS, 200),
    "webhook.ping": Row(ADMINS, 201),
    "event.list": Row(ADMINS, 200),
    "webhook.redeliver": Row(ADMINS, 202, SINCE),
    "delivery.list": Row(ADMINS, 200),
    "delivery.retrieve": Row(ADMINS, 200),
    "delivery.redeliver": Row(ADMINS, 201),
    "project.list": Row(EVERYBODY, 200),
    "project.create": Row(CREATORS, 201, {"name": "Openings", "type": "convo"}),
    "project.retrieve": Row(EVERYBODY, 200),
    "project.update": Row(OWN_OR_ANY, 200, {"name": "Endings"}),
    "project.partial_update": Row(OWN_OR_ANY, 200, {"name": "Endings"}),
    "project.destroy": Row(OWN_OR_ANY_DRAFT, 204, None, DRAFT),
    "project.open": Row(OWN_OR_ANY_DRAFT, 200, None, DRAFT),
    "project.close": Row(OWN_OR_ANY, 200),
    "project.clone": Row(CREATORS, 201),
    "script.retrieve": Row(EVERYBODY, 200),
    "script.read_block": Row(EVERYBODY, 200),
    "script.update": Row(OWN_OR_ANY_DRAFT, 200, {"blocks": []}, DRAFT),
    # No model is connected there.
    "script.convert": Row(CREATORS, 200, {"format": "text", "content": "1. Why?"}),
    "script.revise": Row(OWN_OR_ANY, 409, {"instruction": "Shorter"}),
    "script.patch_block": Row(OWN_OR_ANY, 200, {"prompt": "Which?"}),
    "script.put_block": Row(OWN_OR_ANY, 200, {"prompt": "Which?"}),
    "conversation.create": Row(OWN_OR_ANY, 201, {}),
    "conversation.retrieve": Row(OWN_OR_ANY, 200),
    "conversation.answer": Row(OWN_OR_ANY, 200, {"block_id": "{text_id}", "value": "Because"}),
    "conversation.back": Row(OWN_OR_ANY, 200),
    "conversation.go_on": Row(OWN_OR_ANY, 200, None, TALK),
    "conversation.create_token": Row(OWN_OR_ANY, 201, {}, TALK),
    "template.list": Row(EVERYBODY, 200),
    "template.retrieve": Row(EVERYBODY, 200),
    "link.list": Row(OWN_OR_ANY, 200),
    "link.create": Row(OWN_OR_ANY, 201, {"member_id": "{member_id}"}),
    "link.export": Row(OWN_OR_ANY, 200),
    "link.destroy": Row(OWN_OR_ANY, 204),
    "link.revoke": Row(OWN_OR_ANY, 204),
    "response.list": Row(EVERYBODY, 200),
    "response.changes": Row(EVERYBODY, 200),
    "response.all_changes": Row(EVERYBODY, 200),
    "response.retrieve": Row(EVERYBODY, 200),
    "response.create": Row(OWN_OR_ANY, 201, {"data": [PAST]}),
    "response.destroy": Row(OWN_OR_ANY, 204),
    "analysis.create": Row(OWN_OR_ANY, 202),
    "analysis.ask": Row(CREATORS, 503, {"question": "How many answered?"}),  # no worker is there
    "analysis.retrieve": Row(EVERYBODY, 200),
    "codebook.retrieve": Row(EVERYBODY, 200, None, QUESTION),
    "codebook.partial_update": Row(OWN_OR_ANY, 200, {"themes": []}, QUESTION),
    "codebook.correct": Row(OWN_OR_ANY, 200, {"themes": []}, QUESTION),
    "results.retrieve": Row(EVERYBODY, 200),
    "results.cross": Row(EVERYBODY, 200, query="?rows={block_id}&columns=completed.day"),
    "results.participation": Row(EVERYBODY, 200),
    "dashboard.retrieve": Row(EVERYBODY, 200),
    "dashboard.update": Row(OWN_OR_ANY, 200, {"block_ids": ["{block_id}"]}),
    "dashboard.destroy": Row(OWN_OR_ANY, 204),
    "export.retrieve": Row(EVERYBODY, 200),
}

# The readers of projects in other states: the fields of the project, and the roles.
INACTIVE, PRIVATE, ANONYMOUS = (
    {"status": "inactive"},
    {"privacy_mode": "semi-private"},
    {"privacy_mode": "anonymous"},
)
STATES: dict[str, list[tuple[Mapping[str, str], str]]] = {
    "project.retrieve": [(INACTIVE, READERS_OF_DRAFTS)],
    "script.retrieve": [(INACTIVE, READERS_OF_DRAFTS)],
    "script.read_block": [(INACTIVE, READERS_OF_DRAFTS)],
    **{
        action: [(PRIVATE, OWN_OR_ANY), (ANONYMOUS, OWN_OR_ANY)]
        for action in (
            "analysis.retrieve",
            "codebook.retrieve",
            "dashboard.retrieve",
            "results.cross",
            "results.retrieve",
            "results.participation",
            "response.list",
            "response.retrieve",
            "export.retrieve",
        )
    },
}
# Of a transparent project that is closed, everybody may read the responses.
OF_CLOSED_ONES = {
    "analysis.retrieve",
    "codebook.retrieve",
    "dashboard.retrieve",
    "export.retrieve",
    "response.list",
    "results.cross",
    "results.retrieve",
    "results.participation",
}

# Ids of objects that a body may name: the action, the field, and a body with `ID` in place of the id.
CHOICE = {"type": "single_punch", "prompt": "Which?", "options": [{"value": "a"}, {"value": "b"}]}


def _script(**block: Any) -> dict[str, Any]:
    return {"blocks": [{**CHOICE, **block}]}


def _past(**answer: Any) -> dict[str, Any]:
    return {"data": [{**PAST, "answers": [answer]}]}


NEW = {"name": "Ours", "type": "convo"}
AUDIENCE = {"audience": {"participation": "open_web", "verified_source_ids": ["ID"]}}
OPTION = {"options": [{"id": "ID", "value": "a"}, {"value": "b"}]}
REWARD = {"rewards": {"achievement_id": "ID"}}
BODIES: list[tuple[str, str, str, Any]] = [
    ("codebook.partial_update", "themes[].id", "theme_id", {"themes": [{"id": "ID", "title": "x"}]}),
    ("conversation.answer", "block_id", "text_id", {"block_id": "ID", "value": "x"}),
    ("conversation.answer", "option_id", "option_id", {"block_id": "{block_id}", "option_id": "ID"}),
    ("conversation.answer", "option_ids", "option_id", {"block_id": "{block_id}", "option_ids": ["ID"]}),
    ("conversation.back", "block_id", "text_id", {"block_id": "ID"}),
    ("conversation.go_on", "block_id", "text_id", {"block_id": "ID"}),
    ("conversation.create", "member_id", "member_id", {"member_id": "ID"}),
    ("dashboard.update", "block_ids", "block_id", {"block_ids": ["ID"]}),
    ("link.create", "member_id", "member_id", {"member_id": "ID"}),
    ("link.create", "member_ids", "member_id", {"member_ids": ["ID"]}),
    ("link.create", "links[].member_id", "member_id", {"links": [{"member_id": "ID"}]}),
    ("response.create", "data[].answers[].block_id", "text_id", _past(block_id="ID", value="x")),
    (
        "response.create",
        "data[].answers[].option_id",
        "option_id",
        _past(block_id="{block_id}", option_id="ID"),
    ),
    ("webhook.create", "project_ids", "project_id", {"url": "https://example.com/", "project_ids": ["ID"]}),
    ("webhook.partial_update", "project_ids", "project_id", {"project_ids": ["ID"]}),
    ("project.open", "delivery.audience.verified_source_ids", "verifiedsource_id", {"delivery": AUDIENCE}),
    *(
        row
        for action, base in (
            ("project.create", NEW),
            ("project.update", {"name": "Ours"}),
            ("project.partial_update", {}),
        )
        for row in (
            (
                action,
                "delivery.audience.verified_source_ids",
                "verifiedsource_id",
                {**base, "delivery": AUDIENCE},
            ),
            (action, "rewards.achievement_id", "achievement_number", {**base, **REWARD}),
        )
    ),
    *(
        (action, f"{before}{name}", of, body(block))
        for action, before, body in (
            ("project.create", "script.blocks[].", lambda block: {**NEW, "script": _script(**block)}),
            ("script.update", "blocks[].", lambda block: _script(**block)),
            ("script.put_block", "", lambda block: {**CHOICE, **block}),
            ("script.patch_block", "", lambda block: block),
        )
        for name, of, block in (
            ("id", "block_id", {"id": "ID"}),
            ("options[].id", "option_id", OPTION),
            ("correct_answer_id", "option_id", {"correct_answer_id": "ID"}),
            ("correct_answer_ids", "option_id", {"correct_answer_ids": ["ID"]}),
        )
    ),
]
# Of the platform, or a name that the caller chooses: no object of ours.
NO_OBJECTS = {
    "achievement_role_id",
    "discord_role_id",
    "external_id",
    "interviewer_id",
    "ping_role_ids",
    "platform_id",
    "post_channel_id",
    "required_role_ids",
    "role_id",
    "theme_id",
    "xp_role_id",
}
# Ids that a query may name: the action, the parameter, and whose id.
QUERIES: list[tuple[str, str, str]] = [
    ("audit.list", "actor_id", "user_id"),
    ("audit.list", "project_id", "project_id"),
    ("audit.list", "after", "auditentry_id"),
    ("delivery.list", "after", "delivery_id"),
    ("event.list", "after", "event_id"),
    ("member.list", "after", "member_id"),
    ("member.list", "user_id", "user_id"),
    ("member.list", "platform_id", "platform_id"),
    ("project.list", "after", "project_id"),
    ("project.list", "author_id", "author_id"),
    ("response.list", "after", "response_id"),
    ("response.list", "member_id", "member_id"),
    ("response.list", "platform_id", "platform_id"),
    ("response.list", "user_id", "user_id"),
]
# A project may be copied from another community by whoever knows its id, unless its settings say otherwise.
COPYABLE = ("project.clone", "project_id")
# Ids that bodies contain as text.
TEXTS = {"member_id", "verifiedsource_id"}
