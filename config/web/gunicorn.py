"""gunicorn's configuration: two processes of four threads, reachable only from this machine unless BIND is
set.

`config.web.worker` prevents slow clients from occupying the threads. The README.md in this folder describes
the benefit.
"""

import gc
import itertools
import os
import resource
import shutil
import signal
import sys
from typing import Any

from django.conf import settings
from gunicorn import glogging

from config import servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A process has at most this many other open files: the program, the log, the databases, static files.
OTHER_FILES = 150
LONGEST_WARNING = 500  # A longer warning, in characters, is cut.
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client reads this variable.
# The number of this process. The next process takes the number of a process that has ended.
SLOT_VARIABLE = "COLLOQUY_WEB_SLOT"


class Logger(glogging.Logger):  # type: ignore[misc] # gunicorn has no types
    """Logs gunicorn's messages in the format of our other lines."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True

    def warning(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Log the beginning of a warning.

        A warning may quote a line of a request's header, which may be long.
        """
        super().warning(msg[:LONGEST_WARNING], *args, **kwargs)


def _possible_connections() -> int:
    """Return WEB_CONNECTIONS, or a smaller number if a process may not open so many files."""
    wanted, (_, files) = settings.WEB_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)
    possible = wanted if files == resource.RLIM_INFINITY else min(wanted, files - OTHER_FILES)
    if possible < min(wanted, OTHER_FILES):
        sys.exit(f"A process may open only {files} files: allow more with `ulimit -n`.")
    if possible < wanted:
        sys.stderr.write(
            f"A web process serves {possible} connections instead of {wanted}, because it may open only "
            f"{files} files: allow more with `ulimit -n`, or set WEB_CONNECTIONS.\n"
        )
    return possible


bind = f"[{settings.BIND}]:{settings.PORT}" if ":" in settings.BIND else f"{settings.BIND}:{settings.PORT}"
workers = settings.WEB_CONCURRENCY
worker_class = "gthread" if settings.WEB_WORKER == "gthread" else "config.web.worker.WebWorker"
threads = 4
max_requests = settings.WEB_MAX_REQUESTS
max_requests_jitter = max_requests // 4  # The jitter ensures that the processes do not end at the same time.
worker_connections = _possible_connections()
limit_request_line = 8190  # This is the highest possible value, because an address may contain answers.
timeout = 60
graceful_timeout = 30
preload_app = True
logger_class = Logger
loglevel = "warning"
control_socket_disable = True
# No SCRIPT_NAME of a proxy is accepted, because a proxy on this machine might forward the client's.
forwarder_headers = ""


def on_starting(server: Any) -> None:
    """Allow this process and its workers to open a file for each of their connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = worker_connections + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def pre_fork(server: Any, worker: Any) -> None:
    """Exempt all loaded objects from garbage collection, which would copy the memory pages that forked
    processes share.
    """
    gc.collect()
    gc.freeze()
    taken = {each.slot for each in server.WORKERS.values()}
    worker.slot = next(slot for slot in itertools.count() if slot not in taken)


def post_fork(server: Any, worker: Any) -> None:
    """Make a worker process end when its master is killed; otherwise the port would remain in use."""
    servers.die_with_parent(signal.SIGTERM)
    os.environ[SLOT_VARIABLE] = str(worker.slot)


def _create_metrics_folder() -> None:
    """Create an empty folder for the counters of all processes, before prometheus-client is imported."""
    folder = settings.VAR_DIR / "metrics"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        sys.exit(f"METRICS is on, but {folder} cannot be created: set VAR_DIR to another folder.")
    os.environ[METRICS_FOLDER_VARIABLE] = str(folder)


# The variable is already set when gunicorn reads this file again to reload.
if settings.METRICS and METRICS_FOLDER_VARIABLE not in os.environ:
    _create_metrics_folder()
