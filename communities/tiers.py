"""The rate limit and the features of each tier (interface 5.6 and 8)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    requests_per_minute: int
    has_premium_features: bool


TIERS = {
    "basic": Tier(requests_per_minute=60, has_premium_features=False),
    "premium": Tier(requests_per_minute=300, has_premium_features=True),
    "vip": Tier(requests_per_minute=600, has_premium_features=True),
    "custom": Tier(requests_per_minute=1000, has_premium_features=True),
}
REQUESTS_PER_MINUTE_WITHOUT_KEY = 60
