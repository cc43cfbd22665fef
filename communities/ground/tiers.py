"""The rate limit and the features of each tier (rules 1.45, 1.46 and 11.15)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    requests_per_minute: int
    has_premium_features: bool

    @property
    def idempotency_bytes(self) -> int:
        """The bytes of responses that are stored for the Idempotency-Keys of one API key in 24 hours.

        This is enough for a day of requests without a pause, each with a response of `BYTES_OF_A_RESPONSE`.
        """
        return self.requests_per_minute * 24 * 60 * BYTES_OF_A_RESPONSE


BYTES_OF_A_RESPONSE = 2_048  # The size of a response with its row. An answer in a conversation takes less.
TIERS = {
    "basic": Tier(requests_per_minute=60, has_premium_features=False),
    "premium": Tier(requests_per_minute=300, has_premium_features=True),
    "vip": Tier(requests_per_minute=600, has_premium_features=True),
    "custom": Tier(requests_per_minute=1000, has_premium_features=True),
}
REQUESTS_PER_MINUTE_WITHOUT_KEY = 60
REQUESTS_PER_MINUTE_OF_TOKEN = 60
PREFLIGHTS_PER_MINUTE = 600  # from one address
