"""Calls every action in every role over HTTP; the table is written by hand from decisions 2.2 and 14.16."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from communities.models import User
from tests.support.caller import CHOICE, Caller
from tests.support.database import kept_for_many_tests, taken_back
from tests.support.routes import routed_actions

pytestmark = pytest.mark.django_db

ROLES = ("member", "creator at own", "creator at another's", "admin")
EVERYBODY = "yes yes yes yes"
CREATORS = "no yes yes yes"
OWN_OR_ANY = "no yes no yes"
ADMINS = "no no no yes"

PAST = {"started_at": "2025-01-01T00:00:00Z", "submitted_at": "2025-01-01T00:00:00Z", "answers": []}

# action: method, path, body, and who may. The project is active and transparent, so everybody sees it.
TABLE: dict[str, tuple[str, str, Any, str]] = {
    "community.list": ("get", "/v1/communities", None, EVERYBODY),
    "community.retrieve": ("get", "{community}", None, EVERYBODY),
    "settings.retrieve": ("get", "{community}/settings", None, EVERYBODY),
    "settings.partial_update": ("patch", "{community}/settings", {}, ADMINS),
    "verified_source.list": ("get", "{community}/verified_sources", None, EVERYBODY),
    "audit.list": ("get", "{community}/audit", None, ADMINS),
    "api_key.list": ("get", "{community}/api_keys", None, ADMINS),
    "api_key.create": ("post", "{community}/api_keys", {"name": "Website"}, ADMINS),
    "api_key.rotate": ("post", "{community}/api_keys/{key}/rotate", None, ADMINS),
    "api_key.destroy": ("delete", "{community}/api_keys/{key}", None, ADMINS),
    "member.list": ("get", "{community}/members", None, EVERYBODY),
    "member.retrieve": ("get", "{member}", None, EVERYBODY),
    "leaderboard.list": ("get", "{community}/leaderboard", None, EVERYBODY),
    "achievement.list": ("get", "{community}/achievements", None, EVERYBODY),
    "member.create": ("post", "{community}/members", {"nick": "Kari"}, ADMINS),
    "member.partial_update": ("patch", "{member}", {"nick": "Kari"}, ADMINS),
    "xp.list": ("get", "{member}/xp", None, ADMINS),  # somebody else's
    "xp.create": ("post", "{member}/xp", {"amount": 5}, ADMINS),
    "person.retrieve": ("get", "{member}/data", None, ADMINS),
    "person.destroy": ("delete", "{member}/data", None, ADMINS),
    "webhook.list": ("get", "{community}/webhooks", None, ADMINS),
    "webhook.create": ("post", "{community}/webhooks", {"url": "https://example.com/"}, ADMINS),
    "webhook.retrieve": ("get", "{webhook}", None, ADMINS),
    "webhook.partial_update": ("patch", "{webhook}", {"name": "Board"}, ADMINS),
    "webhook.destroy": ("delete", "{webhook}", None, ADMINS),
    "webhook.rotate_secret": ("post", "{webhook}/rotate_secret", None, ADMINS),
    "webhook.ping": ("post", "{webhook}/ping", None, ADMINS),
    "event.list": ("get", "{community}/events", None, ADMINS),
    "webhook.redeliver": ("post", "{webhook}/redeliver", {"since": "2026-01-01T00:00:00Z"}, ADMINS),
    "delivery.list": ("get", "{webhook}/deliveries", None, ADMINS),
    "delivery.retrieve": ("get", "{delivery}", None, ADMINS),
    "delivery.redeliver": ("post", "{delivery}/redeliver", None, ADMINS),
    "project.list": ("get", "{community}/projects", None, EVERYBODY),
    "project.create": ("post", "{community}/projects", {"name": "Openings", "type": "convo"}, CREATORS),
    "project.retrieve": ("get", "{project}", None, EVERYBODY),
    "project.update": ("put", "{project}", {"name": "Endings"}, OWN_OR_ANY),
    "project.partial_update": ("patch", "{project}", {"name": "Endings"}, OWN_OR_ANY),
    "project.destroy": ("delete", "{project}", None, OWN_OR_ANY),
    "project.open": ("post", "{project}/open", None, OWN_OR_ANY),
    "project.close": ("post", "{project}/close", None, OWN_OR_ANY),
    "project.clone": ("post", "{project}/clone", None, CREATORS),
    "script.retrieve": ("get", "{project}/script", None, EVERYBODY),
    "script.update": ("put", "{project}/script", {"blocks": []}, OWN_OR_ANY),
    "script.patch_block": ("patch", "{project}/script/blocks/{block}", {"prompt": "Which?"}, OWN_OR_ANY),
    "script.put_block": ("put", "{project}/script/blocks/{block}", {"prompt": "Which?"}, OWN_OR_ANY),
    "conversation.create": ("post", "{project}/conversations", {}, OWN_OR_ANY),
    "conversation.retrieve": ("get", "{conversation}", None, OWN_OR_ANY),
    "conversation.answer": ("post", "{conversation}/answers", {"block_id": 1, "skip": True}, OWN_OR_ANY),
    "conversation.back": ("post", "{conversation}/back", None, OWN_OR_ANY),
    "conversation.go_on": ("post", "{conversation}/continue", None, OWN_OR_ANY),
    "template.list": ("get", "/v1/templates", None, EVERYBODY),
    "template.retrieve": ("get", "/v1/templates/event-feedback", None, EVERYBODY),
    "link.list": ("get", "{project}/links", None, OWN_OR_ANY),
    "link.create": ("post", "{project}/links", {"member_ids": []}, OWN_OR_ANY),
    "link.export": ("get", "{project}/links/export", None, OWN_OR_ANY),
    "link.destroy": ("delete", "{link}", None, OWN_OR_ANY),
    "response.list": ("get", "{project}/responses", None, EVERYBODY),
    "response.changes": ("get", "{project}/responses/changes", None, EVERYBODY),
    "response.all_changes": ("get", "{community}/responses/changes", None, EVERYBODY),
    "response.retrieve": ("get", "{response}", None, EVERYBODY),
    "response.create": ("post", "{project}/responses", {"data": [PAST]}, OWN_OR_ANY),
    "response.destroy": ("delete", "{response}", None, OWN_OR_ANY),
    "analysis.create": ("post", "{project}/analysis", None, OWN_OR_ANY),
    "analysis.retrieve": ("get", "{project}/analysis", None, EVERYBODY),
    "results.retrieve": ("get", "{project}/analysis/results", None, EVERYBODY),
    "export.retrieve": ("get", "{project}/responses/export", None, EVERYBODY),
}


@dataclass
class Scene:
    """An active project with one response, and somebody of each role."""

    callers: dict[str, Caller]
    places: dict[str, str]

    def status(self, action: str, role: str) -> int:
        method, path, body, _ = TABLE[action]
        caller = self.callers[role]
        with taken_back():
            answer = caller.client.generic(
                method.upper(),
                path.format(**self.places),
                b"" if body is None else _json(body),
                "application/json",
                headers={"X-API-Key": caller.secret},
            )
        return answer.status_code


def _json(body: object) -> bytes:
    return orjson.dumps(body)


def _somebody_else(admin: Caller) -> int:
    return admin.community.members.create(user=User.objects.create(name="Somebody else")).pk


def _link(author: Caller, project_id: str) -> str:
    body = {"member_id": str(_somebody_else(author))}
    return str(author.post(f"/projects/{project_id}/links", body).json()["id"])


def _webhook_and_delivery(admin: Caller, community: str) -> dict[str, str]:
    webhook = admin.post("/webhooks", {"url": "https://example.com/", "events": ["webhook.ping"]}).json()
    delivery = admin.post(f"/webhooks/{webhook['id']}/ping").json()
    return {
        "webhook": f"{community}/webhooks/{webhook['id']}",
        "delivery": f"{community}/deliveries/{delivery['id']}",
    }


Scenes = dict[str, Scene]


@pytest.fixture(scope="module")
def scenes(django_db_setup: None, django_db_blocker: Any) -> Iterator[Scenes]:
    with kept_for_many_tests(django_db_blocker):
        yield {
            "open": _scene(),
            "closed": _scene(is_open=False),
            "semi-private": _scene(privacy_mode="semi-private"),
            "anonymous": _scene(privacy_mode="anonymous"),
        }


def _scene(*, privacy_mode: str = "transparent", is_open: bool = True) -> Scene:
    admin = Caller("admin")
    author, other, member = admin.beside("creator"), admin.beside("creator"), admin.beside("member")
    make = author.make_open if is_open else author.make
    audience = {"delivery": {"audience": {"participation": "open_web"}}}
    project = make(CHOICE, CHOICE, privacy_mode=privacy_mode, **audience)
    blocks = [block for block in project["script"]["blocks"] if block["type"] == "single_punch"]
    community = f"/v1/communities/{admin.community.pk}"
    places = {
        "community": community,
        "project": f"{community}/projects/{project['id']}",
        "block": str(blocks[0]["id"]),
        "key": str(admin.community.api_keys.order_by("-pk")[0].pk),
        "member": f"{community}/members/{_somebody_else(admin)}",
        "link": f"{community}/projects/{project['id']}/links/{_link(author, project['id'])}",
        **_webhook_and_delivery(admin, community),
    }
    if is_open:
        begun = author.post(f"/projects/{project['id']}/conversations", {}).json()
        answer = {"block_id": blocks[0]["id"], "option_id": blocks[0]["options"][0]["id"]}
        author.post(f"/conversations/{begun['id']}/answers", answer)
        places["conversation"] = f"{community}/conversations/{begun['id']}"
        places["response"] = f"{community}/responses/{begun['id']}"
        author.post(f"/projects/{project['id']}/analysis?ai=false")
    return Scene(dict(zip(ROLES, (member, author, other, admin), strict=True)), places)


def test_the_table_holds_every_routed_action() -> None:
    assert set(TABLE) == {route.permission for route in routed_actions()}


def test_views_declare_a_least_role_for_every_routed_action_and_for_no_other() -> None:
    views = {route.view for route in routed_actions()}

    declared = {f"{view.noun}.{action}" for view in views for action in view.least_role}

    assert declared == set(TABLE)


@pytest.mark.parametrize("action", TABLE)
def test_each_role_is_allowed_what_the_table_says(action: str, scenes: Scenes) -> None:
    here = scenes["open"]
    statuses = {role: here.status(action, role) for role in ROLES}

    allowed = dict(zip(ROLES, TABLE[action][3].split(), strict=True))
    assert {role: status == 403 for role, status in statuses.items()} == {
        role: word == "no" for role, word in allowed.items()
    }
    assert not {status for status in statuses.values() if status in {401, 404} or status >= 500}


# Of a closed project, too, everybody may read the responses where it is transparent.
OF_CLOSED_ONES = {"analysis.retrieve", "response.list", "results.retrieve", "export.retrieve"}


@pytest.mark.parametrize(
    "action",
    [action for action, row in TABLE.items() if "{project}" in row[1] and action not in OF_CLOSED_ONES],
)
def test_a_project_that_a_member_must_not_see_is_not_found(action: str, scenes: Scenes) -> None:
    hidden = scenes["closed"]

    assert hidden.status(action, "member") == 404


@pytest.mark.parametrize("action", ["project.retrieve", "script.retrieve"])
def test_creators_and_admins_read_projects_that_are_not_active(action: str, scenes: Scenes) -> None:
    hidden = scenes["closed"]

    assert [hidden.status(action, role) for role in ROLES] == [404, 200, 200, 200]


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
@pytest.mark.parametrize(
    "action",
    ["analysis.retrieve", "results.retrieve", "response.list", "response.retrieve", "export.retrieve"],
)
def test_responses_that_are_not_transparent_are_their_creators_and_the_admins(
    action: str, privacy_mode: str, scenes: Scenes
) -> None:
    private = scenes[privacy_mode]

    told = {role: private.status(action, role) for role in ROLES}

    assert (told["creator at own"], told["admin"]) == (200, 200)
    assert {told["member"], told["creator at another's"]} <= {403, 404}


@pytest.mark.parametrize("action", TABLE)
def test_another_communitys_objects_look_exactly_like_absent_ones(action: str, scenes: Scenes) -> None:
    if "{" not in TABLE[action][1]:
        return  # the list of one's own communities
    here = scenes["open"]
    stranger = Caller("admin")
    method, path, body, _ = TABLE[action]
    elsewhere = path.format(**here.places)
    absent = elsewhere.replace(f"/{here.callers['admin'].community.pk}", "/999999999999")
    answers = [
        stranger.client.generic(
            method.upper(),
            each,
            _json(body or {}),
            "application/json",
            headers={"X-API-Key": stranger.secret},
        )
        for each in (elsewhere, absent)
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content


def test_ids_of_another_community_are_not_found_under_the_own_one(scenes: Scenes) -> None:
    here = scenes["open"]
    stranger = Caller("admin")
    found = {}
    for action, (method, path, body, _) in TABLE.items():
        if "{" not in path.replace("{community}", "") or action == "project.clone":  # others may copy it
            continue
        own = path.format(**here.places).replace(
            f"/communities/{here.callers['admin'].community.pk}/", f"/communities/{stranger.community.pk}/"
        )
        found[action] = stranger.client.generic(
            method.upper(), own, _json(body or {}), "application/json", headers={"X-API-Key": stranger.secret}
        ).status_code

    assert {action: status for action, status in found.items() if status != 404} == {}


def test_a_restricted_key_of_an_admin_may_do_what_a_creator_may() -> None:
    admin = Caller("admin")
    admin.community.api_keys.update(restricted_to="creator")

    assert admin.get("/api_keys").status_code == 403
    assert admin.post("/projects", {"name": "Openings", "type": "convo"}).status_code == 201
