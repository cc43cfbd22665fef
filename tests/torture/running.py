"""One run: clients work, programs are killed, all settles, everything is checked."""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.utils import timezone

from communities.models import Community, CommunitySettings
from communities.services import keys, members
from tests.bench.client import Client, Failed
from tests.torture.caller import Caller
from tests.torture.checks import not_recovered, stored_events, violations
from tests.torture.deeds import Deeds
from tests.torture.kills import rounds as kill_in_rounds
from tests.torture.load import load
from tests.torture.programs import Keeper
from tests.torture.receiver import Endpoint, Receiver
from tests.torture.settling import settle
from tests.torture.table import table

COMMUNITY_ID = 1042117710208434001
KEYS = 48
SECONDS_TO_START = 60
SECONDS_TO_SETTLE = 120
MOST_VIOLATIONS_TOLD = 20


def torture(keeper: Keeper, *, port: int, rounds: int, seconds: float, seed: int) -> int:
    """The exit code: 0 where nothing was violated."""
    chance, deeds = random.Random(seed), Deeds()
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
        _wait_until_it_answers(keeper, port)
        caller = Caller(port=port, community_id=COMMUNITY_ID, keys=secrets[:1], chance=chance)
        for endpoint in answering:
            _register(caller, endpoint, receiver.url(endpoint))
        _register(caller, dead, f"http://127.0.0.1:{closed_port}/")
        with load(deeds, port=port, community_id=COMMUNITY_ID, keys=secrets[1:], seed=seed):
            kills = kill_in_rounds(
                keeper, count=rounds, seconds=seconds, chance=chance, has_news=healthy.has_news_since
            )
        begun = time.monotonic()
        hastened = settle(keeper, answering, dead, seconds=SECONDS_TO_SETTLE)
        settled = time.monotonic() - begun
    events = stored_events()
    sys.stdout.write(table(events, kills, answering, hastened=hastened))
    found = [*not_recovered(kills), *violations(events, deeds, answering, dead)]
    _tell(found, settled)
    return 1 if found else 0


def _tell(found: Sequence[str], settled: float) -> None:
    told = "".join(f"VIOLATION  {violation[:400]}\n" for violation in found[:MOST_VIOLATIONS_TOLD])
    sys.stdout.write(f"Settled in {settled:.1f} s. {len(found)} violations.\n{told}")


def _community_with_keys() -> list[str]:
    community = Community.objects.create(id=COMMUNITY_ID, name="Tortured", tier="custom")
    CommunitySettings.objects.create(community=community)
    at = timezone.now()
    admin = members.create_member(community_id=COMMUNITY_ID, name="Admin", access="admin", at=at)
    return [
        keys.create_key(community_id=COMMUNITY_ID, user_id=admin.user_id, name=f"Key {n}", at=at)[1]
        for n in range(KEYS)
    ]


def _wait_until_it_answers(keeper: Keeper, port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            Client(port, connections=1).call("GET", "/readyz")
        except (OSError, EOFError, Failed):
            keeper.keep(0.1)
        else:
            return
    raise SystemExit("The web server did not start.")


def _register(caller: Caller, endpoint: Endpoint, url: str) -> None:
    status, webhook = caller.ask("POST", "/webhooks", {"url": url, "events": endpoint.events})
    assert status == 201, f"Registering {endpoint.name} answered {status}: {webhook}"
    endpoint.webhook_id, endpoint.secret = int(webhook["id"]), webhook["secret"]


@contextmanager
def _closed_port() -> Iterator[int]:
    """Where nobody listens, as long as this lasts."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])
