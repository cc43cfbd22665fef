"""System checks: Django does not start while tables kept in different places disagree."""

from __future__ import annotations

import pytest
from django.core import checks

from communities.api.settings import SettingsViewSet
from communities.ground.actors import Role
from communities.ground.tiers import TIERS, Tier


def ids() -> list[str | None]:
    return [each.id for each in checks.run_checks() if str(each.id).startswith("communities.")]


def test_all_tables_agree() -> None:
    assert ids() == []


def test_a_tier_without_a_rate_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TIERS, "vip")

    assert ids() == ["communities.E001"]


def test_a_rate_without_a_tier_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TIERS, "gold", Tier(requests_per_minute=1, has_premium_features=False))

    assert ids() == ["communities.E002"]


def test_an_action_without_a_least_role_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SettingsViewSet.least_role, "retrieve")

    assert ids() == ["communities.E003"]


def test_a_least_role_without_an_action_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SettingsViewSet.least_role, "burn", Role.ADMIN)

    assert ids() == ["communities.E004"]
