"""gunicorn serves the site by two processes of four threads, for this machine alone unless BIND is set."""

import gc
import os
from typing import Any

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


def pre_fork(server: Any, worker: Any) -> None:
    """What was loaded by now lives for ever: collecting garbage shall not look at it, nor copy its pages."""
    gc.collect()
    gc.freeze()
