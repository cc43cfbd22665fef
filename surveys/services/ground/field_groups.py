"""The groups of a project's fields: their empty forms, how a submitted group is merged, and their rules.

A group is plain JSON as in the interface, with every key present; its times are texts like
`2026-01-31T09:30:00Z`. Submitted fields change and the others stay, in nested groups too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from communities.ground import brands
from surveys.engine.script import Violation

Group = dict[str, Any]

_EMPTY: Mapping[str, Group] = {
    "delivery": {"opening": {}, "closing": {}, "audience": {}, "invitation": None},
    "opening": {"mode": "manual", "time": None},
    "closing": {"mode": "manual", "time": None},
    "audience": {
        "participation": "private",
        "response_channel": "web",
        "required_role_ids": [],
        "verified_source_ids": [],
    },
    "invitation": {
        "post_channel_id": None,
        "ping_role_ids": [],
        "message": None,
        "thumbnail_url": None,
        "image_url": None,
        "border_color": None,
        "border_color_closed": None,
        "footer": None,
        "embed_config": None,
        "answer_button_label": None,
        "answer_button_color": None,
    },
    "embed_config": {"info_display": None, "rows": None},
    "rewards": {
        "discord_role_id": None,
        "achievement_id": None,
        "use_xp": None,
        "achievement_enabled": None,
        "achievement_image_url": None,
        "achievement_name": None,
        "achievement_role_id": None,
    },
    "presentation": {
        "theme_id": None,
        "interviewer_id": None,
        "branding": None,
        "chart_emoji": None,
        **dict.fromkeys(brands.FIELDS),
    },
}
PREMIUM_INVITATION = ("border_color_closed", "footer", "answer_button_label", "answer_button_color")


def empty(name: str) -> Group:
    """A group in which nothing has been set, nested groups included."""
    return {
        key: empty(key) if key in _EMPTY and value is not None else deepcopy(value)
        for key, value in _EMPTY[name].items()
    }


def merged(name: str, stored: Group | None, sent: Mapping[str, Any] | None) -> Group | None:
    """The group after a write: null clears the group, an object changes the fields that it contains."""
    if sent is None:
        return None
    group = empty(name) if stored is None else deepcopy(stored)
    for key, value in sent.items():
        if key in _EMPTY:
            group[key] = merged(key, group.get(key), value)
        else:
            group[key] = as_text(value) if isinstance(value, datetime) else value
    return group


def as_text(moment: datetime) -> str:
    """A moment as the interface writes it: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_of(delivery: Group | None, schedule: str) -> datetime | None:
    """The scheduled time of the `opening` or `closing`; None if it is not scheduled."""
    if delivery is None or delivery[schedule]["mode"] != "scheduled" or delivery[schedule]["time"] is None:
        return None
    return datetime.fromisoformat(delivery[schedule]["time"])


def check_delivery(after: Group, *, before: Group | None, at: datetime) -> Iterator[Violation]:
    """The violations in the times of a delivery group that was just written.

    A stored time may be in the past, because clients may send back the values that they read.
    """
    for schedule in ("opening", "closing"):
        path = f"delivery.{schedule}.time"
        if after[schedule]["mode"] == "scheduled" and after[schedule]["time"] is None:
            yield Violation(path, "required", f"`{path}` is required where `mode` is `scheduled`.")
        moment = time_of(after, schedule)
        if moment and moment <= at and moment != time_of(before, schedule):
            yield Violation(path, "in_past", f"`{path}` must lie in the future.")
    yield from check_order(after)


def check_order(delivery: Group) -> Iterator[Violation]:
    """A scheduled closing has to follow a scheduled opening."""
    opening, closing = time_of(delivery, "opening"), time_of(delivery, "closing")
    if opening and closing and closing <= opening:
        path = "delivery.closing.time"
        yield Violation(path, "invalid", f"`{path}` must be later than `delivery.opening.time`.")


def pinged_roles(delivery: Group | None) -> list[str]:
    """The roles that the first post of a project notifies."""
    return ((delivery or {}).get("invitation") or {}).get("ping_role_ids") or []


def premium_fields_changed(after: Group | None, before: Group | None) -> list[str]:
    """Paths of premium invitation fields that get a new value (rule 1.45)."""
    new = (after and after["invitation"]) or {}
    old = (before and before["invitation"]) or {}
    return [
        f"delivery.invitation.{key}"
        for key in PREMIUM_INVITATION
        if new.get(key) is not None and new.get(key) != old.get(key)
    ]
