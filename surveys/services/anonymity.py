"""What an answer may remember of its giver, by privacy mode (decisions 8.8).

On an anonymous project nothing stored joins answers to a person, for whoever holds the whole database:
limits are kept under a keyed hash, what a running conversation must know of its respondent is sealed
with a key that is not in the database, and every time beside an answer is rounded.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import uuid_utils
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import connection

from communities.transactions import in_transaction
from surveys.models import Answer, Conversation, Project

# On an anonymous project, fewer answers than these are withheld even from aggregates, as they would point to
# single people. On other projects the creator decides what is shared.
LEAST_ANSWERS = 5
SILENCE = timedelta(hours=24)  # after which a running conversation forgets its respondent
SETTLED_AT_ONCE = 5_000
OTHERS_BESIDE = 200  # of each project
_NONCE = 12
_SEALED = struct.Struct(
    ">32sqq"
)  # respondent, user id (0: none), last seen in microseconds: one length for all
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONVERSATION = ", ".join(
    str(field.column) for field in Conversation._meta.concrete_fields if field.column != "is_settled"
)
_ANSWER = ", ".join(str(field.column) for field in Answer._meta.concrete_fields)
# Ids are random, so those that follow a random one are any.
_OTHERS = """
    SELECT other.id
    FROM (SELECT DISTINCT project_id AS id FROM surveys_conversation WHERE id = ANY(%s)) project, LATERAL (
        SELECT id FROM surveys_conversation
        WHERE project_id = project.id AND is_settled AND id > %s
        ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
    ) other
"""
# One statement: its parts see one snapshot, and foreign keys are checked at the commit. Sorting waits until
# everything is deleted.
_WRITE_ANEW = f"""
    WITH answers AS (DELETE FROM surveys_answer WHERE conversation_id = ANY(%s) RETURNING {_ANSWER}),
    conversations AS (DELETE FROM surveys_conversation WHERE id = ANY(%s) RETURNING {_CONVERSATION}),
    written AS (
        INSERT INTO surveys_conversation ({_CONVERSATION}, is_settled)
        SELECT {_CONVERSATION}, TRUE FROM conversations ORDER BY id
    )
    INSERT INTO surveys_answer ({_ANSWER})
    SELECT {_ANSWER} FROM answers ORDER BY conversation_id, block_id, ordinal
"""


def respondent_hash(*, project_id: int, who: str) -> str:
    """Who somebody is to one project: the same person always, and another hash on every project.

    Without the server's secret it can neither be undone nor be tried with guessed names.
    """
    return hmac.new(_key(project_id, "respondent"), who.encode(), hashlib.sha256).hexdigest()


def session_hash(*, project_id: int, session: str) -> str:
    """A session of somebody's in one project, hashed alike."""
    return respondent_hash(project_id=project_id, who=f"session:{session}")


def new_id(*, project: Project) -> uuid.UUID:
    """A conversation's id: time-ordered, but random where its order could tell who it was."""
    return uuid.uuid4() if project.is_anonymous else uuid.UUID(int=uuid_utils.uuid7().int)


def is_anonymous(conversation_id: uuid.UUID) -> bool:
    """Whether a conversation was begun without a memory of its giver: its id says so."""
    return conversation_id.version == 4


def rounded(*, project: Project, at: datetime) -> datetime:
    """The moment as it may stand beside an answer: to the hour or the day on anonymous projects."""
    if not project.is_anonymous:
        return at
    at = at.astimezone(UTC)
    if project.rounds_times_to_day:
        return at.replace(hour=0, minute=0, second=0, microsecond=0)
    return at.replace(minute=0, second=0, microsecond=0)


def least_answers(project: Project) -> int | None:
    """How many answers a question needs before those who may not read single responses see its results."""
    return LEAST_ANSWERS if project.is_anonymous else None


@dataclass(frozen=True, slots=True)
class RememberedRespondent:
    """What a running anonymous conversation knows of its respondent, and when it heard of them last."""

    respondent: str
    user_id: int | None
    seen_at: datetime


def seal(*, project_id: int, conversation_id: uuid.UUID, remembered: RememberedRespondent) -> bytes:
    """Encrypt it, readable only with the server's secret, for this conversation of this project only.

    The result has the same length for everybody and tells no time.
    """
    micros = (remembered.seen_at - _EPOCH) // timedelta(microseconds=1)
    plain = _SEALED.pack(bytes.fromhex(remembered.respondent), remembered.user_id or 0, micros)
    nonce = os.urandom(_NONCE)
    return nonce + _cipher(project_id).encrypt(nonce, plain, conversation_id.bytes)


def unseal(*, project_id: int, conversation_id: uuid.UUID, sealed: bytes) -> RememberedRespondent | None:
    """What was sealed; None where the server's secret has changed since."""
    try:
        plain = _cipher(project_id).decrypt(sealed[:_NONCE], sealed[_NONCE:], conversation_id.bytes)
    except (InvalidTag, ValueError):
        return None
    respondent, user_id, micros = _SEALED.unpack(plain)
    return RememberedRespondent(respondent.hex(), user_id or None, _EPOCH + timedelta(microseconds=micros))


def forget_silent(*, at: datetime) -> int:
    """Erase what running anonymous conversations know of respondents silent for a day; how many they were.

    What can no longer be read is erased too. Whoever answers meanwhile is not forgotten.
    """
    forgotten, last = 0, uuid.UUID(int=0)
    while True:
        # Kept times are rounded down, so this finds all that are due, and some that are not yet. When it was
        # begun follows from when it was changed, and has the index.
        due = Conversation.objects.filter(
            sealed_respondent__isnull=False,
            started_at__lt=at - SILENCE,
            updated_at__lt=at - SILENCE,
            pk__gt=last,
        )
        found = due.order_by("pk").values_list("pk", "project_id", "sealed_respondent")[:1000]
        batch = [(key, project_id, bytes(sealed or b"")) for key, project_id, sealed in found]
        if not batch:
            return forgotten
        last = batch[-1][0]
        silent = [row for row in batch if _is_silent(*row, at=at)]
        forgotten += _erase([(key, sealed) for key, _, sealed in silent])


def settle(*, at: datetime) -> int:
    """Write anonymous conversations anew whose hour, or day, is over; how many they were.

    Where a row stands in its table, and the transaction that wrote it, would join answers to the row of
    the ledger or the standing that the same move wrote about a member. So they are written once more, many
    in one transaction and in the order of their random ids; with others of their projects, that were
    written so before, lest a single one stand alone. Who answers at this moment is left for later.
    """
    at = at.astimezone(UTC)
    hour = at.replace(minute=0, second=0, microsecond=0)
    settled = 0
    while True:
        with in_transaction, connection.cursor() as cursor:
            cursor.execute(
                "SELECT c.id FROM surveys_conversation c JOIN surveys_project p ON p.id = c.project_id"
                " WHERE NOT c.is_settled AND c.started_at < %s"
                " AND c.updated_at < CASE WHEN p.rounds_times_to_day THEN %s ELSE %s END"
                " ORDER BY c.id LIMIT %s FOR KEY SHARE OF p SKIP LOCKED FOR UPDATE OF c SKIP LOCKED",
                [hour, hour.replace(hour=0), hour, SETTLED_AT_ONCE],
            )
            ids = [row[0] for row in cursor.fetchall()]
            if ids:
                cursor.execute(_OTHERS, [ids, _anywhere(), OTHERS_BESIDE])
                all_ids = [*ids, *(row[0] for row in cursor.fetchall())]
                cursor.execute(_WRITE_ANEW, [all_ids, all_ids])
        settled += len(ids)
        if len(ids) < SETTLED_AT_ONCE:
            return settled


def _anywhere() -> uuid.UUID:
    """A place among random ids."""
    return uuid.uuid4()


def _is_silent(conversation_id: uuid.UUID, project_id: int, sealed: bytes, *, at: datetime) -> bool:
    known = unseal(project_id=project_id, conversation_id=conversation_id, sealed=sealed)
    return known is None or known.seen_at <= at - SILENCE


def _erase(sealed: list[tuple[uuid.UUID, bytes]]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE surveys_conversation c SET sealed_respondent = NULL, is_settled = FALSE"
            " FROM unnest(%s::uuid[], %s::bytea[]) AS silent(id, sealed)"
            " WHERE c.id = silent.id AND c.sealed_respondent = silent.sealed",
            [[key for key, _ in sealed], [text for _, text in sealed]],
        )
        return int(cursor.rowcount)


@lru_cache(maxsize=1024)
def _cipher(project_id: int) -> AESGCM:
    return AESGCM(_key(project_id, "sealed"))


@lru_cache(maxsize=2048)
def _key(project_id: int, purpose: str) -> bytes:
    """32 bytes for one purpose in one project, from the installation's secret."""
    derive = HKDF(SHA256(), length=32, salt=None, info=f"colloquy:{purpose}:{project_id}".encode())
    return derive.derive(settings.SECRET_KEY.encode())
