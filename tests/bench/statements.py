"""How many SQL statements each operation takes (row 16); the tests hold these, here they are told."""

from collections.abc import Callable

import orjson
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.bench.client import Visitor, form_in
from tests.bench.profiling import InProcess
from tests.bench.world import World

NOT_COUNTED = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


def counted(world: World) -> list[tuple[str, int, int]]:
    """What, how many, and how many there may be; in this process, with everything warm."""
    client, community = InProcess(), f"/v1/communities/{world.community_id}"
    headers = {"X-API-Key": world.keys.take(), "Content-Type": "application/json"}
    path = f"/s/{world.poll.slug}"
    visitor = Visitor(client)
    form = form_in(visitor.get(path).body, at=path)
    begun = client.call(
        "POST", f"{community}/projects/{world.survey.pk}/conversations", b"{}", headers=headers, expect=201
    ).json()["id"]
    answers = iter(world.question_ids)

    def answer() -> object:
        body = orjson.dumps(world.reply(next(answers)))
        return client.call("POST", f"{community}/conversations/{begun}/answers", body, headers=headers)

    script = f"{community}/projects/{world.script.pk}/script"
    listing = f"{community}/projects/{world.survey.pk}/responses?per_page=100"
    figures = f"{community}/projects/{world.survey.pk}/analysis/results"
    answer()
    client.call("GET", script, headers=headers)
    client.call("GET", listing, headers=headers)
    return [
        ("vote", _count(lambda: visitor.post(form)), 6),
        ("answer", _count(answer), 8),
        ("script", _count(lambda: client.call("GET", script, headers=headers)), 4),
        ("page of responses", _count(lambda: client.call("GET", listing, headers=headers)), 4),
        ("all distributions", _count(lambda: client.call("GET", figures, headers=headers)), 4),
    ]


def _count(job: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        job()
    return sum(not query["sql"].upper().startswith(NOT_COUNTED) for query in captured.captured_queries)
