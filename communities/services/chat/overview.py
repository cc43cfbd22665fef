"""A community's connection to the chat platform as its admins see it: its state, and recent tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from communities.chat_platform import commands
from communities.models import ChatInstallation, ChatTask
from communities.services.chat import guilds, installations
from communities.services.tenants.settings import get_settings

RECENT = 15
MOST_FAILED = 30
STATES = {
    ChatTask.Status.PENDING: ("Waiting", "pending"),
    ChatTask.Status.DELIVERED: ("Done", "done"),
    ChatTask.Status.FAILED: ("Failed, will be tried again", "pending"),
    ChatTask.Status.BLOCKED: ("Waits for access", "bad"),
    ChatTask.Status.ABANDONED: ("Given up", "bad"),
}

_NOT_DONE = (ChatTask.Status.FAILED, ChatTask.Status.BLOCKED, ChatTask.Status.ABANDONED)

NamesOf = Callable[[Collection[str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Kind:
    label: str
    names_of: NamesOf | None


_kinds: dict[str, _Kind] = {}


def describe(kind: str, label: str, names_of: NamesOf | None = None) -> None:
    """Register the words for a kind of task.

    `names_of` returns the names of the objects in the tasks' subjects.
    """
    _kinds[kind] = _Kind(label, names_of)


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection in words; `state` is a text and a symbol.

    `commands` are the registered commands, with their results.
    """

    state: tuple[str, str]
    text: str
    problems: list[str]
    commands: list[tuple[str, str]]
    install_url: str
    server: str
    is_connected: bool
    installation: ChatInstallation | None

    @property
    def checked_at(self) -> datetime | None:
        return self.installation.checked_at if self.installation else None


@dataclass(frozen=True, slots=True)
class Work:
    """A task in words. `state` is a text and a symbol."""

    id: int
    community_id: int
    label: str
    about: str
    state: tuple[str, str]
    error: str
    at: datetime
    due_at: datetime | None
    may_be_tried_again: bool


def connection(*, community_id: int) -> Connection:
    """The state of a community's connection at its last check."""
    row = installations.find(community_id=community_id)
    if not installations.is_configured():
        words = (
            "This installation has no application on Discord yet. Its operator connects one by the "
            "CHAT_ settings."
        )
        return Connection(("Not set up", "closed"), words, [], [], "", "", False, row)
    address = installations.install_url(community_id=community_id)
    if row is None:
        words = (
            "Add the bot to your server on Discord. Then surveys and polls can be answered there, and it "
            "gives the roles that people earn."
        )
        return Connection(("Not connected", "closed"), words, [], [], address, "", False, None)
    server = str((row.snapshot or {}).get("name") or "")
    if row.status == ChatInstallation.Status.REMOVED:
        words = "The bot is not in your server any more. Add it again to go on; what waits is done then."
        return Connection(("Removed", "bad"), words, [], [], address, server, False, row)
    problems = installations.problems_in_words(row)
    state = ("Connected, with problems", "pending") if problems else ("Connected", "good")
    text = "Surveys and polls can be answered in your server, and the bot gives the roles that people earn."
    return Connection(state, text, problems, _commands(row), address, server, True, row)


def _commands(row: ChatInstallation) -> list[tuple[str, str]]:
    if not row.commands:
        return []
    has_leaderboard = get_settings(community_id=row.community_id).has_leaderboard
    return [
        (f"/{each['name']}", each["description"]) for each in commands.of(has_leaderboard=has_leaderboard)
    ]


def failed(*, community_id: int | None) -> list[Work]:
    """Tasks that were given up, are blocked or wait for a retry, the newest first.

    `None` is every community.
    """
    rows = ChatTask.objects.filter(status__in=_NOT_DONE)
    if community_id is not None:
        rows = rows.filter(community_id=community_id)
    return _in_words(list(rows.order_by("-pk")[:MOST_FAILED]))


def recent(*, community_id: int) -> list[Work]:
    """Other recent and future tasks, the newest first."""
    rows = ChatTask.objects.filter(
        community_id=community_id, status__in=(ChatTask.Status.PENDING, ChatTask.Status.DELIVERED)
    )
    return _in_words(list(rows.order_by("-pk")[:RECENT]))


def _in_words(tasks: list[ChatTask]) -> list[Work]:
    names: dict[tuple[str, str], str] = {}
    for kind in {task.kind for task in tasks}:
        names_of = _kinds[kind].names_of if kind in _kinds else None
        if names_of:
            subjects = [task.subject for task in tasks if task.kind == kind]
            names |= {(kind, subject): name for subject, name in names_of(subjects).items()}
    return [
        Work(
            id=task.pk,
            community_id=task.community_id,
            label=_kinds[task.kind].label if task.kind in _kinds else task.kind,
            about=names.get((task.kind, task.subject), ""),
            state=STATES[ChatTask.Status(task.status)],
            error=task.error,
            at=task.last_attempt_at or task.created_at,
            due_at=task.due_at,
            may_be_tried_again=task.status in _NOT_DONE,
        )
        for task in tasks
    ]


def failures(*, community_id: int, since: datetime) -> int:
    """The number of tasks that have failed since a time: given up, blocked, or waiting for a retry."""
    rows = ChatTask.objects.filter(
        community_id=community_id,
        status__in=_NOT_DONE,
        last_attempt_at__gte=since,
    )
    return rows.count()


def snapshot(*, community_id: int) -> guilds.Guild | None:
    """Return the server with its roles and channels, for pages on which people choose roles or channels."""
    return guilds.stored(community_id=community_id) if installations.is_configured() else None
