"""How many SQL statements each operation takes, and how many files it enters (row 16).

Tests limit the number of statements; this module prints them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import orjson
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.templating import compile_all
from tests.bench.client import Visitor, form_in
from tests.bench.profiling import InProcess, Way, way
from tests.bench.rows import typed
from tests.bench.world import World

NOT_COUNTED = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


@dataclass(frozen=True, slots=True)
class Counted:
    """One operation: its statements, how many there may be, and the way that it takes through our files."""

    operation: str
    statements: int
    most: int
    way: Way

    def told(self) -> str:
        return f"{self.operation}: {self.statements} statements, at most {self.most}; {self.way.told()}."


def counted(world: World) -> list[Counted]:
    """Each operation, in this process, with everything warm."""
    compile_all()  # as a worker does before its first request
    client, community = InProcess(), f"/v1/communities/{world.community_id}"
    headers = {"X-API-Key": world.keys.take(), "Content-Type": "application/json"}
    poll, survey = f"/s/{world.poll.slug}", f"/s/{world.survey.slug}"
    voter, another = Visitor(client), Visitor(client)
    voter.post(form_in(voter.get(poll).body, at=poll))
    vote = form_in(another.get(poll).body, at=poll)
    begin_at = f"{community}/projects/{world.survey.pk}/conversations"
    before, begun = (
        client.call("POST", begin_at, b"{}", headers=headers, expect=201).json()["id"] for _ in range(2)
    )
    answers = iter([(talk, block) for talk in (before, begun) for block in world.question_ids])
    reader = Visitor(client)
    forms = [form_in(reader.get(survey).body, at=survey)]

    def answer() -> object:
        talk, block = next(answers)
        body = orjson.dumps(world.reply(block))
        return client.call("POST", f"{community}/conversations/{talk}/answers", body, headers=headers)

    def answer_on_page() -> None:
        forms.append(form_in(reader.post(typed(forms[-1])).body, at=survey))

    def read(path: str) -> Callable[[], object]:
        return lambda: client.call("GET", f"{community}/projects/{path}", headers=headers)

    operations: list[tuple[str, Callable[[], object], int]] = [
        ("answer", answer, 8),
        ("answer on a page", answer_on_page, 9),
        ("script", read(f"{world.script.pk}/script"), 4),
        ("page of responses", read(f"{world.survey.pk}/responses?per_page=100"), 4),
        ("all distributions", read(f"{world.survey.pk}/analysis/results"), 4),
    ]
    for _ in world.question_ids:
        answer()
    for _, job, _ in operations:
        job()
    return [
        Counted("vote", _count(lambda: voter.post(vote)), 6, way(lambda: another.post(vote))),
        *(Counted(name, _count(job), most, way(job)) for name, job, most in operations),
    ]


def _count(job: Callable[[], object]) -> int:
    with CaptureQueriesContext(connection) as captured:
        job()
    return sum(not query["sql"].upper().startswith(NOT_COUNTED) for query in captured.captured_queries)
