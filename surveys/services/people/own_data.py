"""A person's data from all communities in one archive: `data.json`, and tables as CSV files."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from typing import IO, Any, Self

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession

from communities.ground import wire
from communities.ground.actors import Actor
from communities.ground.spreadsheets import csv_line, neutralise
from communities.models import Identity, Member, User
from surveys.models import Conversation, Project
from surveys.services.people import service as people
from surveys.services.people.service import PersonData
from surveys.services.responses import service as responses

IN_MEMORY = 2 * 1024 * 1024  # bytes; larger parts go to a temporary file
CHUNK = 64 * 1024  # bytes
Json = dict[str, object]
README = """Everything that Colloquy stores about you.

data.json        all of it, by community, as the interface gives it
responses.csv    your answers, one row for each
xp.csv           the XP that you were given, one row for each entry

Answers to anonymous surveys and polls are not among them: nobody can tell that they are yours, not even we.
"""


def export(*, user_id: int, at: datetime) -> Generator[bytes, None, None]:
    """Return an archive (ZIP) of everything stored about a user, in chunks.

    Memory contains one row of a long history at a time. Parts larger than IN_MEMORY go to temporary files.
    The first chunk is returned when the archive is complete, so an error can never cut the archive short.
    """
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as archive:
        _write(archive, user_id=user_id, at=at)
        archive.seek(0)
        while chunk := archive.read(CHUNK):
            yield chunk


def _write(archive: IO[bytes], *, user_id: int, at: datetime) -> None:
    with (
        _Table("project_id", "response_id", "submitted_at", "question", "answer") as answers,
        _Table("time", "change", "balance", "note") as xp,
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        file.writestr("README.txt", README)
        with file.open("data.json", "w", force_zip64=True) as data:
            data.writelines(_pieces(user_id, at, answers, xp))
        answers.write_to(file, "responses.csv")
        xp.write_to(file, "xp.csv")


class _Table:
    """A CSV file in which spreadsheets take no cell for a formula.

    Its first column is the community's name.
    """

    def __init__(self, *columns: str) -> None:
        self._lines = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - closed by `__exit__`
        self.add("community", *columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()

    def add(self, *cells: object) -> None:
        self._lines.write(csv_line([None if cell is None else neutralise(_text(cell)) for cell in cells]))

    def write_to(self, archive: zipfile.ZipFile, name: str) -> None:
        self._lines.seek(0)
        with archive.open(name, "w", force_zip64=True) as file:
            shutil.copyfileobj(self._lines, file)


def _pieces(user_id: int, at: datetime, answers: _Table, xp: _Table) -> Iterator[bytes]:
    """The JSON object of everything, in pieces. Each row is added to the tables as it is written."""
    yield b'{"account":' + wire.render(_account(user_id)) + b',"communities":['
    comma = b""
    for name, data in _communities(user_id, at):
        histories = dict(data.histories)
        histories["responses"] = _noted(histories["responses"], partial(_add_answers, answers, name))
        if "xp_ledger" in histories:
            histories["xp_ledger"] = _noted(histories["xp_ledger"], partial(_add_xp, xp, name))
        yield comma
        yield from wire.render_in_pieces({"community": name, **data.facts}, histories)
        comma = b","
    yield b"]}"


def _communities(user_id: int, at: datetime) -> Iterator[tuple[str, PersonData]]:
    """The data in each community, by the community's name: first communities in which the person is a
    member.
    """
    memberships = Member.objects.filter(user_id=user_id).select_related("community").order_by("pk")
    for member in memberships:
        actor = Actor(user_id, member.access, member.community_id, member.community.tier)
        yield member.community.name, people.data_of(actor=actor, member_id=member.pk, at=at)
    own = Conversation.objects.filter(user_id=user_id).values("project_id")
    elsewhere = Project.with_deleted.filter(pk__in=own).exclude(
        community_id__in=[member.community_id for member in memberships]
    )
    projects = elsewhere.select_related("community").order_by("community_id", "pk")
    for community, asked in groupby(projects, lambda project: project.community):
        given = (responses.given_by(project=project, user_id=user_id) for project in asked)
        yield community.name, PersonData({}, {"responses": chain.from_iterable(given)})


def _noted(rows: Iterator[Json], note: Callable[[Json], None]) -> Iterator[Json]:
    for row in rows:
        note(row)
        yield row


def _add_answers(table: _Table, community: str, response: Any) -> None:
    for answer in response["answers"]:
        text = answer["label"] or answer["value"]
        if "other_text" in answer:
            text = f"{text}: {answer['other_text']}"
        table.add(
            community,
            response["project_id"],
            response["id"],
            response["submitted_at"],
            answer["block_name"],
            text,
        )
        for each in answer.get("follow_ups", ()):
            table.add(
                community,
                response["project_id"],
                response["id"],
                response["submitted_at"],
                each["question"],
                each["answer"],
            )


def _add_xp(table: _Table, community: str, entry: Json) -> None:
    table.add(community, entry["created_at"], entry["delta"], entry["balance_after"], entry["note"])


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


def _text(cell: object) -> str:
    return cell.isoformat() if isinstance(cell, datetime) else str(cell)
