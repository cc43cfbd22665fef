"""Kills a process at each step of a write: its effect and its stored response exist both, or neither."""

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from communities.gate import idempotency
from communities.models import ApiKey, IdempotentRequest
from communities.services.api_keys import keys
from tests.support.api_keys import count_keys, make_key, outcome
from tests.support.caller import Caller
from tests.support.kills import die, dying_after, in_a_process_that_dies

pytestmark = pytest.mark.django_db(transaction=True)


STEPS = {
    "before the claim": (idempotency, "_claim", die, False),
    "after the claim": (idempotency, "_claim", dying_after(idempotency._claim), False),
    "in the middle of the work": (keys, "digest_of", die, False),
    "after the work": (idempotency, "_store", die, False),
    "after the answer was stored": (idempotency, "_store", dying_after(idempotency._store), False),
    "before the commit": (BaseDatabaseWrapper, "commit", die, False),
    "after the commit": (BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit), True),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_leaves_all_or_nothing(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, deadly, is_done = STEPS[step]
    caller = Caller()

    with monkeypatch.context() as killing:
        killing.setattr(where, name, deadly)
        in_a_process_that_dies(lambda: make_key(caller))

    assert connection.connection is None
    assert (count_keys(), IdempotentRequest.objects.count()) == ((1, 1) if is_done else (0, 0))

    again, once_more = make_key(caller), make_key(caller)

    assert outcome(again) == (201, again.content, is_done)
    assert outcome(once_more) == (201, again.content, True)
    assert count_keys() == 1
    assert ApiKey.objects.get(name="Made once").digest == keys.digest_of(again.json()["key"])
