"""Row 24: every list of the admin at a million rows: its first and its deepest page, and what narrows it.

A list joins by an entry in LISTS: what fills its table, and the addresses to read. Each is compared with
200 ms of CPU, whatever is asked for.
"""

import base64
import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg

from communities.models import Member, User
from surveys.models import Block, Project
from tests.bench import admin_fills as fills
from tests.bench import report
from tests.bench.client import Client
from tests.bench.people import signed_in
from tests.bench.rows import Bench, Result, cost
from tests.bench.servers import DataServers
from tests.bench.world import COMMUNITY_ID
from xp.models import Achievement

GOAL, STRETCH = 200, 100  # milliseconds
TIMES = 20


@dataclass(frozen=True)
class AdminList:
    """A list of the admin. `fill` loads this many rows; `pages` names queries of its address.

    The address may name `{project}`, `{question}`, `{rare_question}`, `{member}`,
    `{achievement}` and `{community}`. `reader` is who reads it;
    None for `fill` if an earlier list has loaded its rows.
    """

    name: str
    address: str
    fill: Callable[[psycopg.Connection[Any], int], None] | None
    pages: Sequence[tuple[str, str]]
    reader: str = "admin"


def _after(*values: object) -> str:
    """A place in a list, as its links to the next page have it."""
    return f"after={base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip('=')}"


# A thousand rows from the end: of rows made in seconds since SINCE, and of ids.
LATE, LATE_ID = "2025-06-15T15:23:20+00:00", str(uuid.UUID(f"{1750000001000:012x}7000a000000000000000"))
END = str(uuid.UUID(int=0))

LISTS: tuple[AdminList, ...] = (
    AdminList(
        "members",
        "/admin/communities/member/",
        fills.members,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(1000)}"),
            ("by XP", "?sort=xp"),
            ("by XP, deepest page", f"?sort=xp&{_after(1, 1)}"),
            ("creators", "?access=creator"),
            ("creators who left", "?access=creator&presence=left"),
            ("those who left", "?presence=left"),
            ("a rare word", "?q=a1b2"),
            ("a word of every name", "?q=person"),
            ("no such word", "?q=nowhere"),
        ),
    ),
    AdminList(
        "users",
        "/admin/communities/user/",
        None,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(1000)}"),
            ("a rare word", "?q=a1b2"),
            ("a word of every name", "?q=person"),
            ("no such word", "?q=nowhere"),
            ("staff", "?staff=yes"),
            ("inactive ones", "?active=no"),
        ),
        reader="superuser",
    ),
    AdminList(
        "projects",
        "/admin/surveys/project/",
        fills.projects,
        (
            ("first page", ""),
            ("deepest page", f"?{_after('2017-07-14T19:20:00+00:00', 1_000)}"),
            ("by name", "?sort=name"),
            ("open ones", "?status=open"),
            ("closed ones", "?status=closed"),
            ("polls", "?type=poll"),
            ("own open polls", "?type=poll&status=open&author=me"),
            ("a rare word", "?q=a1b2"),
            ("a word of every name", "?q=week"),
            ("two common words", "?q=survey+week&sort=name"),
            ("no such word", "?q=nowhere"),
        ),
    ),
    AdminList(
        "projects to copy from",
        "/admin/surveys/project/{project}/script/projects/",
        None,
        (
            ("first page", ""),
            ("a rare word", "?search=a1b2"),
            ("a word of every name", "?search=week"),
            ("no such word", "?search=nowhere"),
        ),
    ),
    AdminList(
        "responses of one project",
        "/admin/surveys/project/{project}/responses/",
        fills.responses,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(LATE_ID)}"),
            ("unfinished ones", "?status=partial"),
            ("complete ones", "?status=completed"),
            ("of the chat", "?provider=chat"),
            ("of a day", "?from=2025-06-20&to=2025-06-20"),
            ("a rare name", "?q=person+a1b2"),
            ("a word of every name", "?q=person"),
            ("no such name", "?q=nowhere"),
        ),
    ),
    AdminList(
        "responses, the written answers",
        "/admin/surveys/project/{project}/results/answers/{question}/",
        fills.answers,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(LATE_ID)}"),
            ("unfinished ones", "?status=partial"),
            ("of the chat", "?provider=chat"),
            ("of a day", "?submitted_after=2025-06-20&submitted_before=2025-06-20"),
            ("a rare word", "?q=a1b2"),
            ("a word of every answer", "?q=coffee"),
            ("no such words", "?q=the+coffee+nowhere"),
        ),
    ),
    AdminList(
        "responses, the written answers of one in 400",
        "/admin/surveys/project/{project}/results/answers/{rare_question}/",
        None,
        (("first page", ""), ("of a day", "?submitted_after=2025-06-20&submitted_before=2025-06-20")),
    ),
    AdminList(
        "achievements earned",
        "/admin/xp/achievement/{achievement}/change/",
        fills.achievements,
        (("first page", ""), ("deepest page", f"?{_after(1000)}")),
    ),
    AdminList("achievements", "/admin/xp/achievement/", None, (("first page", ""),)),
    AdminList(
        "roles to grant",
        "/admin/xp/rolegrant/",
        fills.grants,
        (("first page", ""), ("deepest page", f"?{_after(1000)}"), ("waiting ones", "?state=waiting")),
    ),
    AdminList(
        "entries of one ledger",
        "/admin/communities/member/{member}/ledger/",
        fills.ledger,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(1000)}"),
            ("by hand", "?by=hand"),
            ("by surveys", "?by=survey"),
        ),
    ),
    AdminList("members, one", "/admin/communities/member/{member}/change/", None, (("profile", ""),)),
    AdminList(
        "deliveries",
        "/admin/webhooks/delivery/",
        fills.deliveries,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(LATE, END)}"),
            ("given up", "?status=abandoned"),
            ("delivered", "?status=delivered"),
        ),
    ),
    AdminList(
        "events",
        "/admin/webhooks/event/",
        None,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(LATE, END)}"),
            ("of a type that there is", "?type=response.submitted"),
            ("of a type that there is not", "?type=webhook.ping"),
        ),
        reader="superuser",
    ),
    AdminList(
        "analyses",
        "/admin/surveys/analysis/",
        fills.analyses,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(1000)}"),
            ("failed ones", "?status=failed"),
            ("running ones", "?status=running"),
        ),
    ),
    AdminList(
        "analyses, of a creator without any",
        "/admin/surveys/analysis/",
        None,
        (("first page", ""),),
        reader="creator",
    ),
    AdminList(
        "audit entries",
        "/admin/communities/auditentry/",
        fills.audit,
        (
            ("first page", ""),
            ("deepest page", f"?{_after(LATE, LATE_ID)}"),
            ("a rare word", "?q=a1b2"),
            ("a word of every entry", "?q=survey"),
            ("no such word", "?q=nowhere"),
        ),
    ),
    AdminList(
        "audit entries of one project",
        "/admin/surveys/project/{project}/history/",
        None,
        (("first page", ""), ("deepest page", f"?{_after(LATE, LATE_ID)}"), ("a rare word", "?q=a1b2")),
    ),
    AdminList(
        "audit entries over the API",
        "/v1/communities/{community}/audit",
        None,
        (
            ("first page", ""),
            ("deepest page", "?until=2025-06-15T15:23:20Z"),
            ("a rare word", "?search=a1b2"),
            ("a word of every entry", "?search=survey"),
            ("no such word", "?search=nowhere"),
        ),
        reader="key",
    ),
)


def listed(bench: Bench, data: DataServers, count: int) -> list[Result]:
    """The CPU time of each page of each list, for this number of rows."""
    with psycopg.connect(data.database_url, autocommit=True) as loading:
        loading.execute("SET synchronous_commit = off")
        loading.execute("SET session_replication_role = replica")  # no look-ups of foreign keys
        for each in LISTS:
            if each.fill:
                each.fill(loading, count)
    data.settle()
    begun, names = time.monotonic(), {"community": COMMUNITY_ID, **_rows()}
    readers = {
        "admin": signed_in(_staff("admin")),
        "creator": signed_in(_staff("creator")),
        "superuser": signed_in(_superuser()),
    }
    client, results = bench.colloquy.client(), list[Result]()
    for each in LISTS:
        for name, query in each.pages:
            headers = readers.get(each.reader) or bench.headers()
            read = partial(_read, client, f"{each.address.format(**names)}{query}", headers)
            result = Result(
                "24", f"admin, {count:,} {each.name}, {name}", _cost(bench, read), None, GOAL, STRETCH
            )
            report.say_progress([result], begun)
            results.append(result)
    return results


def _cost(bench: Bench, read: Callable[[], None]) -> float:
    """CPU of a page in processes that have drawn it before. Very slow pages are read fewer times."""
    for _ in range(4):
        read()
    first = cost(bench.colloquy, [read] * 2)
    return first if first > 5 * GOAL else cost(bench.colloquy, [read] * TIMES)


def _rows() -> dict[str, int]:
    """The ids of the rows behind which all the others are."""
    member = Member.objects.filter(community_id=COMMUNITY_ID, access="admin").order_by("pk").first()
    project = Project.objects.filter(community_id=COMMUNITY_ID, type="convo").order_by("pk").first()
    achievement = Achievement.objects.filter(community_id=COMMUNITY_ID, number=1).first()
    assert member is not None
    assert project is not None
    assert achievement is not None
    texts = Block.objects.filter(project=project, type="open_text").order_by("pk")
    question, rare_question = texts.values_list("pk", flat=True)[:2]
    rows = {"question": question, "rare_question": rare_question}
    return {**rows, "member": member.pk, "project": project.pk, "achievement": achievement.pk}


def _read(client: Client, address: str, headers: dict[str, str]) -> None:
    page = client.call("GET", address, headers=headers)
    assert b'id="content"' in page.body or page.body[:1] in b"{[", f"{address} is no page of the admin."


def _staff(access: str) -> User:
    """The first member with this access, who may sign in to the admin."""
    member = Member.objects.filter(community_id=COMMUNITY_ID, access=access).order_by("pk").first()
    assert member is not None
    user = User.objects.get(pk=member.user_id)
    user.is_staff = True
    user.username = user.username or f"bench {access}"
    user.save(update_fields=["is_staff", "username"])
    return user


def _superuser() -> User:
    return User.objects.create(username="bench superuser", is_staff=True, is_superuser=True)
