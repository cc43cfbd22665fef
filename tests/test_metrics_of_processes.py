"""The metrics of several processes, which the scraped process adds up."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.metrics import DURATION, Samples, parse_samples, value

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 120  # seconds


@contextmanager
def serve(var_dir: Path, **environment: str) -> Iterator[tuple[str, int]]:
    """Serve the site with gunicorn; yields its address and the id of gunicorn's process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--config", "config/web/gunicorn.py", "config.wsgi"],
        cwd=ROOT,
        env={
            **os.environ,
            "VAR_DIR": str(var_dir),
            "PORT": str(port),
            "LOG_LEVEL": "CRITICAL",
            "WEB_CONCURRENCY": "2",
            **environment,
        },
        stdin=subprocess.DEVNULL,
    )
    site = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is None and get(f"{site}/docs")[0] == 200)
        yield site, process.pid
    finally:
        process.terminate()
        process.wait(timeout=LIMIT)


def get(address: str) -> tuple[int, str]:
    """Status and text of the response; status 0 if there is none."""
    try:
        with urllib.request.urlopen(address, timeout=LIMIT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processes(var_dir: Path) -> set[int]:
    """The numbers of processes that have counted a request."""
    return {int(file.stem.split("_")[1]) for file in (var_dir / "metrics").glob("histogram_[0-9]*.db")}


def asked(samples: Samples) -> float | None:
    return value(samples, f"{DURATION}_count", method="GET", route="healthz", status=200)


def test_all_processes_are_added_up_including_a_dead_one(tmp_path: Path) -> None:
    left_over = tmp_path / "metrics" / "counter_99.db"
    left_over.parent.mkdir()
    left_over.write_bytes(b"of an earlier start")
    requests = 0
    with serve(tmp_path, METRICS="true") as (site, pid):

        def ask_until_two_have_counted() -> bool:
            nonlocal requests
            requests += get(f"{site}/healthz")[0] == 200
            return len(processes(tmp_path)) == 2

        wait_until(ask_until_two_have_counted)
        both = parse_samples(get(f"{site}/metrics")[1])
        killed, _ = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        os.kill(int(killed), signal.SIGKILL)
        answers = [get(f"{site}/metrics") for _ in range(3)]

    assert not left_over.exists()
    assert asked(both) == requests
    assert {asked(parse_samples(text)) for status, text in answers if status == 200} == {requests}
    assert value(both, "colloquy_rate_limit_calls_let_through_total") == 0


def test_two_groups_of_processes_on_one_folder_add_up(tmp_path: Path) -> None:
    """Rule 12.583."""
    one = {"METRICS": "true", "WEB_CONCURRENCY": "1"}
    with serve(tmp_path, **one) as (first, _):
        answers = [get(f"{first}/healthz")[0]]
        with serve(tmp_path, **one) as (second, _):
            answers += [get(f"{site}/healthz")[0] for site in (first, second, second)]
            both = [asked(parse_samples(get(f"{site}/metrics")[1])) for site in (first, second)]
            counting = processes(tmp_path)
        after = asked(parse_samples(get(f"{first}/metrics")[1]))

    assert answers == [200] * 4
    assert [*both, after] == [4, 4, 4]
    assert counting == {0, 1}


def test_nothing_is_stored_if_metrics_are_off(tmp_path: Path) -> None:
    with serve(tmp_path) as (site, _):
        status, _ = get(f"{site}/metrics")

    assert status == 404
    assert not (tmp_path / "metrics").exists()


def test_a_folder_that_cannot_be_created_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    started = subprocess.run(
        [sys.executable, "-m", "gunicorn", "--config", "config/web/gunicorn.py", "config.wsgi"],
        cwd=ROOT,
        env={**os.environ, "METRICS": "true", "VAR_DIR": str(tmp_path / "file")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert started.returncode == 1
    assert started.stderr.startswith("METRICS is on, but ")
    assert started.stderr.count("\n") == 1
