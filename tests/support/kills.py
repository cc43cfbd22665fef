"""Work in a forked process that is killed in the middle of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import connections


def die(*_: Any, **__: Any) -> None:
    """Kill this process, whatever the arguments."""
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, killing this process when it is done."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function(*args, **kwargs)
        die()

    return wrapped


def in_a_process_that_dies(work: Callable[[], object]) -> None:
    """Run `work` in a forked process. Fails unless the process is killed by it."""
    connections.close_all()  # or both processes would share one socket
    child = os.fork()
    if child == 0:
        try:
            _forget_connections()
            work()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "The process went on to the end."
    assert os.WTERMSIG(status) == signal.SIGKILL


def _forget_connections() -> None:
    """Forget the parent's connections. The fork shares their sockets, so the server would not notice its end.

    While a browser runs, the parent has other connections, because of Playwright's event loop. The fork finds
    the connections from before the browser's start.
    """
    for name in connections:
        with suppress(AttributeError):
            del connections[name]
