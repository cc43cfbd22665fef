"""Posts a message in a channel once, and changes it later, whatever happens on the way.

The platform may have posted a message although we did not hear of it: an answer is lost, or the worker is
killed. Each message that is posted carries a mark of its own, an address or the reference of a button. Where
a row is begun and has no message, the channel's messages since then are read, and the one with the mark is
taken as ours. Of many messages an attempt reads a part, and the next one goes on: MOST_PAGES in all. The
nonce guards the minutes in which the platform remembers it.

Rows are changed field by field: saving a whole row could undo what staff ask for during an attempt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

import structlog
from cachetools import LRUCache
from django.conf import settings

from communities.chat_platform import client, limits, references
from communities.chat_platform.client import File, RateLimited, Refused
from communities.models import ChatTask
from communities.services.chat import outbox
from communities.services.chat.outbox import Abandoned
from surveys.chat.messages import NO_MENTIONS
from surveys.models.chat import ChatPost
from surveys.services import public_messages

PAGE, PAGES_AT_ONCE, MOST_PAGES = 100, 5, 100  # of messages since the row was begun
_BETWEEN_PARTS = timedelta(seconds=5)  # in which the platform lets a bot read so many pages of a channel
_SKEW = timedelta(minutes=1)  # between the platform's clock and ours
_EPOCH = 1_420_070_400_000  # of the platform's ids, in milliseconds
_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL, _INVALID = 10008, 10003, 50035
_ARCHIVED = 50083  # a thread in which nobody has written for a while

log = structlog.get_logger("colloquy.chat")
# The last message and the number of pages that were read for a row. Another process begins again, and so does
# this one for a row that is not among the latest.
_read: LRUCache[tuple[str, int, datetime], tuple[int, int]] = LRUCache(1_000)
_read_lock = Lock()


@dataclass(frozen=True, slots=True)
class Content:
    """What a message says. `marks` tell it from all others: one of them is in the message as first posted."""

    raw: Mapping[str, Any]
    marks: Collection[str]
    files: Sequence[File] = ()

    @property
    def fingerprint(self) -> str:
        hashed = hashlib.sha256(json.dumps(self.raw, sort_keys=True).encode())
        for file in self.files:
            hashed.update(file.content)
        return hashed.hexdigest()


def of_project(project_id: int) -> str:
    """The mark of a message with a button that refers to a project."""
    return f"project:{project_id}"


def post(row: ChatPost, content: Content, *, task: ChatTask, at: datetime) -> None:
    """Post a message, and write its id into the row at once. Call `adopt` before, for a row that is begun.

    The row says before that it was begun, so that another worker looks for what this one may have posted.
    """
    if row.posted_at is None:
        change(row, message_id="", posted_at=at, channel_id=row.channel_id, is_deleted=False)
    outbox.keep(task)
    body = {**content.raw, "nonce": _nonce(row), "enforce_nonce": True}
    answer = _send("POST", f"/channels/{row.channel_id}/messages", body, content.files)
    change(row, message_id=str(answer["id"]))


def require_pace(row: ChatPost) -> None:
    """Raise RateLimited if the message could not be sent now: nothing is counted or drawn in vain."""
    path = f"/channels/{row.channel_id}/messages"
    if row.message_id:
        client.require_pace("PATCH", f"{path}/{row.message_id}")
    elif row.channel_id:
        client.require_pace("POST", path)


def adopt(row: ChatPost, marks: Collection[str]) -> None:
    """Look for the message of a row that is begun, and write its id into the row if it is there.

    Raises PlatformError if the channel cannot be read now. One that is gone has no message.
    """
    try:
        found = next(_ours(row, marks), None)
    except Refused as refusal:
        if refusal.code != _UNKNOWN_CHANNEL:
            raise
        found = None
    if found is not None:
        log.info("chat.message_adopted")
        change(row, message_id=str(found["id"]), fingerprint="")


def edit(row: ChatPost, content: Content) -> bool:
    """Change a message, and return whether it is still there."""
    path = f"/channels/{row.channel_id}/messages/{row.message_id}"
    try:
        _send("PATCH", path, {**content.raw, "allowed_mentions": NO_MENTIONS}, content.files)
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise
        return False
    return True


def remove(channel_id: str, message_id: str) -> None:
    """Remove a message, if it is still there."""
    path = f"/channels/{channel_id}/messages/{message_id}"
    try:
        _in_open_thread("DELETE", path)
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise


def change(row: ChatPost, **fields: Any) -> None:
    """Write these fields of a row, in the database and in the row."""
    type(row).objects.filter(pk=row.pk).update(**fields)  # type: ignore[attr-defined]
    for name, value in fields.items():
        setattr(row, name, value)


def require_lawful(raw: Mapping[str, Any]) -> None:
    """Refuse a message that the platform would refuse."""
    if faults := limits.check_message(raw):
        log.error("chat.unlawful_message", faults=[fault.split()[0] for fault in faults])
        raise Abandoned("The message would break the platform’s limits.")


def marks_of(message: Mapping[str, Any]) -> Iterator[str]:
    """Everything in a message that may be a mark: addresses, and the projects that its buttons refer to."""
    for embed in message.get("embeds") or []:
        yield str(embed.get("url") or "")
    for row in message.get("components") or []:
        for part in row.get("components") or []:
            yield str(part.get("url") or "")
            reference = references.unseal(str(part.get("custom_id") or ""), platform_id="")
            if reference is not None:
                yield of_project(reference.project_id)


def _ours(row: ChatPost, marks: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """The messages in a row's channel that may be the row's, the oldest first.

    Raises RateLimited after PAGES_AT_ONCE pages if there are more. The next call goes on from there.
    """
    assert row.posted_at is not None
    nonce, key = _nonce(row), (type(row).__name__, row.pk, row.posted_at)
    begun = int((row.posted_at - _SKEW).timestamp() * 1000) - _EPOCH << 22
    with _read_lock:
        after, count = _read.get(key, (begun, 0))
    for _ in range(PAGES_AT_ONCE):
        path = f"/channels/{row.channel_id}/messages?limit={PAGE}&after={after}"
        page = sorted(client.request("GET", path) or [], key=lambda message: int(message["id"]))
        for message in page:
            has_mark = message.get("nonce") == nonce or not set(marks).isdisjoint(marks_of(message))
            if has_mark and _is_own(message) and not _is_on_its_way_out(row.channel_id, message):
                yield message
        if len(page) < PAGE or count + 1 >= MOST_PAGES:
            with _read_lock:
                _read.pop(key, None)
            return
        after, count = int(page[-1]["id"]), count + 1
        with _read_lock:
            _read[key] = after, count
    raise RateLimited("There are many newer messages in the channel.", retry_after=_BETWEEN_PARTS)


def _is_own(message: Mapping[str, Any]) -> bool:
    """Whether our bot has written a message."""
    own = settings.CHAT.application_id if settings.CHAT else ""
    return own in (str(message.get("application_id")), str((message.get("author") or {}).get("id")))


def _is_on_its_way_out(channel_id: str, message: Mapping[str, Any]) -> bool:
    """Whether a message is to be removed: the project was posted elsewhere, and is posted here again."""
    subject = public_messages.subject_of_removal(channel_id, str(message["id"]))
    return ChatTask.objects.filter(kind=public_messages.REMOVE, subject=subject).exists()


def _nonce(row: ChatPost) -> str:
    """The same for a message that is sent again. The platform knows it for some minutes."""
    begun = row.posted_at.isoformat() if row.posted_at else ""
    return hashlib.sha256(f"{type(row).__name__}:{row.pk}:{begun}".encode()).hexdigest()[:24]


def _send(method: str, path: str, raw: Mapping[str, Any], files: Sequence[File]) -> Any:
    """Send a message. If the platform does not know one of its emoji, once more without any."""
    try:
        return _in_open_thread(method, path, raw, files)
    except Refused as refusal:
        if refusal.code != _INVALID or "emoji" not in refusal.field:
            raise
    log.warning("chat.emoji_refused")
    return client.request(method, path, json=_without_emoji(raw), files=files)


def _in_open_thread(
    method: str, path: str, raw: Mapping[str, Any] | None = None, files: Sequence[File] = ()
) -> Any:
    """Do something with a message. If its thread is archived, the thread is opened first.

    A new message opens its thread by itself.
    """
    try:
        return client.request(method, path, json=raw, files=files)
    except Refused as refusal:
        if refusal.code != _ARCHIVED:
            raise
    client.request("PATCH", path.partition("/messages")[0], json={"archived": False})
    return client.request(method, path, json=raw, files=files)


def _without_emoji(raw: Mapping[str, Any]) -> dict[str, Any]:
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
