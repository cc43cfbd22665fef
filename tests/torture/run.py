"""One run: clients make changes, programs are killed, deliveries finish, and everything is checked."""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.utils import timezone

from communities.models import Community, CommunitySettings
from communities.services.api_keys import keys
from communities.services.people import members
from tests.bench.client import Client, Failed
from tests.torture.caller import Caller
from tests.torture.changes import ChangeLog
from tests.torture.checks import not_recovered, read_events, violations
from tests.torture.completion import wait_until_delivered
from tests.torture.kills import rounds as kill_in_rounds
from tests.torture.load import load
from tests.torture.receiver import Endpoint, Receiver
from tests.torture.supervisor import Supervisor
from tests.torture.table import table

COMMUNITY_ID = 1042117710208434001
KEYS = 48
SECONDS_TO_START = 60
SECONDS_TO_FINISH = 120
MAX_VIOLATIONS_SHOWN = 20


def torture(supervisor: Supervisor, *, port: int, rounds: int, seconds: float, seed: int) -> int:
    """Run the test. Returns the exit code: 0 if there are no violations."""
    rng, changes = random.Random(seed), ChangeLog()
    healthy = Endpoint("healthy", ["*"])
    answering = [
        healthy,
        Endpoint("choosy", ["response.submitted", "project.closed"]),
        Endpoint("flaky", ["*"], is_flaky=True),
        Endpoint("slow", ["*"], seconds=0.05),
    ]
    dead = Endpoint("dead", ["*"])
    secrets = _community_with_keys()
    with Receiver(answering) as receiver, _closed_port() as closed_port:
        _wait_until_it_answers(supervisor, port)
        caller = Caller(port=port, community_id=COMMUNITY_ID, keys=secrets[:1], rng=rng)
        for endpoint in answering:
            _register(caller, endpoint, receiver.url(endpoint))
        _register(caller, dead, f"http://127.0.0.1:{closed_port}/")
        with load(changes, port=port, community_id=COMMUNITY_ID, keys=secrets[1:], seed=seed):
            kills = kill_in_rounds(
                supervisor, count=rounds, seconds=seconds, rng=rng, has_news=healthy.has_news_since
            )
        started = time.monotonic()
        shortened_waits, finished_at = wait_until_delivered(
            supervisor, answering, dead, seconds=SECONDS_TO_FINISH
        )
        seconds_to_finish = time.monotonic() - started
    events = read_events()
    sys.stdout.write(table(events, kills, answering, shortened_waits=shortened_waits))
    violation_list = [*not_recovered(kills), *violations(events, changes, answering, dead, finished_at)]
    _report(violation_list, seconds_to_finish)
    return 1 if violation_list else 0


def _report(violation_list: Sequence[str], seconds: float) -> None:
    lines = "".join(f"VIOLATION  {violation[:400]}\n" for violation in violation_list[:MAX_VIOLATIONS_SHOWN])
    sys.stdout.write(f"All delivered after {seconds:.1f} s. {len(violation_list)} violations.\n{lines}")


def _community_with_keys() -> list[str]:
    community = Community.objects.create(id=COMMUNITY_ID, name="Tortured", tier="custom")
    CommunitySettings.objects.create(community=community)
    at = timezone.now()
    admin = members.create_member(community_id=COMMUNITY_ID, name="Admin", access="admin", at=at)
    return [
        keys.create_key(actor=None, community_id=COMMUNITY_ID, user_id=admin.user_id, name=f"Key {n}", at=at)[
            1
        ]
        for n in range(KEYS)
    ]


def _wait_until_it_answers(supervisor: Supervisor, port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            Client(port, connections=1).call("GET", "/readyz")
        except (OSError, EOFError, Failed):
            supervisor.watch(0.1)
        else:
            return
    raise SystemExit("The web server did not start.")


def _register(caller: Caller, endpoint: Endpoint, url: str) -> None:
    status, webhook = caller.request("POST", "/webhooks", {"url": url, "events": endpoint.events})
    assert status == 201, f"Registering {endpoint.name} answered {status}: {webhook}"
    endpoint.webhook_id, endpoint.secret = int(webhook["id"]), webhook["secret"]


@contextmanager
def _closed_port() -> Iterator[int]:
    """A port on which nothing listens until the end."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
