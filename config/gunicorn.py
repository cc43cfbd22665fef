"""gunicorn serves the site by two processes of four threads, for this machine alone unless BIND is set."""

import gc
import os
import shutil
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from environs import Env, EnvError

from config import servers

bind = f"{os.environ.get('BIND', '127.0.0.1')}:{os.environ.get('PORT', '8000')}"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"
threads = 4
timeout = 60
graceful_timeout = 30
keepalive = 5
preload_app = True
errorlog = "-"
loglevel = "warning"
control_socket_disable = True

SECONDS_TO_READ_SOMETHING = 30  # of an answer that is on its way
FOLDER_OF_METRICS = "PROMETHEUS_MULTIPROC_DIR"  # the variable by which prometheus-client finds it


def when_ready(server: Any) -> None:
    """Who reads nothing of an answer is dropped, after one to three times so long.

    gunicorn waits for ever for room to write on, with a thread for each connection: who asks for something
    large and reads none of it, a few times, would stop the site. On Linux a connection has this from the
    socket that listens; where that is not so, or the time is written otherwise, all is as it was. Each
    write of what it had room for begins the time again.
    """
    time = struct.pack("ll", SECONDS_TO_READ_SOMETHING, 0)
    for listener in server.LISTENERS:
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, time)


def pre_fork(server: Any, worker: Any) -> None:
    """What was loaded by now lives for ever: collecting garbage shall not look at it, nor copy its pages."""
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """A process whose master is killed goes too, or it would hold the port against the next one."""
    servers.die_with_parent(signal.SIGTERM)


def child_exit(server: Any, worker: Any) -> None:
    """What a process that ended has counted stays counted; what it only was is forgotten."""
    if FOLDER_OF_METRICS in os.environ:
        # Only here, for it looks at the environment when it is loaded.
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def _has_metrics() -> bool:
    try:
        return Env().bool("METRICS", False)
    except EnvError:
        return False  # the settings say so


def _begin_metrics() -> None:
    """Name an empty folder in which each process counts, before the site is loaded, which looks for it."""
    root = Path(__file__).resolve().parent.parent
    folder = root / os.environ.get("VAR_DIR", "var") / "metrics"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        sys.exit(f"METRICS is on, and {folder} cannot be made: name another VAR_DIR.")
    os.environ[FOLDER_OF_METRICS] = str(folder)


# It is named already where gunicorn reads this file once more, to start its processes anew.
if _has_metrics() and FOLDER_OF_METRICS not in os.environ:
    _begin_metrics()
