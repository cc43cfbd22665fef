"""The start stops where tables that stand apart do not agree."""

from __future__ import annotations

import pytest
from django.core import checks

from communities.http.permissions import ADMIN, LEAST_ROLE
from communities.tiers import TIERS, Tier


def ids() -> list[str | None]:
    return [each.id for each in checks.run_checks() if str(each.id).startswith("communities.")]


def test_in_this_house_all_tables_agree() -> None:
    assert ids() == []


def test_a_tier_without_a_rate_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TIERS, "vip")

    assert ids() == ["communities.E001"]


def test_a_rate_without_a_tier_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TIERS, "gold", Tier(requests_per_minute=1, has_premium_features=False))

    assert ids() == ["communities.E002"]


def test_an_action_without_a_permission_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(LEAST_ROLE, "settings.retrieve")

    assert ids() == ["communities.E003"]


def test_a_permission_without_an_action_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEAST_ROLE, "settings.burn", ADMIN)

    assert ids() == ["communities.E004"]
