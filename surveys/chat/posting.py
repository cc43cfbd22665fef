"""Brings public messages to the chat platform: the worker's part, which may run twice."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Sum

from communities.chat_platform import client, limits
from communities.chat_platform.client import Refused
from communities.models import ChatTask
from communities.services.chat import guilds
from communities.services.chat.outbox import Abandoned, Again, Blocked
from communities.transactions import in_transaction
from surveys.chat import charts, invitations, words
from surveys.chat.messages import NO_MENTIONS
from surveys.models import Project, PublicMessage, Tally
from surveys.services import public_messages
from surveys.services.results import poll as poll_results

EDIT_EVERY = timedelta(seconds=2)
# The platform edits messages older than an hour less often.
EDIT_OLD_EVERY, OLD = timedelta(seconds=10), timedelta(minutes=55)
_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL, _INVALID = 10008, 10003, 50035
_ARCHIVED = 50083  # a thread in which nobody has written for a while

log = structlog.get_logger("colloquy.chat")


def send_public_message(task: ChatTask, at: datetime) -> Again | None:
    """Post a project's message, or change it to what it should say now."""
    # A deleted project is closed: its message has to say so until it is gone.
    project = Project.with_deleted.filter(pk=int(task.subject)).select_related("community").first()
    if project is None:
        return None
    row = PublicMessage.objects.filter(pk=project.pk).first()
    if row is not None and row.message_id and row.edited_at is not None:
        is_old = row.posted_at is not None and at - row.posted_at > OLD
        next_at = row.edited_at + (EDIT_OLD_EVERY if is_old else EDIT_EVERY)
        if next_at > at:
            return Again(next_at)
    is_open = project.is_live_at(at)
    if not is_open and (row is None or not (row.message_id or row.posted_at)):
        return None  # nothing was posted, and nothing is to be
    changes = _changes(project.pk)  # before the votes are counted: later ones are found by the sweep
    raw = invitations.draw(project, tier=project.community.tier, at=at).as_json()
    _require_lawful(raw)
    has_moved = is_open and row is not None and row.channel_id != _wanted_channel(project, row)
    if row is not None and row.is_deleted and not has_moved:
        return None
    if row is None or not row.message_id or has_moved:
        was_begun = row is not None and not row.message_id and row.posted_at is not None
        row = _post(project, row, raw, at)
        if was_begun:  # the platform may have kept the message of the worker that did not finish
            row.is_open, row.fingerprint, row.edited_at = True, "", at
            row.save()
            return Again(at + EDIT_EVERY)
    elif row.fingerprint != _fingerprint(raw):
        row = _edit(row, raw)
    if row is not None and row.message_id:
        row.is_open = is_open
        _note(row, raw, changes if _shows_votes(project, at) else None, project.revision, at)
    return None


def remove_public_message(task: ChatTask, at: datetime) -> None:
    """Remove the message of a project that was deleted for good."""
    channel_id, _, message_id = task.subject.partition(":")
    _remove(channel_id, message_id)


def _remove(channel_id: str, message_id: str) -> None:
    """Remove a message of ours, if it is still there."""
    try:
        _send("DELETE", f"/channels/{channel_id}/messages/{message_id}")
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise


def send_summary(task: ChatTask, at: datetime) -> None:
    """Post the results of a project that has closed, with a picture, into the invitation’s channel."""
    project_id = int(task.subject.partition(":")[0])
    project = Project.objects.filter(pk=project_id).select_related("community").first()
    if project is None or not project.reveal_results or project.is_live_at(at):
        return
    row = PublicMessage.objects.filter(pk=project_id).first()
    channel_id = row.channel_id if row else public_messages.channel_of(project)
    if not channel_id:
        return
    _require_own_channel(project.community_id, channel_id, at)
    report = invitations.report(project, at=at)
    picture = charts.draw(project.name, report.panels)
    raw: dict[str, Any] = invitations.summary(project, report).as_json()
    if picture:
        raw["embeds"][-1]["image"] = {"url": "attachment://results.png"}
        description = words.clip(report.in_plain_words, limits.ATTACHMENT_DESCRIPTION)
        raw["attachments"] = [{"id": "0", "filename": "results.png", "description": description}]
    _require_lawful(raw)
    if row and row.message_id:
        raw["message_reference"] = {"message_id": row.message_id, "fail_if_not_exists": False}
    raw |= _nonce(f"summary:{task.subject}")
    files = [client.File("results.png", picture, "image/png")] if picture else []
    client.request("POST", f"/channels/{channel_id}/messages", json=raw, files=files)


def _post(project: Project, row: PublicMessage | None, raw: dict[str, Any], at: datetime) -> PublicMessage:
    """Post the message, in place of one that stands in another channel or is to be posted again.

    The row says before that it was begun, and when: a worker that takes over sends the same nonce, so that
    the platform answers with the message that it may have already.
    """
    row = row or PublicMessage(project_id=project.pk)
    channel_id = _wanted_channel(project, row)
    if not channel_id:
        raise Abandoned("The invitation names no channel.")
    _require_own_channel(project.community_id, channel_id, at)
    if row.message_id or row.posted_at is None or row.channel_id != channel_id:
        with in_transaction:
            if row.message_id and row.channel_id != channel_id:
                public_messages.remove(project, row, at=at)
            row.channel_id, row.message_id, row.posted_at, row.is_deleted = channel_id, "", at, False
            row.save()
    if row.edited_at is not None:  # the project was posted before: people were notified then
        raw = raw | {"allowed_mentions": NO_MENTIONS}
    nonce = _nonce(f"message:{project.pk}:{row.posted_at.isoformat() if row.posted_at else ''}")
    answer = _send("POST", f"/channels/{channel_id}/messages", raw | nonce)
    row.message_id = str(answer["id"])
    return row


def _edit(row: PublicMessage, raw: dict[str, Any]) -> PublicMessage | None:
    """Change the message. One that was deleted on the platform stays deleted (decisions 17.19)."""
    try:
        quiet = raw | {"allowed_mentions": NO_MENTIONS}
        _send("PATCH", f"/channels/{row.channel_id}/messages/{row.message_id}", quiet)
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise
        row.message_id, row.posted_at, row.fingerprint, row.is_deleted = "", None, "", True
        row.save()
        return None
    return row


def _send(method: str, path: str, raw: dict[str, Any] | None = None) -> Any:
    """Send, change or remove a message.

    If its thread is archived, the thread is opened first: only a new message opens one by itself. If the
    platform does not know an emoji of the message, it is sent once more without any.
    """
    try:
        return client.request(method, path, json=raw)
    except Refused as refusal:
        is_archived = refusal.code == _ARCHIVED
        if not is_archived and (raw is None or refusal.code != _INVALID or "emoji" not in refusal.field):
            raise
    if is_archived:
        client.request("PATCH", path.partition("/messages")[0], json={"archived": False})
        return client.request(method, path, json=raw)
    log.warning("chat.emoji_refused")
    return client.request(method, path, json=_without_emoji(raw or {}))


def _without_emoji(raw: dict[str, Any]) -> dict[str, Any]:
    """The message with its buttons and options named by their text alone."""

    def plain(part: dict[str, Any], name: str) -> dict[str, Any]:
        kept = {key: value for key, value in part.items() if key != "emoji"}
        return kept if kept.get("label") else kept | {"label": name}

    rows = []
    for row in raw["components"]:
        parts = []
        for n, part in enumerate(row["components"], start=1):
            if part["type"] == limits.MENU:
                options = [plain(option, str(m)) for m, option in enumerate(part["options"], start=1)]
                parts.append({**part, "options": options})
            else:
                parts.append(plain(part, str(n)))
        rows.append({**row, "components": parts})
    return {**raw, "components": rows}


def _require_own_channel(community_id: int, channel_id: str, at: datetime) -> None:
    """Post nowhere but in the community's own server, where the bot may."""
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


def _require_lawful(raw: dict[str, Any]) -> None:
    if faults := limits.check_message(raw):
        log.error("chat.unlawful_message", faults=[fault.split()[0] for fault in faults])
        raise Abandoned("The message would break the platform’s limits.")


def _wanted_channel(project: Project, row: PublicMessage) -> str:
    return public_messages.channel_of(project) or row.channel_id


def _shows_votes(project: Project, at: datetime) -> bool:
    return project.is_poll and poll_results.may_be_seen(project=project, has_voted=False, at=at)


def _changes(project_id: int) -> int:
    total = Tally.objects.filter(project_id=project_id).aggregate(total=Sum("changes"))["total"]
    return int(total or 0)


def _note(row: PublicMessage, raw: dict[str, Any], changes: int | None, revision: int, at: datetime) -> None:
    fingerprint = _fingerprint(raw)
    was_sent = row.fingerprint != fingerprint or row.posted_at == at
    row.fingerprint, row.changes, row.revision = fingerprint, changes, revision
    if was_sent:
        row.edited_at = at
    row.save()


def _fingerprint(raw: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode()).hexdigest()


def _nonce(purpose: str) -> dict[str, Any]:
    """A number by which the platform knows the same message when a worker sends it again."""
    return {"nonce": hashlib.sha256(purpose.encode()).hexdigest()[:24], "enforce_nonce": True}
