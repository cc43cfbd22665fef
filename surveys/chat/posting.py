"""Posts and updates public messages on the chat platform, in the worker. Running it twice is harmless."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Sum, Value, When

from communities.chat_platform import client, limits
from communities.ground.transactions import in_transaction
from communities.models import ChatTask
from communities.services.chat import guilds
from communities.services.chat.outbox import Abandoned, Again, Blocked
from surveys.chat import charts, invitations, posts, words
from surveys.chat.messages import NO_MENTIONS
from surveys.chat.posts import Content
from surveys.models import Project, PublicMessage, SummaryMessage, Tally
from surveys.models.chat import ChatPost
from surveys.services import public_messages
from surveys.services.representations.project import web_url
from surveys.services.results import poll as poll_results

EDIT_EVERY = timedelta(seconds=2)
# The platform allows fewer edits of messages that are older than an hour.
EDIT_OLD_EVERY, OLD = timedelta(seconds=10), timedelta(minutes=55)


def send_public_message(task: ChatTask, at: datetime) -> Again | None:
    """Post a project's message, or update it."""
    # A deleted project is closed; its message shows that until the message is removed.
    project = Project.with_deleted.filter(pk=int(task.subject)).select_related("community").first()
    if project is None:
        return None
    row = PublicMessage.objects.filter(pk=project.pk).first()
    if row is not None and (again := _too_soon(row, at)):
        return again
    is_open = project.is_live_at(at)
    if row is None and not is_open:
        return None
    row = row or _new(project)
    posts.require_pace(row)
    changes = _changes(project.pk)  # read before the votes are counted; the sweep finds later votes
    content = _invitation(project, at)
    has_moved = is_open and row.channel_id != _wanted_channel(project, row)
    if row.is_begun:
        if not has_moved:
            _require_own_channel(project.community_id, row.channel_id, at)
        posts.adopt(row, content.marks)
    if row.is_deleted and not has_moved:
        return None
    if not row.message_id and not is_open:
        posts.change(row, posted_at=None)
        return None  # nothing was posted, and nothing has to be posted
    if has_moved or not row.message_id:
        _post(project, row, content, task, at)
    elif row.fingerprint != content.fingerprint and not posts.edit(row, content):
        _note_deleted(row)
        return None
    shown = changes if _shows_votes(project, at) else None
    _note(row, content, at, changes=shown, is_open=is_open, revision=project.revision)
    return None


def remove_public_message(task: ChatTask, at: datetime) -> None:
    """Remove the message of a project that was deleted for good, or that is now posted elsewhere.

    Does nothing if the message no longer exists.
    """
    channel_id, _, message_id = task.subject.partition(":")
    posts.remove(channel_id, message_id)


def send_summary(task: ChatTask, at: datetime) -> Again | None:
    """Post the results of a closed project with a picture, or update them."""
    project_id, _, opening = task.subject.partition(":")
    project = Project.objects.filter(pk=int(project_id)).select_related("community").first()
    if project is None:
        return None
    row = SummaryMessage.objects.filter(project=project, opening=int(opening)).first()
    if row is None:
        if not project.reveal_results or project.is_live_at(at):
            return None
        row = _new_summary(project, int(opening))
        if row is None:
            return None
    if row.is_deleted:
        return None
    if again := _too_soon(row, at):
        return again
    is_open = project.is_live_at(at)
    posts.require_pace(row)
    changes = _changes(project.pk)
    content = _summary(project, row, at)
    if row.is_begun or not row.message_id:
        _require_own_channel(project.community_id, row.channel_id, at)
    if row.is_begun:
        posts.adopt(row, content.marks)
    if not row.message_id:
        if is_open:
            posts.change(row, posted_at=None)
            return None
        posts.post(row, _below_its_invitation(project, content), task=task, at=at)
    elif row.fingerprint != content.fingerprint and not posts.edit(row, content):
        posts.change(row, message_id="", posted_at=None, fingerprint="", is_deleted=True)
        return None
    _note(row, content, at, changes=None if is_open else changes)
    return None


def _invitation(project: Project, at: datetime) -> Content:
    raw = invitations.draw(project, tier=project.community.tier, at=at).as_json()
    posts.require_lawful(raw)
    return Content(raw, (posts.of_project(project.pk), web_url(project)))


def _summary(project: Project, row: SummaryMessage, at: datetime) -> Content:
    """The present results. While the project is open again, a text says that they follow at its closing."""
    mark = f"{web_url(project)}#results-{row.opening}"
    if project.is_live_at(at):
        raw = invitations.summary_while_open(project, address=mark).as_json() | {"attachments": []}
        return Content(raw, (mark,))
    report = invitations.report(project, at=at)
    picture = charts.draw(project.name, report.panels)
    raw = invitations.summary(project, report, address=mark).as_json() | {"attachments": []}
    if picture:
        raw["embeds"][-1]["image"] = {"url": "attachment://results.png"}
        description = words.clip(report.in_plain_words, limits.ATTACHMENT_DESCRIPTION)
        raw["attachments"] = [{"id": "0", "filename": "results.png", "description": description}]
    posts.require_lawful(raw)
    files = [client.File("results.png", picture, "image/png")] if picture else []
    return Content(raw, (mark,), files)


def _below_its_invitation(project: Project, content: Content) -> Content:
    """The summary as an answer to the project's message, if the message exists."""
    message_id = PublicMessage.objects.filter(pk=project.pk).values_list("message_id", flat=True).first()
    if not message_id:
        return content
    reference = {"message_id": message_id, "fail_if_not_exists": False}
    return Content({**content.raw, "message_reference": reference}, content.marks, content.files)


def _new(project: Project) -> PublicMessage:
    channel_id = public_messages.channel_of(project)
    return PublicMessage.objects.get_or_create(pk=project.pk, defaults={"channel_id": channel_id})[0]


def _new_summary(project: Project, opening: int) -> SummaryMessage | None:
    """The row of a summary, in the channel of the project's message; None if there is no channel."""
    row = PublicMessage.objects.filter(pk=project.pk).first()
    channel_id = row.channel_id if row else public_messages.channel_of(project)
    if not channel_id:
        return None
    fields = {"defaults": {"channel_id": channel_id}}
    return SummaryMessage.objects.get_or_create(project=project, opening=opening, **fields)[0]


def _post(project: Project, row: PublicMessage, content: Content, task: ChatTask, at: datetime) -> None:
    """Post the message. It replaces one in another channel, or one that staff want posted again."""
    channel_id = _wanted_channel(project, row)
    if not channel_id:
        raise Abandoned("The invitation names no channel.")
    _require_own_channel(project.community_id, channel_id, at)
    if row.channel_id != channel_id:
        with in_transaction:
            if row.message_id:
                public_messages.remove(project, row, at=at)
            posts.change(row, channel_id=channel_id, message_id="", posted_at=None)
    raw: Mapping[str, Any] = content.raw
    if row.edited_at is not None:  # the project was posted before, and people were notified then
        raw = {**raw, "allowed_mentions": NO_MENTIONS}
    posts.post(row, Content(raw, content.marks), task=task, at=at)


def _note_deleted(row: PublicMessage) -> None:
    """Record that the message was deleted on the platform. It stays deleted (rule 6.43).

    If somebody has requested a post since the row was read, a new message is posted.
    """
    was_asked = When(times_asked__gt=row.times_asked, then=Value(False))
    is_deleted = Case(was_asked, default=Value(True))
    PublicMessage.objects.filter(pk=row.pk, message_id=row.message_id).update(
        message_id="", posted_at=None, fingerprint="", is_deleted=is_deleted
    )


def _require_own_channel(community_id: int, channel_id: str, at: datetime) -> None:
    """Refuse a channel outside the community's own server, or without permission for the bot."""
    guild = guilds.current(
        community_id=community_id,
        at=at,
        fault_of=lambda guild: guild.post_fault(channel_id) if channel_id in guild.channels else "",
    )
    if guild is None:
        raise Blocked("The bot is not in the server.")
    channel = guild.channels.get(channel_id)
    if channel is None or channel.is_thread:
        guilds.look_up(community_id=community_id, channel_id=channel_id, at=at)
        guild = guilds.stored(community_id=community_id) or guild
    if fault := guild.post_fault(channel_id):
        raise Blocked(f"The channel {fault}.")


def _too_soon(row: ChatPost, at: datetime) -> Again | None:
    """The time at which a message may be changed again; None if it may be changed now."""
    if not row.message_id or row.edited_at is None:
        return None
    is_old = row.posted_at is not None and at - row.posted_at > OLD
    next_at = row.edited_at + (EDIT_OLD_EVERY if is_old else EDIT_EVERY)
    return Again(next_at) if next_at > at else None


def _wanted_channel(project: Project, row: PublicMessage) -> str:
    return public_messages.channel_of(project) or row.channel_id


def _shows_votes(project: Project, at: datetime) -> bool:
    return project.is_poll and poll_results.may_be_seen(project=project, has_voted=False, at=at)


def _changes(project_id: int) -> int:
    total = Tally.objects.filter(project_id=project_id).aggregate(total=Sum("changes"))["total"]
    return int(total or 0)


def _note(row: ChatPost, content: Content, at: datetime, **shown: Any) -> None:
    """Record the content that a message shows now."""
    was_sent = row.fingerprint != content.fingerprint or row.posted_at == at
    edited = {"edited_at": at} if was_sent else {}
    posts.change(row, fingerprint=content.fingerprint, **edited, **shown)
