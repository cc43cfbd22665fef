"""gunicorn's configuration: two processes of four threads, reachable only from this machine unless BIND is
set.

`config.web.worker` prevents slow clients from occupying the threads. The README.md in this folder describes
the benefit.
"""

import fcntl
import gc
import itertools
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from gunicorn import glogging, systemd

from config import servers

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# A process has at most this many other open files: the program, the log, the databases, static files.
OTHER_FILES = 150
LONGEST_WARNING = 500  # A longer warning, in characters, is cut.
METRICS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client reads this variable.
# The number of this process among those of the machine. The next process takes the number of a process that
# has ended.
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
# A process that stops finishes what it has begun: a large export takes minutes. A supervisor may be stricter.
graceful_timeout = 300
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


def pre_exec(server: Any) -> None:
    """Start the master of the next version as a module, as this one was started.

    gunicorn would start its file `__main__.py`. Python would then look for modules in the folder of that file
    first, and take gunicorn's `http` for its own.
    """
    python, _, *arguments = server.START_CTX["args"]
    server.START_CTX["args"] = [python, "-m", "gunicorn", *arguments]


def when_ready(server: Any) -> None:
    """Take over from the master that has started this one because of USR2 (rule 12.580).

    Both listen on the same socket, so no connection is refused. The earlier master ends once its processes
    have answered their requests. A version that cannot start does not get here, so the earlier one stays.
    """
    if server.master_pid and server.master_pid == os.getppid():
        systemd.sd_notify(f"MAINPID={server.pid}", server.log)
        os.kill(server.master_pid, signal.SIGTERM)


def pre_fork(server: Any, worker: Any) -> None:
    """Exempt all loaded objects from garbage collection, which would copy the memory pages that forked
    processes share.
    """
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """Make a worker process end when its master is killed; otherwise the port would remain in use."""
    servers.die_with_parent(signal.SIGTERM)
    if settings.METRICS:
        os.environ[SLOT_VARIABLE] = str(_take_slot(Path(os.environ[METRICS_FOLDER_VARIABLE])))


def _take_slot(folder: Path) -> int:
    """Take the first number that no living process has. The system releases it when this process ends."""
    return next(slot for slot in itertools.count() if _is_taken(folder / f"slot_{slot}"))


def _is_taken(file: Path) -> bool:
    """Lock a file for the life of this process; return whether no other process has the lock."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True


def _open_metrics_folder() -> None:
    """Set the folder for the counters of all processes of this machine, before prometheus-client is imported.

    Several masters share the folder: two groups of web processes, or two versions during an upgrade. Each
    locks it for its life, so only a master that is alone empties it.
    """
    folder = settings.VAR_DIR / "metrics"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for file in folder.glob("*.db"):
                file.unlink()
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        sys.exit(f"METRICS is on, but {folder} cannot be created: set VAR_DIR to another folder.")
    os.environ[METRICS_FOLDER_VARIABLE] = str(folder)


# The variable is already set when gunicorn reads this file again to reload.
if settings.METRICS and METRICS_FOLDER_VARIABLE not in os.environ:
    _open_metrics_folder()
