"""Something to measure on: a community with many keys, a poll, surveys, and responses by the million."""

import itertools
import json
import threading
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection
from django.utils import timezone

from communities.ground.actors import Actor
from communities.models import Community, CommunitySettings, Member
from communities.services.api_keys import keys
from communities.services.people import members
from surveys.engine import packing
from surveys.models import Project
from surveys.services.projects import opening
from surveys.services.projects import service as projects
from surveys.services.scripts import cache as script_cache

COMMUNITY_ID = 1042117710208434001
KEYS = 48
USES_OF_A_KEY = (
    900  # in a row: below the 1,000 a minute of the tier, so that the limiter counts and lets through
)
QUESTIONS = 10
AT_ONCE = 100_000  # responses loaded in one statement

CHOICES = [{"value": value} for value in ("Daily", "Weekly", "Monthly", "Never")]
POLL = [
    {
        "name": "opening",
        "type": "single_punch",
        "prompt": "Which opening?",
        "required": True,
        "options": CHOICES,
    }
]


def questions(count: int) -> list[dict[str, Any]]:
    """Blocks with what makes them work: logic over earlier answers, piped answers, choices, scales, texts."""
    blocks: list[dict[str, Any]] = []
    for n in range(count):
        kind = ("single_punch", "opinion_scale", "open_text", "open_numeric")[n % 4]
        block: dict[str, Any] = {"name": f"item {n}", "type": kind, "prompt": f"Question {n} of the survey?"}
        if kind == "single_punch":
            block |= {"options": CHOICES, "randomize_options": True}
        elif kind == "open_numeric":
            block |= {"min": 0, "max": 1000}
        elif kind == "opinion_scale":
            block |= {"min": 1, "max": 7}
        if n >= 2:
            block["prompt"] = f"You said [item {n - 1}]. Question {n} of the survey?"
            block["precondition"] = f'item_0 = "Nowhere" OR item_1 > {6 + n}'
        blocks.append(block)
    return blocks


class Keys:
    """API keys, each used a while and then left alone for its minute."""

    def __init__(self, secrets: list[str]) -> None:
        self._next = itertools.cycle([secret for secret in secrets for _ in range(USES_OF_A_KEY)])
        self._lock = threading.Lock()

    def take(self) -> str:
        with self._lock:
            return next(self._next)


@dataclass(frozen=True)
class World:
    """The ids of the created objects."""

    community_id: int
    keys: Keys
    poll: Project
    survey: Project
    question_ids: list[int]
    option_ids: dict[int, int]
    script: Project

    def reply(self, block_id: int) -> dict[str, Any]:
        """An answer to one of the survey's questions."""
        if block_id in self.option_ids:
            return {"block_id": block_id, "option_id": self.option_ids[block_id]}
        return {"block_id": block_id, "value": 3}


def make() -> World:
    """Through the services, as a caller's requests would make it."""
    at = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE measured (n integer)")  # for urls.py
    community = Community.objects.create(id=COMMUNITY_ID, name="Measured", tier="custom")
    CommunitySettings.objects.create(community=community)
    admin = members.create_member(community_id=COMMUNITY_ID, name="Admin", access="admin", at=at)
    secrets = [
        keys.create_key(actor=None, community_id=COMMUNITY_ID, user_id=admin.user_id, name=f"Key {n}", at=at)[
            1
        ]
        for n in range(KEYS)
    ]
    survey = _open(admin, "convo", questions(QUESTIONS))
    script = script_cache.script_of(survey)
    return World(
        community_id=COMMUNITY_ID,
        keys=Keys(secrets),
        poll=_open(admin, "poll", POLL),
        survey=survey,
        question_ids=[block.id or 0 for block in script.blocks],
        option_ids={block.id or 0: block.options[0].id or 0 for block in script.blocks if block.options},
        script=_open(admin, "convo", questions(20)),
    )


def _open(admin: Member, kind: str, blocks: list[dict[str, Any]]) -> Project:
    at = timezone.now()
    author = Actor(admin.user_id, "admin", COMMUNITY_ID, "custom")
    made = projects.create_project(
        actor=author,
        fields={"name": "Measured", "type": kind},
        script={"blocks": blocks},
        at=at,
    )
    return opening.open_project(
        actor=author,
        project_id=made.project.pk,
        fields={"delivery": {"audience": {"participation": "open_web"}}},
        at=at,
    )


def opened(world: World, blocks: list[dict[str, Any]]) -> Project:
    """An open project with these blocks."""
    return _open(Member.objects.get(community_id=world.community_id), "convo", blocks)


def project_with_responses(database_url: str, count: int) -> Project:
    """A project with `count` completed responses of ten answers, written directly into the tables."""
    admin = Member.objects.get(community_id=COMMUNITY_ID)
    project = _open(admin, "convo", questions(QUESTIONS))
    script = script_cache.script_of(project)
    blocks = [(block.id, block.options[0].id if block.options else None) for block in script.blocks]
    replies = {
        block or 0: {"option_ids": [option]} if option else {"number": "3"} for block, option in blocks
    }
    state = json.dumps(
        {
            "at": QUESTIONS,
            "path": [block for block, _ in blocks],
            "answers": {str(block): reply for block, reply in replies.items()},
            "revision": project.revision,
        }
    )
    stored = state, packing.pack(replies)
    with psycopg.connect(database_url, autocommit=True) as loading:
        loading.execute("SET synchronous_commit = off")
        loading.execute("SET session_replication_role = replica")  # no look-ups of foreign keys
        with _without_indexes_beside(loading, "surveys_answer", count):
            for first in range(0, count, AT_ONCE):
                _load(loading, project.pk, blocks, stored, first, min(AT_ONCE, count - first))
        loading.execute(
            "INSERT INTO surveys_tally (project_id, slot, answered, completed, listed)"
            " VALUES (%s, 0, %s, %s, %s)",
            [project.pk, count * QUESTIONS, count, count],
        )
    return project


class _without_indexes_beside:
    """Drop a table's further indexes and build them again. Writing ten million rows takes half the time."""

    def __init__(self, connection: psycopg.Connection[Any], table: str, count: int) -> None:
        self._connection, self._table, self._is_worth_it = connection, table, count >= AT_ONCE
        self._indexes: list[str] = []

    def __enter__(self) -> None:
        if not self._is_worth_it:
            return
        found = self._connection.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexname NOT IN"
            " (SELECT conname FROM pg_constraint)",
            [self._table],
        ).fetchall()
        for name, definition in found:
            self._connection.execute(f'DROP INDEX "{name}"')
            self._indexes.append(definition)

    def __exit__(self, *_: object) -> None:
        self._connection.execute("SET maintenance_work_mem = '1GB'")
        for definition in self._indexes:
            self._connection.execute(definition)


def members_with_xp(database_url: str, count: int) -> None:
    """Members with an account, XP and an achievement each; one in fifty has left."""
    statements = (
        """
        INSERT INTO communities_user (username, name, password, is_superuser, email, is_staff, is_active,
            date_joined)
        SELECT 'measured ' || n, 'Person ' || md5(n::text), '', false, '', false, true, now()
        FROM generate_series(1, %(count)s) n
        """,
        """
        INSERT INTO communities_identity (user_id, provider, platform_id, proven_at)
        SELECT id, 'chat', id, now() FROM communities_user WHERE username LIKE 'measured %%'
        """,
        """
        INSERT INTO communities_member (community_id, user_id, access, nick, joined_at, left_at)
        SELECT %(community)s, id, 'member', CASE WHEN id %% 2 = 0 THEN 'Nick ' || md5(name) END,
            now() - id * interval '1 minute', CASE WHEN id %% 50 = 0 THEN now() END
        FROM communities_user WHERE username LIKE 'measured %%'
        """,
        """
        DELETE FROM communities_memberchange  -- nobody is told of them
        """,
        """
        INSERT INTO xp_standing (member_id, community_id, xp_total, month, xp_in_month, participation)
        SELECT id, community_id, 1 + hashint8(id) & 4095, date_trunc('month', now() AT TIME ZONE 'UTC'),
            1 + hashint8(id) & 255, 3
        FROM communities_member WHERE community_id = %(community)s
        """,
        """
        INSERT INTO xp_earnedachievement (member_id, number, name, awarded_at)
        SELECT id, 1, 'Regular', now() FROM communities_member WHERE community_id = %(community)s
        """,
    )
    with psycopg.connect(database_url, autocommit=True) as loading:
        for statement in statements:
            loading.execute(statement, {"count": count, "community": COMMUNITY_ID})


def _load(
    connection: psycopg.Connection[Any],
    project_id: int,
    blocks: list[tuple[int | None, int | None]],
    stored: tuple[str, bytes],
    first: int,
    count: int,
) -> None:
    values = ", ".join(f"({block}, {option or 'NULL'}::bigint)" for block, option in blocks)
    connection.execute(
        f"""
        WITH made AS (
            INSERT INTO surveys_conversation (id, project_id, provider, respondent, session_number, seed,
                state, packed, is_listed, started_at, updated_at, completed_at, changed_in)
            SELECT (lpad(to_hex(1750000000000 + n), 12, '0') || '7' || substr(hash, 1, 3) || 'a'
                    || substr(hash, 4, 15))::uuid,
                %s, 'web', hash || hash, 1, n, %s, %s, true,
                to_timestamp(1750000000 + n), to_timestamp(1750000060 + n), to_timestamp(1750000060 + n),
                pg_current_xact_id()::text::bigint
            FROM generate_series(%s::bigint, %s::bigint) n, md5(n || ' of ' || %s) hash
            RETURNING id
        )
        INSERT INTO surveys_answer (conversation_id, block_id, ordinal, option_id, value, number)
        SELECT made.id, block.id, 0, block.option_id,
            CASE WHEN block.option_id IS NULL THEN '3' ELSE 'Daily' END,
            CASE WHEN block.option_id IS NULL THEN 3 END
        FROM made CROSS JOIN (VALUES {values}) block (id, option_id)
        """,
        [project_id, *stored, first + 1, first + count, str(project_id)],
    )
