"""What the clients do all the time: projects come, open, close and go; people answer; responses go."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.torture.caller import Caller, NoAnswer
from tests.torture.deeds import Deeds

CLIENTS = 4
MOST_SECONDS_BETWEEN_DEEDS = 0.04
MOST_PROJECTS = 8  # of one client, at one time
OPEN = {"audience": {"participation": "open_web"}}
CHOICE = {
    "type": "single_punch",
    "prompt": "Which opening?",
    "required": True,
    "options": [{"value": "Queen’s pawn"}, {"value": "King’s pawn"}, {"value": "Réti"}],
}
QUESTIONS: list[dict[str, Any]] = [
    CHOICE,
    {"type": "open_text", "prompt": "Why?"},
    {"type": "opinion_scale", "prompt": "How sure are you?", "min": 1, "max": 7},
]


class OpenProjects:
    """Those of all clients that were open a moment ago."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._lock = threading.Lock()

    def add(self, id: str) -> None:
        with self._lock:
            self._ids.append(id)

    def discard(self, id: str) -> None:
        with self._lock:
            if id in self._ids:
                self._ids.remove(id)

    def any(self, chance: random.Random) -> str | None:
        with self._lock:
            return chance.choice(self._ids) if self._ids else None


class Client:
    """One thread. It alone changes its projects; anybody answers in them."""

    def __init__(self, caller: Caller, deeds: Deeds, projects: OpenProjects, chance: random.Random) -> None:
        self._caller = caller
        self._deeds = deeds
        self._open = projects
        self._chance = chance
        self._mine: dict[str, bool] = {}  # by id, whether it is open
        self._responses: list[str] = []
        self._scheduled: list[str] = []

    def work(self, stop: threading.Event) -> None:
        deeds = {
            self._talk: 60,
            self._make: 8,
            self._turn: 12,
            self._delete: 3,
            self._delete_response: 8,
            self._schedule: 4,
            self._rename_scheduled: 3,
        }
        while not stop.is_set():
            [deed] = self._chance.choices([*deeds], [*deeds.values()])
            try:
                deed()
            except NoAnswer as fault:
                self._deeds.fault(str(fault))
            time.sleep(self._chance.uniform(0, MOST_SECONDS_BETWEEN_DEEDS))

    def _make(self) -> None:
        if len(self._mine) >= MOST_PROJECTS:
            return
        project_id = self._create({"delivery": OPEN})
        if project_id is not None:
            self._mine[project_id] = False
            self._turn_one(project_id)

    def _create(self, fields: dict[str, Any]) -> str | None:
        is_poll = self._chance.random() < 0.3
        blocks = [CHOICE] if is_poll else QUESTIONS[: self._chance.randint(1, len(QUESTIONS))]
        body = {
            "name": f"Torture {self._chance.randrange(10**6)}",
            "type": "poll" if is_poll else "convo",
            "script": {"blocks": blocks},
            "settings": {"privacy_mode": self._chance.choice(["transparent", "transparent", "anonymous"])},
            **fields,
        }
        project = self._do("POST", "/projects", body)
        if project is None:
            return None
        self._deeds.note("project.created", project["id"], project)
        return str(project["id"])

    def _turn(self) -> None:
        """Open what is closed or close what is open."""
        if self._mine:
            self._turn_one(self._chance.choice([*self._mine]))

    def _turn_one(self, project_id: str) -> None:
        is_open = self._mine[project_id]
        if is_open:
            self._open.discard(project_id)
        done = self._do("POST", f"/projects/{project_id}/{'close' if is_open else 'open'}")
        if done is None:
            return
        self._deeds.note(f"project.{'closed' if is_open else 'opened'}", project_id)
        self._mine[project_id] = not is_open
        if not is_open:
            self._open.add(project_id)

    def _delete(self) -> None:
        closed = [project_id for project_id, is_open in self._mine.items() if not is_open]
        if closed:
            project_id = self._chance.choice(closed)
            if self._do("DELETE", f"/projects/{project_id}") is not None:
                self._deeds.note("project.deleted", project_id)
                del self._mine[project_id]

    def _talk(self) -> None:
        """Answer to the end, or leave now and then. The project may be closed or deleted meanwhile."""
        project_id = self._open.any(self._chance)
        if project_id is None:
            return
        talk = self._do("POST", f"/projects/{project_id}/conversations", {}, may_be_refused=True)
        while talk is not None and talk["status"] == "active":
            if self._chance.random() < 0.05:
                return
            answer = self._answer(talk["step"]["block"])
            path = f"/conversations/{talk['id']}/answers"
            talk = self._do("POST", path, answer, may_be_refused=True)
        if talk is not None:
            status, seen = self._caller.ask("GET", f"/responses/{talk['id']}")
            self._deeds.note("response.submitted", talk["id"], seen if status == 200 else None)
            self._responses.append(talk["id"])

    def _answer(self, block: dict[str, Any]) -> dict[str, Any]:
        if block["options"]:
            return {"block_id": block["id"], "option_id": self._chance.choice(block["options"])["id"]}
        value = self._chance.randint(1, 7) if block["type"] == "opinion_scale" else "Because. “Ü” \U0001f600"
        return {"block_id": block["id"], "value": value}

    def _delete_response(self) -> None:
        """Its project may be gone with all its responses."""
        if self._responses:
            response_id = self._responses.pop(self._chance.randrange(len(self._responses)))
            if self._do("DELETE", f"/responses/{response_id}", may_be_refused=True) is not None:
                self._deeds.note("response.deleted", response_id)

    def _schedule(self) -> None:
        """A project that will open and close by the clock, and is then left alone."""
        project_id = self._create({})
        if project_id is None:
            return
        opening = datetime.now(UTC) + timedelta(seconds=self._chance.uniform(1, 4))
        closing = opening + timedelta(seconds=self._chance.uniform(0.1, 3))
        times = {"opening": opening, "closing": closing}
        scheduled = {name: {"mode": "scheduled", "time": time.isoformat()} for name, time in times.items()}
        body = {"delivery": {**OPEN, **scheduled}}
        # Refused where the opening has come before the request went through.
        if self._do("POST", f"/projects/{project_id}/open", body, may_be_refused=True) is not None:
            self._deeds.note("project.opened", project_id)
            self._deeds.note("project.closed", project_id)
            self._scheduled.append(project_id)

    def _rename_scheduled(self) -> None:
        """A change brings the project up to the moment too, beside the scheduler."""
        for project_id in self._scheduled[-3:]:
            self._do("PATCH", f"/projects/{project_id}", {"name": f"Renamed {self._chance.random()}"})

    def _do(self, method: str, path: str, body: object = None, *, may_be_refused: bool = False) -> Any:
        """What was answered, or None where it was refused."""
        status, told = self._caller.ask(method, path, body)
        if 200 <= status < 300:
            return told or {}
        if not (may_be_refused and status in (400, 404, 409)):
            self._deeds.fault(f"{method} {path} answered {status}: {told}.")
        return None


@contextmanager
def load(deeds: Deeds, *, port: int, community_id: int, keys: Sequence[str], seed: int) -> Iterator[None]:
    """Clients at work; at the end each finishes what it began."""
    stop, projects = threading.Event(), OpenProjects()
    threads = []
    for number in range(CLIENTS):
        chance = random.Random(f"{seed} {number}")
        caller = Caller(port=port, community_id=community_id, keys=keys[number::CLIENTS], chance=chance)
        client = Client(caller, deeds, projects, chance)
        threads.append(threading.Thread(target=client.work, args=[stop]))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
