"""Every write over the interface leaves exactly one entry in the audit trail, and no secret in it.

Refused and repeated requests leave none, and neither does what respondents do.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from communities.api.pictures import SENT
from communities.gate import authentication
from communities.ground.audit_actions import Action
from communities.models import AuditEntry, Member, User
from surveys.models import Project
from surveys.services import events
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from tests.support.caller import CHOICE, TEXT, Caller, refusal
from tests.support.dumps import dump
from tests.support.routes import routed_actions
from tests.support.surveys.draft_provider import free_model
from webhooks.models import Delivery, Event
from xp.models import XpEntry

pytestmark = pytest.mark.django_db

WRITTEN, NOTE, PATH = "the-answer-of-somebody", "a-note-about-somebody", "a-token-in-the-path"
HOOK = f"https://example.com/{PATH}?and=more"
PAST = {"started_at": "2025-01-01T00:00:00Z", "submitted_at": "2025-01-01T00:00:00Z", "answers": []}
AWARD = {"amount": 5, "note": NOTE}

# action: method, path, body, and what the audit trail calls it; None for what respondents do.
WRITES: dict[str, tuple[str, str, Any, Action | None]] = {
    "settings.partial_update": ("patch", "/settings", {"xp_name": "Tempi"}, Action.SETTINGS_UPDATED),
    "picture.create": ("post", "/pictures", {"content": SENT}, Action.PICTURE_UPLOADED),
    "api_key.create": ("post", "/api_keys", {"name": "Website"}, Action.API_KEY_CREATED),
    "api_key.rotate": ("post", "/api_keys/{key}/rotate", None, Action.API_KEY_ROTATED),
    "api_key.destroy": ("delete", "/api_keys/{key}", None, Action.API_KEY_REVOKED),
    "member.create": ("post", "/members", {"nick": "Kari"}, Action.MEMBER_CREATED),
    "member.partial_update": ("patch", "/members/{member}", {"nick": "Kari"}, Action.MEMBER_UPDATED),
    "xp.create": ("post", "/members/{member}/xp", AWARD, Action.XP_AWARDED),
    "person.destroy": ("delete", "/members/{member}/data", None, Action.MEMBER_ERASED),
    "webhook.create": ("post", "/webhooks", {"url": HOOK, "events": ["*"]}, Action.WEBHOOK_CREATED),
    "webhook.partial_update": ("patch", "/webhooks/{webhook}", {"url": f"{HOOK}2"}, Action.WEBHOOK_UPDATED),
    "webhook.destroy": ("delete", "/webhooks/{webhook}", None, Action.WEBHOOK_DELETED),
    "webhook.rotate_secret": (
        *("post", "/webhooks/{webhook}/rotate_secret", None),
        Action.WEBHOOK_SECRET_ROTATED,
    ),
    "webhook.ping": ("post", "/webhooks/{webhook}/ping", None, Action.WEBHOOK_PINGED),
    "webhook.redeliver": (
        *("post", "/webhooks/{webhook}/redeliver", {"since": "2026-01-01T00:00:00Z"}),
        Action.WEBHOOK_REDELIVERED,
    ),
    "delivery.redeliver": ("post", "/deliveries/{delivery}/redeliver", None, Action.WEBHOOK_REDELIVERED),
    "project.create": ("post", "/projects", {"name": "Ours", "type": "convo"}, Action.PROJECT_CREATED),
    "project.update": ("put", "/projects/{project}", {"name": "Endings"}, Action.PROJECT_UPDATED),
    "project.partial_update": (
        *("patch", "/projects/{project}", {"settings": {"share_results": True}}),
        Action.PROJECT_UPDATED,
    ),
    "project.destroy": ("delete", "/projects/{closed}", None, Action.PROJECT_DELETED),
    "project.open": ("post", "/projects/{closed}/open", None, Action.PROJECT_OPENED),
    "project.close": ("post", "/projects/{project}/close", None, Action.PROJECT_CLOSED),
    "project.clone": ("post", "/projects/{project}/clone", None, Action.PROJECT_CLONED),
    "script.update": ("put", "/projects/{closed}/script", {"blocks": [TEXT]}, Action.SCRIPT_UPDATED),
    "script.patch_block": (
        *("patch", "/projects/{project}/script/blocks/{block}", {"prompt": "Which?"}),
        Action.SCRIPT_UPDATED,
    ),
    "script.put_block": (
        *("put", "/projects/{project}/script/blocks/{block}", {"prompt": "Which?"}),
        Action.SCRIPT_UPDATED,
    ),
    "script.convert": ("post", "/scripts/convert", {"format": "text", "content": "1. Why?"}, None),
    "script.revise": ("post", "/projects/{closed}/script/revise", {"instruction": "Shorter"}, None),
    "link.create": ("post", "/projects/{project}/links", {"member_id": "{member}"}, Action.LINK_CREATED),
    "link.destroy": ("delete", "/projects/{project}/links/{link}", None, Action.LINK_REVOKED),
    "link.revoke": ("delete", "/links/{link}", None, Action.LINK_REVOKED),
    "response.create": ("post", "/projects/{project}/responses", {"data": [PAST]}, Action.RESPONSES_IMPORTED),
    "response.destroy": ("delete", "/responses/{response}", None, Action.RESPONSE_DELETED),
    "analysis.create": ("post", "/projects/{project}/analysis", None, Action.ANALYSIS_REQUESTED),
    "analysis.ask": ("post", "/projects/{project}/analysis/questions", {"question": "How many?"}, None),
    "codebook.partial_update": (
        *("patch", "/projects/{project}/blocks/{text}/codebook", {"themes": []}),
        Action.CODEBOOK_UPDATED,
    ),
    "codebook.correct": (
        *("put", "/responses/{written}/blocks/{text}/reading", {"themes": []}),
        Action.READING_CORRECTED,
    ),
    "dashboard.update": (
        *("put", "/projects/{project}/dashboard", {"block_ids": ["{text}"]}),
        Action.PROJECT_UPDATED,
    ),
    "dashboard.destroy": ("delete", "/projects/{spoken_project}/dashboard", None, Action.PROJECT_UPDATED),
    "conversation.create": ("post", "/projects/{project}/conversations", {}, None),
    "conversation.answer": (
        *("post", "/conversations/{response}/answers", {"block_id": "{text}", "value": WRITTEN}),
        None,
    ),
    "conversation.back": ("post", "/conversations/{response}/back", None, None),
    "conversation.go_on": ("post", "/conversations/{spoken}/continue", None, None),
    "conversation.create_token": ("post", "/conversations/{spoken}/tokens", {}, None),
}
RECORDED = {action: row for action, row in WRITES.items() if row[3]}


@dataclass
class Scene:
    """A community with one of everything. `secrets` must be in no entry."""

    caller: Caller
    places: dict[str, str]
    secrets: list[str]

    def write(self, action: str, *, by: Caller | None = None, key: str = "") -> Any:
        method, path, body, _ = WRITES[action]
        if isinstance(body, dict):
            body = {name: self._filled(value) for name, value in body.items()}
        headers = {"Idempotency-Key": key} if key else {}
        return (by or self.caller).call(method, path.format(**self.places), body, **headers)

    def _filled(self, value: Any) -> Any:
        sent: dict[Any, Any] = {"{text}": int(self.places["text"]), "{member}": self.places["member"]}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        return sent.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def scene(kept_rows: None) -> Scene:
    caller = Caller()
    web = {"delivery": {"audience": {"participation": "open_web"}}}
    project = caller.make_open({**CHOICE, "prompt": "Hello"}, TEXT, name="Openings", **web)
    closed = caller.make(CHOICE, name="Closed")
    spoken = caller.make_open({"type": "content_block", "prompt": "Hello."}, TEXT, name="Spoken", **web)
    asked = {"block_ids": [spoken["script"]["blocks"][1]["id"]]}
    assert caller.put(f"/projects/{spoken['id']}/dashboard", asked).status_code == 200
    choice, text = (block for block in project["script"]["blocks"])
    begun = caller.post(f"/projects/{project['id']}/conversations", {}).json()
    answer = {"block_id": choice["id"], "option_id": choice["options"][0]["id"]}
    caller.post(f"/conversations/{begun['id']}/answers", answer)
    other = caller.post(f"/projects/{project['id']}/conversations", {}).json()
    caller.post(f"/conversations/{other['id']}/answers", answer)
    caller.post(f"/conversations/{other['id']}/answers", {"block_id": text["id"], "value": WRITTEN})
    webhook = caller.post("/webhooks", {"url": HOOK, "events": ["*"]}).json()
    delivery = caller.post(f"/webhooks/{webhook['id']}/ping").json()
    Delivery.objects.filter(pk=delivery["id"]).update(status="abandoned", due_at=None)
    key = caller.post("/api_keys", {"name": "Board"}).json()
    member = caller.community.members.create(user=User.objects.create(name="Bo"))
    link = caller.post(f"/projects/{project['id']}/links", {"member_id": str(member.pk)}).json()
    places = {
        "project": project["id"],
        "closed": closed["id"],
        "block": str(choice["id"]),
        "text": str(text["id"]),
        "response": begun["id"],
        "written": other["id"],
        "spoken_project": spoken["id"],
        "spoken": caller.post(f"/projects/{spoken['id']}/conversations", {}).json()["id"],
        "webhook": webhook["id"],
        "delivery": delivery["id"],
        "key": key["id"],
        "member": str(member.pk),
        "link": link["id"],
    }
    secrets = [caller.secret, key["key"], webhook["secret"], link["url"], WRITTEN, NOTE, PATH]
    return Scene(caller, places, secrets)


def count() -> int:
    return AuditEntry.objects.count()


def test_the_table_holds_every_write() -> None:
    assert set(WRITES) == {route.permission for route in routed_actions() if route.is_write}


@pytest.mark.parametrize("action", RECORDED)
def test_a_write_and_its_retry_leave_one_entry(scene: Scene, action: str) -> None:
    known = set(AuditEntry.objects.values_list("pk", flat=True))

    answer = scene.write(action, key="one")
    again = scene.write(action, key="one")

    assert 200 <= answer.status_code < 300, answer.content
    assert again["Idempotency-Replayed"] == "true"
    entry = AuditEntry.objects.exclude(pk__in=known).get()
    assert entry.action == WRITES[action][3]
    assert (entry.source, entry.actor_id) == ("api_key", scene.caller.user.pk)
    assert entry.request_id == answer["X-Request-Id"]
    assert entry.community_id == scene.caller.community.pk


@pytest.mark.parametrize("action", sorted(set(WRITES) - set(RECORDED)))
def test_what_respondents_do_and_what_saves_nothing_leaves_none(
    scene: Scene, action: str, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    free_model(monkeypatch, settings)
    before = count()

    answer = scene.write(action)

    assert 200 <= answer.status_code < 300, answer.content
    assert count() == before


@pytest.mark.parametrize("action", RECORDED)
def test_a_refused_write_leaves_none(scene: Scene, action: str) -> None:
    member = scene.caller.beside("member")
    before = count()

    answer = scene.write(action, by=member)

    assert answer.status_code in (403, 404)
    assert count() == before


def test_a_write_whose_caller_is_erased_meanwhile_changes_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request has been let in before its caller is erased, and does its work afterwards."""
    gone = scene.caller.beside("admin")
    known = authentication.authenticate(gone.secret, at=timezone.now())
    people.erase(actor=scene.caller.actor, member_id=Member.objects.get(user=gone.user).pk, at=timezone.now())
    monkeypatch.setattr(authentication, "authenticate", lambda *_, **__: known)
    monkeypatch.setattr(authentication, "confirm", lambda *_, **__: known)
    before = dump()

    answers = {action: scene.write(action, by=gone, key=action) for action in RECORDED}

    assert {action: refusal(answer) for action, answer in answers.items()} == dict.fromkeys(
        RECORDED, (401, "invalid_api_key")
    )
    assert dump() == before


class Undo(Exception):
    """Rolls back the changes of one write."""


def test_a_write_whose_caller_is_merged_meanwhile_leaves_no_row_with_the_user_who_is_gone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the user who stayed, or is refused: by the service, or at the commit by a foreign key."""
    gone, keep = scene.caller.beside("admin"), scene.caller.beside("admin")
    known = authentication.authenticate(gone.secret, at=timezone.now())
    merge_users(keep_id=keep.user.pk, drop_id=gone.user.pk, at=timezone.now())
    monkeypatch.setattr(authentication, "authenticate", lambda *_, **__: known)
    monkeypatch.setattr(authentication, "confirm", lambda *_, **__: known)
    taken: dict[str, int] = {}

    for action in RECORDED:
        with contextlib.suppress(Undo, IntegrityError), transaction.atomic():
            status = scene.write(action, by=gone, key=action).status_code
            if status != 401:
                connection.check_constraints()
                assert 200 <= status < 300, action
                taken[action] = sum(
                    (
                        AuditEntry.objects.filter(actor_id=gone.user.pk).count(),
                        XpEntry.objects.filter(actor_id=gone.user.pk).count(),
                        Event.objects.filter(person_id=gone.user.pk).count(),
                    )
                )
            raise Undo

    assert taken == dict.fromkeys(taken, 0)
    assert {"settings.partial_update", "project.close", "webhook.create"} <= set(taken)


@pytest.mark.parametrize("action", ["project.create", "project.destroy", "project.open", "project.close"])
def test_a_write_that_fails_later_leaves_none(
    scene: Scene, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(events, "project_changed", fail)
    scene.caller.client.raise_request_exception = False
    before = count()

    answer = scene.write(action, key="one")

    assert answer.status_code == 500
    assert count() == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("patch", "/settings", {}),
        ("patch", "/settings", {"xp_name": "XP"}),
        ("patch", "/projects/{project}", {}),
        ("patch", "/projects/{project}", {"name": "Openings"}),
        ("patch", "/webhooks/{webhook}", {"is_active": True}),
        ("patch", "/projects/{project}/script/blocks/{block}", {"prompt": "Hello"}),
    ],
)
def test_a_write_that_changes_nothing_leaves_none(scene: Scene, method: str, path: str, body: Any) -> None:
    before = count()

    answer = scene.caller.call(method, path.format(**scene.places), body)

    assert answer.status_code == 200, answer.content
    assert count() == before


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("/projects/{project}/responses/export?format=csv&provider=web", Action.RESPONSES_EXPORTED),
        ("/members/{member}/data", Action.MEMBER_EXPORTED),
    ],
)
def test_reading_all_of_it_is_recorded(scene: Scene, path: str, action: Action) -> None:
    known = set(AuditEntry.objects.values_list("pk", flat=True))

    answer = scene.caller.get(path.format(**scene.places))

    assert answer.status_code == 200
    assert b"".join(answer) != b""
    entry = AuditEntry.objects.exclude(pk__in=known).get()
    assert entry.action == action
    assert entry.after in (None, {"format": "csv"})


def test_no_entry_holds_a_secret_or_an_answer(scene: Scene) -> None:
    created: list[str] = []
    for action in ("api_key.rotate", "api_key.create", "webhook.rotate_secret", "webhook.create"):
        told = scene.write(action).json()
        created.append(told.get("key") or told.get("secret"))
    for action in [each for each in RECORDED if each not in {"person.destroy", "webhook.destroy"}]:
        scene.write(action)
    scene.write("webhook.destroy")
    scene.write("person.destroy")

    entries = "\n".join(dump()["communities_auditentry"])

    assert set(AuditEntry.objects.values_list("action", flat=True)) >= {
        row[3].value for row in RECORDED.values() if row[3]
    }
    digests = _column("SELECT digest FROM communities_apikey")
    sealed = [bytes(each).hex() for each in _column("SELECT sealed_secret FROM webhooks_webhook") if each]
    tokens = [each.hex for each in _column("SELECT results_token FROM surveys_project")]
    dashed = [str(each) for each in _column("SELECT results_token FROM surveys_project")]
    secrets = [*scene.secrets, *created, *digests, *sealed, *tokens, *dashed]
    assert [secret for secret in secrets if secret in entries] == []


def _column(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [row[0] for row in cursor.fetchall()]


# --- What writes of projects announce (rules 1.41 and 9.6) ---------------------------------------------

# What each write of a project or its script announces.
ANNOUNCED = {
    "project.create": "project.created",
    "project.update": "project.updated",
    "project.partial_update": "project.updated",
    "project.destroy": "project.deleted",
    "project.open": "project.opened",
    "project.close": "project.closed",
    "project.clone": "project.created",
    "script.update": "project.updated",
    "script.patch_block": "project.updated",
    "script.put_block": "project.updated",
}


def changed_at(project_id: str | int) -> datetime:
    return Project.with_deleted.values_list("updated_at", flat=True).get(pk=project_id)


def announced(project_id: str | int) -> list[str]:
    """The types of the events about a project, in the order of being written."""
    bodies = [json.loads(event.body or "") for event in Event.objects.order_by("created_at", "pk")]
    return [each["type"] for each in bodies if each["data"].get("project", {}).get("id") == str(project_id)]


def test_the_table_of_announcements_holds_every_write_of_projects_and_scripts() -> None:
    writes = {route.permission for route in routed_actions() if route.is_write}

    saving = {each for each in writes if each.split(".")[0] in ("project", "script")}
    saving -= {"script.revise", "script.convert"}  # they save nothing
    assert set(ANNOUNCED) == saving


@pytest.mark.parametrize("action", ANNOUNCED)
def test_each_write_of_a_project_counts_and_is_announced_once(scene: Scene, action: str) -> None:
    changes = {
        project_id: changed_at(project_id) for project_id in Project.objects.values_list("pk", flat=True)
    }
    known = set(Event.objects.values_list("pk", flat=True))

    answer = scene.write(action)

    assert answer.status_code < 300, answer.content
    [event] = [json.loads(each.body or "") for each in Event.objects.exclude(pk__in=known)]
    assert event["type"] == ANNOUNCED[action]
    told = event["data"]["project"]
    if event["type"] == "project.deleted":
        assert not Project.objects.filter(pk=told["id"]).exists()
        return
    assert told == scene.caller.get(f"/projects/{told['id']}").json()
    others = {pk: before for pk, before in changes.items() if pk != int(told["id"])}
    assert {pk: changed_at(pk) for pk in others} == others
    assert changed_at(told["id"]) != changes.get(int(told["id"]))


@pytest.mark.parametrize(
    "action", ["response.create", "response.destroy", "link.create", "conversation.answer"]
)
def test_what_respondents_give_changes_no_project(scene: Scene, action: str) -> None:
    before = changed_at(scene.places["project"])
    known = announced(scene.places["project"])

    answer = scene.write(action)

    assert answer.status_code < 300, answer.content
    assert changed_at(scene.places["project"]) == before
    assert announced(scene.places["project"]) == known
