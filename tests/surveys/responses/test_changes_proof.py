"""The proof of the feed: whatever is written at once, wherever a reader stops, the copy equals its source."""

from __future__ import annotations

import random
import threading
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from surveys.services.ground import anonymity
from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.plans import rows_read
from tests.support.surveys.copies import Copy, source
from tests.support.surveys.participants import QUESTION, a_member

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]
ON_THE_WEB = {"audience": {"participation": "open_web"}}
WRITERS, MOVES = 3, 40
REFUSED = {
    400,
    403,
    404,
    409,
}  # what another writer has made impossible meanwhile, and skips of what is required


class Writer:
    """Begins, answers, goes back, deletes and erases at random, in projects that all writers share."""

    def __init__(self, caller: Caller, projects: list[dict[str, Any]], seed: int, begun: list[str]) -> None:
        self.caller, self.projects, self.begun = caller.in_another_thread(), projects, begun
        self.random = random.Random(seed)
        self.done = 0

    def run(self) -> None:
        moves = [self.begin, self.answer, self.answer, self.answer, self.back, self.delete, self.erase]
        weights = [6, 8, 8, 8, 2, 1, 0.5]
        for _ in range(MOVES):
            self.random.choices(moves, weights)[0]()

    def begin(self) -> None:
        project = self.random.choice(self.projects)
        answer = self._send("post", f"/projects/{project['id']}/conversations", self._who())
        if answer.status_code in (200, 201):
            self.begun.append(answer.json()["id"])

    def answer(self) -> None:
        if not self.begun:
            return
        path = f"/conversations/{self.random.choice(self.begun)}"
        told = self._send("get", path)
        step = told.json().get("step") if told.status_code == 200 else None
        if step:
            value: dict[str, object] = {"value": self.random.choice(["red", "green"])}
            body: dict[str, object] = self.random.choice([value, value, {"skip": True}])
            self._send("post", f"{path}/answers", {"block_id": step["block"]["id"], **body})

    def back(self) -> None:
        if self.begun:
            self._send("post", f"/conversations/{self.random.choice(self.begun)}/back")

    def delete(self) -> None:
        if self.begun:
            self._send("delete", f"/responses/{self.random.choice(self.begun)}")

    def erase(self) -> None:
        members = self.caller.get("/members?per_page=100").json()["data"]
        own = str(self.caller.user.pk)
        others = [each["id"] for each in members if each["access"] == "member" and each["id"] != own]
        if others:
            self._send("delete", f"/members/{self.random.choice(others)}/data")

    def _who(self) -> dict[str, str]:
        members = [each["id"] for each in self.caller.get("/members").json()["data"]]
        return self.random.choice(
            [{}, {"external_id": f"p{self.random.randrange(9)}"}, {"member_id": self.random.choice(members)}]
        )

    def _send(self, method: str, path: str, body: object = None) -> Any:
        answer = self.caller.call(method, path, body)
        assert answer.status_code < 400 or answer.status_code in REFUSED, answer.content
        self.done += answer.status_code < 400
        return answer


class Reader:
    """Reads page after page while others write. Stops anywhere, and continues from its stored cursor."""

    def __init__(self, copy: Copy, seed: int) -> None:
        self.copy, self.random = copy, random.Random(seed)
        self.copy.caller = copy.caller.in_another_thread()
        self.stored = self._state()
        self.pages = 0

    def run(self, is_over: threading.Event) -> None:
        while not is_over.is_set():
            self.copy.per_page = self.random.choice([1, 2, 7, 100])
            self.copy.read_page()
            self.pages += 1
            if self.random.random() < 0.3:
                self.stored = self._state()
            elif self.random.random() < 0.2:  # killed before it stored the page
                self.copy.cursor, self.copy.responses = deepcopy(self.stored)
        self.copy.per_page = 100
        self.copy.read()

    def _state(self) -> tuple[str | None, dict[str, Any]]:
        return deepcopy((self.copy.cursor, self.copy.responses))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_copy_ends_equal_to_its_source_whatever_happens_at_once(seed: int) -> None:
    caller = Caller("admin")
    kinds: list[dict[str, Any]] = [
        {"privacy_mode": "transparent"},
        {"privacy_mode": "anonymous"},
        {"type": "poll", "change_poll": True},
    ]
    questions = [[QUESTION, {**QUESTION, "required": False}]] * 2 + [[QUESTION]]
    projects = [
        caller.make_open(*blocks, delivery=ON_THE_WEB, **kind)
        for blocks, kind in zip(questions, kinds, strict=True)
    ]
    for n in range(6):
        a_member(caller, f"Person {n}")
    begun: list[str] = []
    writers = [Writer(caller, projects, seed * 100 + n, begun) for n in range(WRITERS)]
    readers = [Reader(Copy(caller, project), seed + n) for n, project in enumerate([*projects, None])]
    is_over, are_settled = threading.Event(), threading.Event()

    def settle() -> None:
        while not is_over.is_set():
            anonymity.settle(at=timezone.now() + timedelta(hours=2))
        anonymity.settle(at=timezone.now() + timedelta(hours=2))
        are_settled.set()

    def write() -> None:
        try:
            for fault in run_together(*(writer.run for writer in writers)):
                if fault is not None:
                    raise fault
        finally:
            is_over.set()

    def read(reader: Reader) -> None:
        reader.run(are_settled)

    results = run_together(write, settle, *(lambda reader=reader: read(reader) for reader in readers))

    assert results == [None] * len(results)
    sources = [source(caller, project) for project in projects]
    assert [reader.copy.responses for reader in readers[:-1]] == sources
    assert readers[-1].copy.responses == {key: each for one in sources for key, each in one.items()}
    assert all(writer.done for writer in writers)
    assert all(reader.pages for reader in readers)


def test_a_page_deep_in_the_feed_reads_no_more_than_the_first() -> None:
    caller = Caller("admin")
    project = caller.make_open(QUESTION, delivery=ON_THE_WEB)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO surveys_conversation
                (id, project_id, provider, seed, state, is_listed, is_settled, started_at, updated_at,
                changed_in)
            SELECT gen_random_uuid(), %s, 'web', 1, '{}', TRUE, TRUE, now(), now(), 3 + n / 1000
            FROM generate_series(1, 20000) AS n
            """,
            [project["id"]],
        )
        cursor.execute("ANALYZE surveys_conversation")
    copy = Copy(caller, project, per_page=25)
    with rows_read() as first:
        copy.read_page()
    copy.per_page = 100
    for _ in range(150):
        copy.read_page()
    copy.per_page = 25
    with rows_read() as deep:
        copy.read_page()

    assert len(copy.responses) == 25 + 15_000 + 25
    assert deep.count <= first.count
    assert first.count < 500
