"""Example webhooks and deliveries for the OpenAPI description."""

from typing import Any

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwrTb5Y0mQ3nA="
WEBHOOK: dict[str, Any] = {
    "id": "4",
    "community_id": "710000000000000001",
    "name": "Results to the club's board",
    "url": "https://example.com/colloquy",
    "events": ["project.opened", "response.submitted"],
    "project_ids": None,
    "secret_prefix": "whsec_MfKQ",
    "is_active": True,
    "created_at": "2026-01-31T09:30:00Z",
    "updated_at": "2026-01-31T09:30:00Z",
    "disabled_reason": None,
}
WEBHOOK_REQUEST = {field: WEBHOOK[field] for field in ("name", "url", "events")}
NEW_WEBHOOK = WEBHOOK | {"secret": SECRET}
RENAMED_WEBHOOK = WEBHOOK | {"name": "The board", "updated_at": "2026-02-01T08:00:00Z"}

DELIVERY: dict[str, Any] = {
    "id": "0b9f6d0e-6f0a-4a53-9a0e-2d9c3f1f8b55",
    "webhook_id": "4",
    "event_type": "webhook.ping",
    "event_id": "5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11",
    "status": "failed",
    "attempt_count": 2,
    "response_status": 503,
    "response_body": "Back soon.",
    "last_attempt_at": "2026-01-31T10:00:06Z",
    "next_retry_at": "2026-01-31T10:05:21Z",
    "created_at": "2026-01-31T10:00:00Z",
    "error": None,
}
PENDING_DELIVERY = DELIVERY | {
    "id": "c2f3a9c4-1c1f-4f3c-8d6b-6a1de0a4e1b7",
    "status": "pending",
    "attempt_count": 0,
    "response_status": None,
    "response_body": None,
    "last_attempt_at": None,
    "next_retry_at": None,
}
ATTEMPTS = [
    {
        "attempted_at": "2026-01-31T10:00:00Z",
        "response_status": None,
        "error": "The endpoint could not be reached.",
        "milliseconds": 12,
    },
    {
        "attempted_at": "2026-01-31T10:00:06Z",
        "response_status": 503,
        "error": None,
        "milliseconds": 84,
    },
]
PAYLOAD = {
    "id": DELIVERY["event_id"],
    "type": DELIVERY["event_type"],
    "timestamp": "2026-01-31T10:00:00Z",
    "api_version": "v1",
    "community_id": WEBHOOK["community_id"],
    "data": {"webhook": WEBHOOK},
}
