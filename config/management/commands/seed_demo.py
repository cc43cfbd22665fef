"""Seeds a demo: a chess club with six projects of realistic questions and a few responses to each.

The scripts are data (config/demo/*.json, request bodies of the interface). Scripts and answers are saved
through the services, so members get the rewards of their answers. The demo's admin is a member who has earned
nothing yet.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from django.utils import timezone

from communities.ground.actors import Actor
from communities.models import ApiKey, Community, User
from communities.services.api_keys import keys
from communities.services.people import members
from surveys.models import Project
from surveys.services.conversations import admission, moves
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.view import ConversationView
from surveys.services.projects import opening
from surveys.services.projects import service as projects
from xp.services import achievements

DEMO = Path(__file__).resolve().parent.parent.parent / "demo"
COMMUNITY_ID = 1042117710208434176
COMMUNITY = "Harbour Chess Club"
TIER = "premium"
CREDITS = 50  # The credits are for trying AI with a key of Anthropic.
KEY_NAME = "Demo"
LOGIN = "demo"
SEED_LOCK = 0x436F6C6C6F717579  # The key of an advisory lock.
MEMBERS = {  # The members' nicks by name.
    "Marit Solheim": "Marit",
    "Adaeze Okafor": "Adaeze",
    "Yuki Tanabe": "Yuki e4",
    "Pieter de Wit": "Piet",
}
OPENED_AGO = timedelta(days=3)
BETWEEN_RESPONSES = timedelta(minutes=97)


class Command(BaseCommand):
    help = "Seeds a demo community once, and keeps its login and API key in VAR_DIR/demo.json."

    def handle(self, *args: Any, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = 0")  # Another process may be seeding.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SEED_LOCK])
            if not Community.objects.filter(pk=COMMUNITY_ID).exists():
                _seed(at=timezone.now())
            demo = _stored_demo() or _issue_credentials(at=timezone.now())
            _note_address(demo)
        if options["verbosity"]:
            self.stdout.write(
                f"The demo is ready: survey {settings.BASE_URL}{demo['survey']}, "
                f"poll {settings.BASE_URL}{demo['poll']}, "
                f"admin {demo['admin_username']} with the password {demo['admin_password']}, "
                f"API key {demo['api_key']} of community {demo['community_id']}."
            )


# Credentials


def demo_file() -> Path:
    """The file with the demo's credentials, readable by its owner alone."""
    return Path(settings.VAR_DIR) / "demo.json"


def _stored_demo() -> dict[str, str] | None:
    """The credentials of an earlier run, or None if they belong to another database or the key is revoked."""
    try:
        demo: dict[str, str] = json.loads(demo_file().read_text())
        digest = keys.digest_of(demo["api_key"])
        projects_of_demo = Project.objects.filter(
            slug__in=[demo[role].removeprefix("/s/") for role in ("survey", "poll")]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    valid_keys = ApiKey.objects.filter(community_id=COMMUNITY_ID, digest=digest, revoked_at__isnull=True)
    return demo if valid_keys.exists() and projects_of_demo.count() == 2 else None


def _issue_credentials(*, at: datetime) -> dict[str, str]:
    """Replace the password and the key. The file is written before the commit that makes them valid."""
    admin = User.objects.get(username=LOGIN)
    password = secrets.token_urlsafe(12)
    admin.set_password(password)
    admin.save(update_fields=["password"])
    for old_key in ApiKey.objects.filter(community_id=COMMUNITY_ID, name=KEY_NAME, revoked_at__isnull=True):
        keys.revoke_key(actor=None, community_id=COMMUNITY_ID, key_id=old_key.pk, at=at)
    _, secret = keys.create_key(actor=None, community_id=COMMUNITY_ID, user_id=admin.pk, name=KEY_NAME, at=at)
    demo = {
        "community_id": str(COMMUNITY_ID),
        "admin_username": LOGIN,
        "admin_password": password,
        "api_key": secret,
        **_paths(),
    }
    _write(demo)
    return demo


def _paths() -> dict[str, str]:
    """The paths of the pages by the role of their script in the demo."""
    slugs = dict(
        Project.objects.filter(community_id=COMMUNITY_ID).order_by("-pk").values_list("name", "slug")
    )
    pages = {
        script["role"]: f"/s/{slugs[script['project']['name']]}"
        for script in scripts()
        if script["project"]["name"] in slugs
    }
    shared = Project.objects.filter(community_id=COMMUNITY_ID, share_results=True).order_by("pk").first()
    return pages | ({"results": f"/r/{shared.results_token}"} if shared else {})


def _note_address(demo: dict[str, str]) -> None:
    """Write the address of the demo's interface into the file, because the port may change between runs."""
    address = f"{settings.BASE_URL}/v1/communities/{COMMUNITY_ID}"
    if demo.get("api") != address:
        _write({**demo, "api": address})


def _write(demo: Mapping[str, str]) -> None:
    file = demo_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(new, "x", opener=lambda path, flags: os.open(path, flags, mode=0o600)) as written:
        json.dump(demo, written, indent=2)
    new.replace(file)


# Projects and responses


def scripts() -> Iterator[dict[str, Any]]:
    """The contents of config/demo, in the order of the file names."""
    for file in sorted(DEMO.glob("*.json")):
        yield json.loads(file.read_text(encoding="utf-8"))


def _seed(*, at: datetime) -> None:
    call_command(
        "create_community",
        id=COMMUNITY_ID,
        name=COMMUNITY,
        tier=TIER,
        credits=CREDITS,
        verbosity=0,
        stdout=_Silent(),
    )
    admin = members.create_member(community_id=COMMUNITY_ID, name="Ada Lindqvist", access="admin", at=at).user
    admin.username, admin.is_staff, admin.is_superuser = LOGIN, True, True
    admin.save(update_fields=["username", "is_staff", "is_superuser"])
    author = Actor(user_id=admin.pk, role="admin", community_id=COMMUNITY_ID, tier=TIER)
    opened_at = at - OPENED_AGO
    ids = {name: _join(name, nick, at=opened_at) for name, nick in MEMBERS.items()}
    responses: list[tuple[datetime, Project, Respondent, Mapping[str, object]]] = []
    for script in scripts():
        for achievement in script.get("achievements", []):
            achievements.define(community_id=COMMUNITY_ID, **achievement)
    for script in scripts():
        project = _open(script, author=author, at=opened_at)
        for number, (respondent, answers) in enumerate(_responses(script, ids), start=1):
            responses.append((min(opened_at + number * BETWEEN_RESPONSES, at), project, respondent, answers))
    # In chronological order, because the ledger only grows.
    for moment, project, respondent, answers in sorted(responses, key=lambda response: response[0]):
        _respond(project, respondent, answers, at=moment)


def _join(name: str, nick: str, *, at: datetime) -> int:
    member = members.create_member(community_id=COMMUNITY_ID, name=name, access="member", at=at)
    member.nick = nick
    member.save(update_fields=["nick"])
    return member.pk


class _Silent:
    """Discards the output of a command."""

    def write(self, text: str) -> None:
        pass


def _open(script: Mapping[str, Any], *, author: Actor, at: datetime) -> Project:
    body = script["project"]
    fields = {key: value for key, value in body.items() if key != "script"}
    created = projects.create_project(
        actor=author,
        fields=fields,
        script=body["script"],
        at=at,
    )
    return opening.open_project(
        actor=author,
        project_id=created.project.pk,
        fields={"delivery": {"audience": {"participation": "open_web"}}},
        at=at,
    )


def _responses(
    script: Mapping[str, Any], ids: Mapping[str, int]
) -> Iterator[tuple[Respondent, Mapping[str, object]]]:
    """The respondents of a script with their answers. `ids` are the members' ids by name."""
    for response in script.get("responses", []):
        if "member" in response:
            member_id = str(ids[response["member"]])
            yield admission.member(community_id=COMMUNITY_ID, member_id=member_id), response["answers"]
        else:
            yield admission.external(external_id=response["respondent"]), response["answers"]
    question = script["project"]["script"]["blocks"][0]["name"]
    for option, count in script.get("votes", {}).items():
        for number in range(count):
            voter = f"demo-voter-{option.split()[0].lower()}-{number + 1}"
            yield admission.external(external_id=voter), {question: option}


def _respond(
    project: Project, respondent: Respondent, answers: Mapping[str, object], *, at: datetime
) -> None:
    """Answer a project to its end. If the answers run out before that, the response stays partial."""
    view = conversations.begin(project_id=project.pk, respondent=respondent, at=at)
    remaining = dict(answers)
    while view.step is not None and (remaining or not view.step.block.required):
        view = _answer_step(view, remaining, at=at)


def _answer_step(view: ConversationView, remaining: dict[str, object], *, at: datetime) -> ConversationView:
    """Answer or skip the current step, and remove its answer from `remaining`."""
    assert view.step is not None
    block, conversation_id = view.step.block, view.conversation.pk
    if not block.asks:
        return moves.go_on(conversation_id=conversation_id, at=at)
    name = str(block.name)
    reply = {"value": remaining.pop(name)} if name in remaining else {"skip": True}
    return moves.answer(conversation_id=conversation_id, raw={"block_id": block.id, **reply}, at=at)
