"""gunicorn's configuration: two processes of four threads, on this machine alone unless BIND is set."""

import gc
import os
import shutil
import signal
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

from django.conf import settings

from config import servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

bind = f"[{settings.BIND}]:{settings.PORT}" if ":" in settings.BIND else f"{settings.BIND}:{settings.PORT}"
workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = 4
timeout = 60
graceful_timeout = 30
keepalive = 5
preload_app = True
errorlog = "-"
loglevel = "warning"
control_socket_disable = True

SEND_TIMEOUT = 30  # seconds
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # read by prometheus-client


def when_ready(server: Any) -> None:
    """Set a send timeout, so that a client that stops reading a response is disconnected.

    gunicorn itself waits without limit until a socket is writable, and each connection occupies a thread: a
    few clients that request something large and do not read it would block the site. On Linux, connections
    inherit the timeout from the listening socket; other systems may not support it. A client that reads
    nothing is disconnected after one to three times the timeout; each successful write starts it again.
    """
    timeval = struct.pack("ll", SEND_TIMEOUT, 0)
    for listener in server.LISTENERS:
        with suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)


def pre_fork(server: Any, worker: Any) -> None:
    """Exempt everything loaded so far from garbage collection, which would copy the pages shared by fork."""
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """End a worker process when its master is killed; it would keep the port from the next one."""
    servers.die_with_parent(signal.SIGTERM)


def child_exit(server: Any, worker: Any) -> None:
    """Keep the counters of a process that has ended, and remove its gauges."""
    if METRICS_FOLDER_VARIABLE in os.environ:
        # Imported only here: on import it looks for the variable.
        from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

        mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def _create_metrics_folder() -> None:
    """Create an empty folder for the counters of all processes, before prometheus-client is imported."""
    folder = settings.VAR_DIR / "metrics"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        sys.exit(f"METRICS is on, but {folder} cannot be created: set VAR_DIR to another folder.")
    os.environ[METRICS_FOLDER_VARIABLE] = str(folder)


# The variable is set already when gunicorn reads this file again to reload.
if settings.METRICS and METRICS_FOLDER_VARIABLE not in os.environ:
    _create_metrics_folder()
