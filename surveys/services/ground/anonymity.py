"""The rules of anonymous projects: what is stored with an answer, and what is shown (chapter 7).

Stored: even the whole database does not connect answers to a person. Limits are counted under keyed hashes,
with a new hash for each completion. A running conversation stores its respondent encrypted with a key that is
not in the database. The effects of a move are encrypted in the same way until its hour is over. Every time
beside an answer is rounded to the hour or the day.

Shown to people who may not read single responses: no figures over fewer than `LEAST_ANSWERS` answers, of
numbers only the mean, and new figures only when at least `LEAST_ANSWERS` responses differ.
"""

from __future__ import annotations

import hmac
import os
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain
from typing import Any

import uuid_utils
from django.db import connection
from django.db.models import Model

from communities.ground import rounding, sealing
from communities.ground.rounding import Rounding
from communities.ground.sealing import Seal, SealedColumn
from communities.ground.transactions import in_transaction
from surveys.models import (
    Answer,
    Conversation,
    Project,
    ResponseFile,
    ResultsCount,
    SealedGifts,
    ShownFigures,
)
from surveys.services.ground import feed_order

Figures = Mapping[str, Any]  # the figures of one block, as JSON

# Figures over fewer answers would point to single people. Elsewhere the creator decides what to share.
LEAST_ANSWERS = 5
COUNTED_FIELDS = (
    "response_count",
    "weighted_count",
    "distribution",
    "stats",
    "histogram",
    "ranking",
    "nps",
    "drop_off",
    "open_text",
    "could_see_count",
)
MEANS = ("count", "weighted_count", "mean")  # the statistics of numbers that are no single person's
_EXTREMES = ("min", "lower_quartile", "median", "upper_quartile", "standard_deviation", "max")
SILENCE = timedelta(hours=24)  # a running conversation is separated from its respondent after this time
SETTLED_AT_ONCE = 5_000  # conversations in one transaction
OTHERS_BESIDE = 200  # settled conversations of each project that are rewritten with the new ones
# Rows of answers that one transaction rewrites at most, and as many of the others beside them. A million
# takes minutes, and several take longer than a statement may: then nobody's answers would be settled.
ROWS_AT_ONCE = 200_000
_ROWS = "octet_length(packed) / 8"  # of a conversation's answers, and more for numbers
_PADDED_TO = 4096  # bytes: more than the effects of a move take, less than long picture addresses take
# Respondent hash, user id (0: none), last seen in microseconds. The length is the same for everybody.
_SEALED = struct.Struct(">32sqq")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONVERSATION = ", ".join(
    str(field.column)
    for field in Conversation._meta.concrete_fields
    if field.column not in {"is_settled", "changed_in"}
)
_ANSWER = ", ".join(str(field.column) for field in Answer._meta.concrete_fields)
# Ids are random, so the rows that follow a random id are a random choice.
_OTHERS = f"""
    SELECT other.id, other.rows, project.id
    FROM (SELECT DISTINCT project_id AS id FROM surveys_conversation WHERE id = ANY(%s)) project, LATERAL (
        SELECT id, {_ROWS} AS rows FROM surveys_conversation
        WHERE project_id = project.id AND is_settled AND id > %s
        ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
    ) other
"""
# One statement, because its parts see one snapshot. Foreign keys are checked at the commit, and the sort in
# each INSERT waits for its DELETE to finish.
_REWRITE = f"""
    WITH answers AS (DELETE FROM surveys_answer WHERE conversation_id = ANY(%s) RETURNING {_ANSWER}),
    conversations AS (
        DELETE FROM surveys_conversation WHERE id = ANY(%s) RETURNING {_CONVERSATION}, changed_in
    ),
    written AS (
        INSERT INTO surveys_conversation ({_CONVERSATION}, is_settled, changed_in)
        SELECT {_CONVERSATION}, TRUE,
            CASE changed_in WHEN {feed_order.UNSETTLED} THEN {feed_order.NOW} ELSE changed_in END
        FROM conversations ORDER BY id
    )
    INSERT INTO surveys_answer ({_ANSWER})
    SELECT {_ANSWER} FROM answers ORDER BY conversation_id, block_id, ordinal
"""


def respondent_hashes(*, project_id: int, user_ids: Iterable[int]) -> tuple[str, ...]:
    """The keyed hashes of users in one project, in their order."""
    return tuple(respondent_hash(project_id=project_id, who=f"user:{each}") for each in user_ids)


def respondent_hash(*, project_id: int, who: str) -> str:
    """A keyed hash of a respondent: the same for one person on one project, different on every other project.

    Without the server's secret nobody can reverse it or test guessed names against it.
    """
    return _hash(project_id, "respondent", who)


def session_hash(*, project_id: int, session: str) -> str:
    """A keyed hash of one session of a respondent in one project."""
    return respondent_hash(project_id=project_id, who=f"session:{session}")


def completion_hash(*, project_id: int, respondent: str, number: int) -> str:
    """A keyed hash of a respondent's completion with this number, from 1.

    The hash differs for each completion, because the transaction of the answer writes it too. Without the
    server's secret, nobody can see that two hashes belong to one respondent, or count a respondent's
    completions.
    """
    return _hash(project_id, "completion", f"{respondent}:{number}")


def action_hash(*, project_id: int, action: str, scope: str) -> str:
    """A keyed hash of an action in its scope, unrelated to that of any other action in the same scope."""
    return _hash(project_id, "action", f"{action}:{scope}")


def decoy() -> str:
    """A random key that looks like a hash. A row under it hides that an action has fired before."""
    return os.urandom(32).hex()


def new_id(*, project: Project) -> uuid.UUID:
    """A conversation's id: ordered by time (UUID v7), but random (v4) on anonymous projects
    (rules 1.2 and 7.9).
    """
    return uuid.uuid4() if project.is_anonymous else uuid.UUID(int=uuid_utils.uuid7().int)


def is_anonymous(conversation_id: uuid.UUID) -> bool:
    """Whether a conversation began while its project was anonymous; the version of its id shows that."""
    return conversation_id.version == 4


# --- Times ------------------------------------------------------------------------------------------


def rounding_of(project: Project) -> Rounding | None:
    """How times beside the project's responses are rounded; None on projects that are not anonymous."""
    if not project.is_anonymous:
        return None
    return Rounding.DAY if project.rounds_times_to_day else Rounding.HOUR


def rounded(*, project: Project, at: datetime) -> datetime:
    """The time to store beside a response: rounded down to the hour or the day on anonymous projects."""
    return rounding.down(at, rounding_of(project))


# --- Figures for people who may not read single responses ---------------------------------------------


def least_answers(project: Project) -> int | None:
    """How many answers figures need before they are shown; None on projects that are not anonymous."""
    return LEAST_ANSWERS if project.is_anonymous else None


def is_enough(count: int, *, least: int | None) -> bool:
    """Whether figures over this many answers may be shown. `least` is from `least_answers`."""
    return least is None or count >= least


def may_replace(shown: Mapping[Any, int], now: Mapping[Any, int]) -> bool:
    """Whether counts may be shown instead of earlier counts: at least `LEAST_ANSWERS` responses differ.

    So nobody can derive one person's answer from two views. One response adds at most one to each count, so
    the largest difference of one count is a lower bound for the responses that differ.
    """
    return any(abs(now.get(key, 0) - shown.get(key, 0)) >= LEAST_ANSWERS for key in {*shown, *now})


def protected(block: Figures, *, least: int | None) -> Figures:
    """A block's figures as they may be shown: withheld if there are too few answers, and of the numbers of an
    open question only the mean.

    The lowest and the highest number are each one person's answer, and so may a quartile be. With the mean,
    the deviation and the bins show the extremes.
    """
    if not is_enough(block["response_count"], least=least):
        return withheld(block)
    if least is not None and block["block_type"] == "open_numeric" and block["stats"]:
        stats = {name: value if name in MEANS else None for name, value in block["stats"].items()}
        return {**block, "stats": stats, "histogram": None}
    return block


def without_few(computed: Figures) -> Figures:
    """Figures of a score or a calculated block as they may be shown: no entry over too few responses, and of
    the numbers only the mean (rule 1.153).

    A value that few people have may be one person's answers written as one number.
    """
    stats = [name for name in computed if name in _EXTREMES]
    entries = [entry for entry in computed["distribution"] if entry["count"] >= LEAST_ANSWERS]
    left = computed["count"] - sum(entry["count"] for entry in entries)
    found = {**computed, **dict.fromkeys(stats), "distribution": entries}
    if "other_count" in computed:
        hidden = sum(0 < entry["count"] < LEAST_ANSWERS for entry in computed["distribution"])
        found |= {"other_values": computed["other_values"] + hidden, "other_count": left}
    if computed.get("score_correct"):
        right = computed["score_correct"]
        found["score_correct"] = {**right, "min": None, "max": None}
    if not is_enough(computed["count"], least=LEAST_ANSWERS):
        found |= {name: None for name in ("mean", "max_score", "score_correct") if name in computed}
    return found


def withheld(block: Figures) -> Figures:
    """A block with null instead of every count."""
    return {**block, **{name: None for name in COUNTED_FIELDS if name in block}}


# --- Respondents of running conversations ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RememberedRespondent:
    """The respondent of a running anonymous conversation, and the time of their last activity."""

    respondent: str
    user_id: int | None
    seen_at: datetime


def seal(*, project_id: int, conversation_id: uuid.UUID, remembered: RememberedRespondent) -> bytes:
    """Encrypt a respondent with the server's secret, bound to this conversation of this project.

    The result has the same length for everybody and contains no readable time.
    """
    micros = (remembered.seen_at - _EPOCH) // timedelta(microseconds=1)
    plain = _SEALED.pack(bytes.fromhex(remembered.respondent), remembered.user_id or 0, micros)
    return sealing.encrypt(plain, seal=respondent_seal(project_id, conversation_id))


def unseal(*, project_id: int, conversation_id: uuid.UUID, sealed: bytes) -> RememberedRespondent | None:
    """Decrypt a respondent; None if the server's secret has changed since it was sealed."""
    try:
        plain = sealing.decrypt(sealed, seal=respondent_seal(project_id, conversation_id))
    except sealing.Unreadable:
        return None
    respondent, user_id, micros = _SEALED.unpack(plain)
    return RememberedRespondent(respondent.hex(), user_id or None, _EPOCH + timedelta(microseconds=micros))


# --- Gifts that wait ---------------------------------------------------------------------------------------


def seal_gifts(*, project_id: int, row_id: uuid.UUID, gifts: bytes) -> bytes:
    """Encrypt the effects of a move for a person, bound to its row.

    The result is padded, so its length reveals nothing.
    """
    padded = gifts.ljust(-(-len(gifts) // _PADDED_TO) * _PADDED_TO)
    return sealing.encrypt(padded, seal=gifts_seal(project_id, row_id))


def unseal_gifts(*, project_id: int, row_id: uuid.UUID, sealed: bytes) -> bytes | None:
    """Decrypt gifts; None if the server's secret has changed since they were sealed."""
    try:
        return sealing.decrypt(sealed, seal=gifts_seal(project_id, row_id))
    except sealing.Unreadable:
        return None


# --- Shown figures ----------------------------------------------------------------------------------------


def seal_figures(*, project_id: int, figures: bytes) -> bytes:
    """Encrypt the shown figures of a project: compared with its answers, they would reveal the latest
    answers.
    """
    return sealing.encrypt(figures, seal=figures_seal(project_id))


def unseal_figures(*, project_id: int, sealed: bytes) -> bytes | None:
    """Decrypt shown figures; None if the server's secret has changed since."""
    try:
        return sealing.decrypt(sealed, seal=figures_seal(project_id))
    except sealing.Unreadable:
        return None


# --- Seals ------------------------------------------------------------------------------------------------


def respondent_seal(project_id: int, conversation_id: uuid.UUID) -> Seal:
    """The seal of a conversation's respondent."""
    return _seal(project_id, conversation_id.bytes)


def gifts_seal(project_id: int, row_id: uuid.UUID) -> Seal:
    """The seal of gifts that wait."""
    return _seal(project_id, b"gifts" + row_id.bytes)


def figures_seal(project_id: int) -> Seal:
    """The seal of a project's figures, and of files with its responses."""
    return _seal(project_id, b"figures")


def _seal(project_id: int, bound_to: bytes) -> Seal:
    return Seal(f"colloquy:sealed:{project_id}", bound_to)


_OF_FIGURES: tuple[tuple[type[Model], str], ...] = (
    (ShownFigures, "sealed"),
    (ResultsCount, "sealed"),
    (ResponseFile, "sealed"),
    (ResponseFile, "sealed_faults"),
)
SEALED_COLUMNS = (
    # Like every change of a respondent, it is followed by a rewrite in the order of the random ids.
    SealedColumn(
        Conversation,
        "sealed_respondent",
        lambda row: respondent_seal(row.project_id, row.pk),
        also={"is_settled": False},
    ),
    SealedColumn(SealedGifts, "sealed", lambda row: gifts_seal(row.project_id, row.pk)),
    *(SealedColumn(model, name, lambda row: figures_seal(row.project_id)) for model, name in _OF_FIGURES),
)


# --- Periodic work --------------------------------------------------------------------------------------


def forget_silent(*, at: datetime) -> int:
    """Erase the sealed respondents of anonymous conversations that were inactive for a day.

    Returns the number of conversations. Seals that can no longer be decrypted are erased too. A respondent
    who answers at this moment is kept.
    """
    forgotten, last = 0, uuid.UUID(int=0)
    while True:
        # Stored times are rounded down, so this finds every inactive conversation and some that are not
        # inactive yet. `started_at` has the index, and is never later than `updated_at`.
        candidates = Conversation.objects.filter(
            sealed_respondent__isnull=False,
            started_at__lt=at - SILENCE,
            updated_at__lt=at - SILENCE,
            pk__gt=last,
        )
        rows = candidates.order_by("pk").values_list("pk", "project_id", "sealed_respondent")[:1000]
        batch = [(key, project_id, bytes(sealed or b"")) for key, project_id, sealed in rows]
        if not batch:
            return forgotten
        last = batch[-1][0]
        silent = [row for row in batch if _is_silent(*row, at=at)]
        forgotten += _erase([(key, sealed) for key, _, sealed in silent])


_SETTLE_DELETIONS = f"""
    UPDATE surveys_deletedresponse SET changed_in = {feed_order.NOW}
    WHERE changed_in = {feed_order.UNSETTLED} AND due_at <= %s
"""


def settle(*, at: datetime) -> int:
    """Rewrite anonymous conversations whose hour or day is over.

    Returns the number of conversations. The feed returns them from then on. The position of a row in its
    table and the transaction that wrote it show the order of the answers. They also show which rows of limits
    and gifts belong to one answer. So this function writes the rows again: many in one transaction, in the
    order of their random ids. Settled rows of the same projects are written again in the same transaction, so
    no new row is alone in its transaction. Conversations that are being answered now are left for the next
    run.
    """
    hour, day = rounding.down(at, Rounding.HOUR), rounding.down(at, Rounding.DAY)
    settled = 0
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE_DELETIONS, [at])
    while True:
        with in_transaction, connection.cursor() as cursor:
            cursor.execute(
                f"SELECT c.id, {_ROWS} FROM surveys_conversation c"
                " JOIN surveys_project p ON p.id = c.project_id WHERE NOT c.is_settled AND c.started_at < %s"
                " AND c.updated_at < CASE WHEN p.rounds_times_to_day THEN %s ELSE %s END"
                " ORDER BY c.id LIMIT %s FOR KEY SHARE OF p SKIP LOCKED FOR UPDATE OF c SKIP LOCKED",
                [hour, day, hour, SETTLED_AT_ONCE],
            )
            due = cursor.fetchall()
            ids = _fitting(due, ROWS_AT_ONCE)
            if ids:
                cursor.execute(_OTHERS, [ids, _random_position(), OTHERS_BESIDE])
                others: dict[int, list[tuple[uuid.UUID, int]]] = {}
                for key, rows, project_id in cursor.fetchall():
                    others.setdefault(project_id, []).append((key, rows))
                beside = [_fitting(each, ROWS_AT_ONCE // len(others)) for each in others.values()]
                all_ids = [*ids, *chain.from_iterable(beside)]
                cursor.execute(_REWRITE, [all_ids, all_ids])
        settled += len(ids)
        if len(ids) == len(due) < SETTLED_AT_ONCE:
            return settled


def _fitting(conversations: Sequence[tuple[uuid.UUID, int]], most: int) -> list[uuid.UUID]:
    """The first conversations whose answers, without those of the last one, have together at most `most`
    rows.
    """
    before = accumulate((rows for _, rows in conversations), initial=0)
    return [key for (key, _), rows in zip(conversations, before, strict=False) if rows < most]


def _random_position() -> uuid.UUID:
    """A position among random ids."""
    return uuid.uuid4()


def _is_silent(conversation_id: uuid.UUID, project_id: int, sealed: bytes, *, at: datetime) -> bool:
    remembered = unseal(project_id=project_id, conversation_id=conversation_id, sealed=sealed)
    return remembered is None or remembered.seen_at <= at - SILENCE


def _erase(sealed: list[tuple[uuid.UUID, bytes]]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE surveys_conversation c SET sealed_respondent = NULL, is_settled = FALSE"
            " FROM unnest(%s::uuid[], %s::bytea[]) AS silent(id, sealed)"
            " WHERE c.id = silent.id AND c.sealed_respondent = silent.sealed",
            [[key for key, _ in sealed], [text for _, text in sealed]],
        )
        return int(cursor.rowcount)


def _hash(project_id: int, purpose: str, text: str) -> str:
    key = sealing.hash_key(f"colloquy:{purpose}:{project_id}")
    return hmac.digest(key, text.encode(), "sha256").hex()
