"""A person's data from all communities in one archive: `data.json`, and tables as CSV files."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import IO

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession

from communities import wire
from communities.actors import Actor
from communities.models import Identity, Member, User
from communities.spreadsheets import csv_line, neutralise
from surveys.models import Conversation, Project
from surveys.services import people
from surveys.services.people import PersonData
from surveys.services.responses import service as responses

IN_MEMORY = 2 * 1024 * 1024  # bytes; what is larger goes to a temporary file
Json = dict[str, object]
README = """Everything that Colloquy stores about you.

data.json        all of it, by community, as the interface gives it
responses.csv    your answers, one row for each
xp.csv           the XP that you were given, one row for each entry

Answers to anonymous surveys and polls are not among them: nobody can tell that they are yours, not even we.
"""


def export(*, user_id: int, at: datetime) -> IO[bytes]:
    """Return an archive (ZIP) of everything stored about a user, to be read from its beginning."""
    archive = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - the caller reads it
    memberships = Member.objects.filter(user_id=user_id).select_related("community").order_by("pk")
    answers: list[Sequence[object]] = []
    xp: list[Sequence[object]] = []
    communities: list[Json] = []
    for member in memberships:
        actor = Actor(user_id, member.access, member.community_id, member.community.tier)
        told = _told(people.data_of(actor=actor, member_id=member.pk, at=at))
        communities.append({"community": member.community.name, **told})
        answers += _answer_rows(member.community.name, told["responses"])
        xp += [
            (member.community.name, each["created_at"], each["delta"], each["balance_after"], each["note"])
            for each in told["xp_ledger"]  # type: ignore[attr-defined]
        ]
    elsewhere = _elsewhere(user_id, {member.community_id for member in memberships})
    for community, told_responses in elsewhere:
        communities.append({"community": community, "responses": told_responses})
        answers += _answer_rows(community, told_responses)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("README.txt", README)
        file.writestr("data.json", wire.render({"account": _account(user_id), "communities": communities}))
        file.writestr("responses.csv", _table(_ANSWER_COLUMNS, answers))
        file.writestr("xp.csv", _table(("community", "time", "change", "balance", "note"), xp))
    archive.seek(0)
    return archive


_ANSWER_COLUMNS = ("community", "project_id", "response_id", "submitted_at", "question", "answer")


def _told(data: PersonData) -> Json:
    return {
        **data.facts,
        "script_drafts": list(data.script_drafts),
        "xp_ledger": list(data.xp_ledger),
        "responses": list(data.responses),
        "webhook_events": list(data.webhook_events),
        "audit_entries": list(data.audit_entries),
    }


def _elsewhere(user_id: int, member_of: set[int]) -> list[tuple[str, list[Mapping[str, object]]]]:
    """Responses to communities that the person is no member of, by the community's name."""
    own = Conversation.objects.filter(user_id=user_id).values("project_id")
    projects = Project.with_deleted.filter(pk__in=own).exclude(community_id__in=member_of)
    by_community: dict[str, list[Mapping[str, object]]] = {}
    for project in projects.select_related("community").order_by("pk"):
        given = responses.given_by(project=project, user_id=user_id)
        by_community.setdefault(project.community.name, []).extend(given)
    return list(by_community.items())


def _account(user_id: int) -> Json:
    user = User.objects.get(pk=user_id)
    sessions = UserSession.objects.filter(user=user).order_by("pk")
    return {
        "id": str(user.pk),
        "name": user.name or None,
        "username": user.username,
        "joined_at": user.date_joined,
        "last_login_at": user.last_login,
        "email_addresses": [
            {"email": each.email, "verified": each.verified, "primary": each.primary}
            for each in EmailAddress.objects.filter(user=user).order_by("pk")
        ],
        "accounts": [
            {"provider": each.provider, "platform_id": each.platform_id, "name": each.name or None}
            for each in Identity.objects.filter(user=user, community__isnull=True).order_by("pk")
        ],
        "second_factors": [
            {"type": each.type, "created_at": each.created_at, "last_used_at": each.last_used_at}
            for each in Authenticator.objects.filter(user=user).order_by("pk")
        ],
        "sessions": [
            {"address": each.ip, "browser": each.user_agent, "began_at": each.created_at} for each in sessions
        ],
    }


def _answer_rows(community: str, told: object) -> list[Sequence[object]]:
    assert isinstance(told, list)
    return [
        (
            *(community, response["project_id"], response["id"], response["submitted_at"]),
            *(answer["block_name"], answer["label"] or answer["value"]),
        )
        for response in told
        for answer in response["answers"]
    ]


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file in which no cell is taken for a formula."""
    lines: list[list[str | None]] = [list(columns)]
    lines += [[None if cell is None else neutralise(_text(cell)) for cell in row] for row in rows]
    return b"".join(map(csv_line, lines))


def _text(cell: object) -> str:
    return cell.isoformat() if isinstance(cell, datetime) else str(cell)
