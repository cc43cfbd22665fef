"""A process is really killed at each step of a write: the effect and its memory are both there or neither."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from communities.http import idempotency
from communities.models import ApiKey, IdempotentRequest
from communities.services import keys
from tests.communities.test_idempotency import made, make, told
from tests.support.caller import Caller

pytestmark = pytest.mark.django_db(transaction=True)


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying_after(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        function(*args, **kwargs)
        die()

    return wrapped


STEPS = {
    "before the claim": (idempotency, "_claim", die, False),
    "after the claim": (idempotency, "_claim", dying_after(idempotency._claim), False),
    "in the middle of the work": (keys, "digest_of", die, False),
    "after the work": (idempotency, "_remember", die, False),
    "after the answer was stored": (idempotency, "_remember", dying_after(idempotency._remember), False),
    "before the commit": (BaseDatabaseWrapper, "commit", die, False),
    "after the commit": (BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit), True),
}


def in_a_process_that_dies(work: Callable[[], object]) -> None:
    """Run in a fork, which has to be killed by what it does."""
    connections.close_all()  # or both would talk over one socket
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
    """Those of a fork's parent, whose sockets it holds as well: the server would not see that this one dies.

    Where a browser runs, Django finds other connections in the parent (under Playwright's event loop, which
    counts as running there alone) than here, where it finds those of the time before the browser.
    """
    for name in connections:
        with suppress(AttributeError):
            del connections[name]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_leaves_all_or_nothing(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, deadly, is_done = STEPS[step]
    caller = Caller()

    with monkeypatch.context() as killing:
        killing.setattr(where, name, deadly)
        in_a_process_that_dies(lambda: make(caller))

    assert connection.connection is None
    assert (made(), IdempotentRequest.objects.count()) == ((1, 1) if is_done else (0, 0))

    again, once_more = make(caller), make(caller)

    assert told(again) == (201, again.content, is_done)
    assert told(once_more) == (201, again.content, True)
    assert made() == 1
    assert ApiKey.objects.get(name="Made once").digest == keys.digest_of(again.json()["key"])
