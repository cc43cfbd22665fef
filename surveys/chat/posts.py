"""Posts a message in a channel exactly once, and changes it later, also after failures.

The platform may post a message without our knowledge, if its response is lost or the worker is killed. So
each message contains a unique mark: an address, or the reference of a button. If a row is begun and has no
message id, the next attempt reads the channel's messages since then, and adopts the message with the mark.
Each attempt reads some pages, and the next attempt continues, up to MOST_PAGES. For a few minutes the
platform also recognises a repeated message by its nonce.

Rows are changed field by field, because saving a whole row could undo requests that staff made meanwhile.
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
_BETWEEN_PARTS = timedelta(seconds=5)  # the platform allows PAGES_AT_ONCE pages of a channel in this time
_SKEW = timedelta(minutes=1)  # between the platform's clock and ours
_EPOCH = 1_420_070_400_000  # of the platform's ids, in milliseconds
_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL, _INVALID = 10008, 10003, 50035
_ARCHIVED = 50083  # the platform's error for a thread in which nobody has written for a while

log = structlog.get_logger("colloquy.chat")
# The last message and the number of pages read, by row. Another process begins again, and so does this
# process for a row that is no longer in the cache.
_read: LRUCache[tuple[str, int, datetime], tuple[int, int]] = LRUCache(1_000)
_read_lock = Lock()


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message. One of the `marks` is in the message when it is first posted."""

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
    """Post a message, and write its id into the row at once. For a row that is begun, call `adopt` first.

    The row is marked as begun before, so another worker looks for the message if this one is killed.
    """
    if row.posted_at is None:
        change(row, message_id="", posted_at=at, channel_id=row.channel_id, is_deleted=False)
    outbox.keep(task)
    body = {**content.raw, "nonce": _nonce(row), "enforce_nonce": True}
    answer = _send("POST", f"/channels/{row.channel_id}/messages", body, content.files)
    change(row, message_id=str(answer["id"]))


def require_pace(row: ChatPost) -> None:
    """Raise RateLimited if the message could not be sent now, before anything is counted or drawn."""
    path = f"/channels/{row.channel_id}/messages"
    if row.message_id:
        client.require_pace("PATCH", f"{path}/{row.message_id}")
    elif row.channel_id:
        client.require_pace("POST", path)


def adopt(row: ChatPost, marks: Collection[str]) -> None:
    """Look for the message of a row that is begun, and write its id into the row if it exists.

    Raises PlatformError if the channel cannot be read now. A deleted channel has no message.
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
    """Change a message. Returns False if the message no longer exists."""
    path = f"/channels/{row.channel_id}/messages/{row.message_id}"
    try:
        _send("PATCH", path, {**content.raw, "allowed_mentions": NO_MENTIONS}, content.files)
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise
        return False
    return True


def remove(channel_id: str, message_id: str) -> None:
    """Remove a message if it still exists."""
    path = f"/channels/{channel_id}/messages/{message_id}"
    try:
        _in_open_thread("DELETE", path)
    except Refused as refusal:
        if refusal.code not in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL):
            raise


def change(row: ChatPost, **fields: Any) -> None:
    """Write these fields in the database, and set them on the row."""
    type(row).objects.filter(pk=row.pk).update(**fields)  # type: ignore[attr-defined]
    for name, value in fields.items():
        setattr(row, name, value)


def require_lawful(raw: Mapping[str, Any]) -> None:
    """Refuse a message that the platform would refuse."""
    if faults := limits.check_message(raw):
        log.error("chat.unlawful_message", faults=[fault.split()[0] for fault in faults])
        raise Abandoned("The message would break the platform’s limits.")


def marks_of(message: Mapping[str, Any]) -> Iterator[str]:
    """All possible marks in a message: addresses, and the projects of its buttons."""
    for embed in message.get("embeds") or []:
        yield str(embed.get("url") or "")
    for row in message.get("components") or []:
        for part in row.get("components") or []:
            yield str(part.get("url") or "")
            reference = references.unseal(str(part.get("custom_id") or ""), platform_id="")
            if reference is not None:
                yield of_project(reference.project_id)


def _ours(row: ChatPost, marks: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """The messages in a row's channel that may belong to the row, oldest first.

    Raises RateLimited after PAGES_AT_ONCE pages if there are more. The next call continues from there.
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
    """Whether our bot wrote a message."""
    own = settings.CHAT.application_id if settings.CHAT else ""
    return own in (str(message.get("application_id")), str((message.get("author") or {}).get("id")))


def _is_on_its_way_out(channel_id: str, message: Mapping[str, Any]) -> bool:
    """Whether a message waits for its removal, because the project was posted elsewhere meanwhile."""
    subject = public_messages.subject_of_removal(channel_id, str(message["id"]))
    return ChatTask.objects.filter(kind=public_messages.REMOVE, subject=subject).exists()


def _nonce(row: ChatPost) -> str:
    """The nonce of a message, the same if it is sent again. The platform remembers it for some minutes."""
    begun = row.posted_at.isoformat() if row.posted_at else ""
    return hashlib.sha256(f"{type(row).__name__}:{row.pk}:{begun}".encode()).hexdigest()[:24]


def _send(method: str, path: str, raw: Mapping[str, Any], files: Sequence[File]) -> Any:
    """Send a message. If the platform refuses an emoji in it, send the message again without emoji."""
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
    """Send a request about a message. If the message is in an archived thread, open the thread first.

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
    """The message with only texts, and no emoji, on its buttons and options."""

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
