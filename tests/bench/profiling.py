"""The same rows in this process, under Python's profiler. It shows shares of the time, not durations."""

import cProfile
import io
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from http.cookies import SimpleCookie
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.wsgi import get_wsgi_application

from tests.bench.client import Client, Failed, Reply

HOTTEST = 45
OUR_ROOMS = ("config", "communities", "surveys", "webhooks", "xp")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Way:
    """The files of the program that a request enters.

    `entered` says how often the way goes to each file from another one; its sum is the number of changes.
    """

    entered: Counter[str]

    @property
    def changes(self) -> int:
        return self.entered.total()

    def told(self) -> str:
        return f"{len(self.entered)} files, {self.changes} changes of file"


def way(job: Callable[[], object]) -> Way:
    """The way that a job takes through our files. Functions of libraries in between do not count."""
    entered, stack = Counter[str](), [""]

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            file = _ours(frame.f_code.co_filename) or stack[-1]
            if file != stack[-1]:
                entered[file] += 1
            stack.append(file)
        elif event == "return" and len(stack) > 1:
            stack.pop()

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return Way(entered)


@cache
def _ours(file: str) -> str:
    """The path of a file of the program below the repository; empty for others."""
    path = Path(file)
    inside = path.relative_to(ROOT) if path.is_relative_to(ROOT) else Path()
    return str(inside) if inside.parts[:1] and inside.parts[0] in OUR_ROOMS else ""


class Here:
    """Stands for a site: requests are calls of the application, profiled between two looks at the clock."""

    def __init__(self, *, profiles: bool = False) -> None:
        self._profiler = cProfile.Profile(time.process_time) if profiles else None  # waiting is not our time
        self._is_measuring = False

    def client(self, *, connections: int = 4) -> Client:
        return InProcess()

    def cpu_ms(self) -> float:
        self._is_measuring = not self._is_measuring
        if self._profiler is not None:
            (self._profiler.enable if self._is_measuring else self._profiler.disable)()
        return time.process_time() * 1000

    def tell(self) -> None:
        """Print the hottest functions, by their own time and by all below them."""
        assert self._profiler is not None
        statistics = pstats.Stats(self._profiler)
        for order in ("tottime", "cumulative"):
            statistics.sort_stats(order).print_stats(HOTTEST)


class InProcess(Client):
    """Calls the application in this process."""

    def __init__(self) -> None:
        self.origin = "http://127.0.0.1:8000"
        self._application = get_wsgi_application()

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        expect: int = 200,
    ) -> Reply:
        name, _, query = path.partition("?")
        environment: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": name,
            "QUERY_STRING": query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8000",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1:8000",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
        }
        for header, value in (headers or {}).items():
            key = header.upper().replace("-", "_")
            environment[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        told: dict[str, Any] = {}

        def start(status: str, sent: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
            told.update(status=int(status.split()[0]), headers=sent)
            return lambda _: None

        response = self._application(environment, start)
        content = b"".join(response)
        response.close()
        cookies: dict[str, str] = {}
        for key, value in told["headers"]:
            if key.lower() == "set-cookie":
                cookies |= {name: morsel.value for name, morsel in SimpleCookie(value).items()}
        if told["status"] != expect:
            raise Failed(f"{method} {path} answered {told['status']} instead of {expect}: {content[:600]!r}")
        return Reply(told["status"], {k.lower(): v for k, v in told["headers"]}, cookies, content)
