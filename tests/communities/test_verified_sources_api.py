"""GET .../verified_sources (rules 1.18, 1.19 and 1.32)."""

from __future__ import annotations

import pytest

from tests.factories import VerifiedSourceFactory
from tests.support.caller import Caller
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("access", ["admin", "creator", "member"])
def test_everybody_reads_the_sources_of_their_community_oldest_first(access: str) -> None:
    caller = Caller(access)
    VerifiedSourceFactory.create(community=caller.community, label="Ours")
    account = VerifiedSourceFactory.create(
        community=caller.community, provider="game_store", rule="has_account", target="", label="Players"
    )
    VerifiedSourceFactory.create(community=caller.community, removed_at=NOON)
    VerifiedSourceFactory.create()

    body = caller.get("/verified_sources").json()

    assert [each["label"] for each in body["data"]] == ["Ours", "Players"]
    assert body["data"][1] == {
        "id": account.pk,
        "provider": "game_store",
        "rule": "has_account",
        "target": None,
        "label": "Players",
        "created_at": "2026-01-31T12:00:00Z",
    }
    assert body["pagination"] == {"page": 1, "per_page": 25, "total": 2, "has_more": False}
