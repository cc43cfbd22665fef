"""The load: clients create, open, close and delete projects, answer them, and delete responses."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.torture.caller import Caller, NoResponse
from tests.torture.changes import ChangeLog

CLIENTS = 4
MAX_SECONDS_BETWEEN_ACTIONS = 0.04
MAX_PROJECTS = 8  # of one client at a time
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
    """The ids of projects that any client has opened."""

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

    def any(self, rng: random.Random) -> str | None:
        with self._lock:
            return rng.choice(self._ids) if self._ids else None


class Client:
    """One thread. Only this client changes its projects, but every client answers them."""

    def __init__(
        self, caller: Caller, changes: ChangeLog, projects: OpenProjects, rng: random.Random
    ) -> None:
        self._caller = caller
        self._changes = changes
        self._open = projects
        self._rng = rng
        self._mine: dict[str, bool] = {}  # by id, whether it is open
        self._responses: list[str] = []
        self._scheduled: list[str] = []

    def work(self, stop: threading.Event) -> None:
        actions = {
            self._answer_project: 60,
            self._create_project: 8,
            self._toggle_any: 12,
            self._delete: 3,
            self._delete_response: 8,
            self._schedule: 4,
            self._rename_scheduled: 3,
        }
        while not stop.is_set():
            [action] = self._rng.choices([*actions], [*actions.values()])
            try:
                action()
            except NoResponse as error:
                self._changes.add_error(str(error))
            time.sleep(self._rng.uniform(0, MAX_SECONDS_BETWEEN_ACTIONS))

    def _create_project(self) -> None:
        if len(self._mine) >= MAX_PROJECTS:
            return
        project_id = self._create({"delivery": OPEN})
        if project_id is not None:
            self._mine[project_id] = False
            self._toggle(project_id)

    def _create(self, fields: dict[str, Any]) -> str | None:
        is_poll = self._rng.random() < 0.3
        blocks = [CHOICE] if is_poll else QUESTIONS[: self._rng.randint(1, len(QUESTIONS))]
        body = {
            "name": f"Torture {self._rng.randrange(10**6)}",
            "type": "poll" if is_poll else "convo",
            "script": {"blocks": blocks},
            "settings": {"privacy_mode": self._rng.choice(["transparent", "transparent", "anonymous"])},
            **fields,
        }
        project = self._do("POST", "/projects", body)
        if project is None:
            return None
        self._changes.add("project.created", project["id"], project)
        return str(project["id"])

    def _toggle_any(self) -> None:
        """Open a closed project, or close an open one."""
        if self._mine:
            self._toggle(self._rng.choice([*self._mine]))

    def _toggle(self, project_id: str) -> None:
        is_open = self._mine[project_id]
        if is_open:
            self._open.discard(project_id)
        response = self._do("POST", f"/projects/{project_id}/{'close' if is_open else 'open'}")
        if response is None:
            return
        self._changes.add(f"project.{'closed' if is_open else 'opened'}", project_id)
        self._mine[project_id] = not is_open
        if not is_open:
            self._open.add(project_id)

    def _delete(self) -> None:
        closed = [project_id for project_id, is_open in self._mine.items() if not is_open]
        if closed:
            project_id = self._rng.choice(closed)
            if self._do("DELETE", f"/projects/{project_id}") is not None:
                self._changes.add("project.deleted", project_id)
                del self._mine[project_id]

    def _answer_project(self) -> None:
        """Answer a project to the end, or abandon it. The project may be closed or deleted at any time."""
        project_id = self._open.any(self._rng)
        if project_id is None:
            return
        conversation = self._do("POST", f"/projects/{project_id}/conversations", {}, may_be_refused=True)
        while conversation is not None and conversation["status"] == "active":
            if self._rng.random() < 0.05:
                return
            answer = self._answer(conversation["step"]["block"])
            path = f"/conversations/{conversation['id']}/answers"
            conversation = self._do("POST", path, answer, may_be_refused=True)
        if conversation is not None:
            status, seen = self._caller.request("GET", f"/responses/{conversation['id']}")
            self._changes.add("response.submitted", conversation["id"], seen if status == 200 else None)
            self._responses.append(conversation["id"])

    def _answer(self, block: dict[str, Any]) -> dict[str, Any]:
        if block["options"]:
            return {"block_id": block["id"], "option_id": self._rng.choice(block["options"])["id"]}
        value = self._rng.randint(1, 7) if block["type"] == "opinion_scale" else "Because. “Ü” \U0001f600"
        return {"block_id": block["id"], "value": value}

    def _delete_response(self) -> None:
        """Delete a response, which may have been deleted with its project."""
        if self._responses:
            response_id = self._responses.pop(self._rng.randrange(len(self._responses)))
            if self._do("DELETE", f"/responses/{response_id}", may_be_refused=True) is not None:
                self._changes.add("response.deleted", response_id)

    def _schedule(self) -> None:
        """Create a project that opens and closes on schedule."""
        project_id = self._create({})
        if project_id is None:
            return
        opening = datetime.now(UTC) + timedelta(seconds=self._rng.uniform(1, 4))
        closing = opening + timedelta(seconds=self._rng.uniform(0.1, 3))
        times = {"opening": opening, "closing": closing}
        scheduled = {name: {"mode": "scheduled", "time": time.isoformat()} for name, time in times.items()}
        body = {"delivery": {**OPEN, **scheduled}}
        # Refused if the opening time has passed by the time of the request.
        if self._do("POST", f"/projects/{project_id}/open", body, may_be_refused=True) is not None:
            self._changes.add("project.opened", project_id)
            self._changes.add("project.closed", project_id)
            self._scheduled.append(project_id)

    def _rename_scheduled(self) -> None:
        """Change a project, which applies its schedule too, concurrently with the scheduler."""
        for project_id in self._scheduled[-3:]:
            self._do("PATCH", f"/projects/{project_id}", {"name": f"Renamed {self._rng.random()}"})

    def _do(self, method: str, path: str, body: object = None, *, may_be_refused: bool = False) -> Any:
        """The JSON of the response, or None if the request was refused."""
        status, content = self._caller.request(method, path, body)
        if 200 <= status < 300:
            return content or {}
        if not (may_be_refused and status in (400, 404, 409)):
            self._changes.add_error(f"{method} {path} answered {status}: {content}.")
        return None


@contextmanager
def load(
    changes: ChangeLog, *, port: int, community_id: int, keys: Sequence[str], seed: int
) -> Iterator[None]:
    """Run the clients. At the end each finishes its current action."""
    stop, projects = threading.Event(), OpenProjects()
    threads = []
    for number in range(CLIENTS):
        rng = random.Random(f"{seed} {number}")
        caller = Caller(port=port, community_id=community_id, keys=keys[number::CLIENTS], rng=rng)
        client = Client(caller, changes, projects, rng)
        threads.append(threading.Thread(target=client.work, args=[stop]))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
