"""Applies the submitted fields to a project in memory, and reports violations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from surveys.engine.script import Violation
from surveys.models import Project
from surveys.models.project import SETTINGS
from surveys.services.ground import field_groups, metadata

PRIVACY_BY_DEFAULT = {
    None: (Project.PrivacyMode.TRANSPARENT, False),
    "no": (Project.PrivacyMode.TRANSPARENT, False),
    "yes": (Project.PrivacyMode.ANONYMOUS, False),
    "more_anonymous": (Project.PrivacyMode.ANONYMOUS, True),
}
_PLAIN_SETTINGS = [name for name in SETTINGS if name not in ("privacy_mode", "end")]


def apply_fields(
    project: Project,
    fields: Mapping[str, Any],
    *,
    default_privacy: tuple[str, bool],
    at: datetime,
) -> list[Violation]:
    """Apply the submitted fields to a project in memory. Returns the violations."""
    violations: list[Violation] = []
    if "name" in fields:
        project.name = fields["name"]
    if "is_cloneable" in fields:  # read-only in the API; staff set it (rule 1.40)
        project.is_cloneable = fields["is_cloneable"]
    settings = fields.get("settings") or {}
    for key in _PLAIN_SETTINGS:
        if key in settings:
            setattr(project, key, settings[key])
    if "end" in settings:
        violations += _apply_end(project, settings["end"])
    violations += _apply_privacy(project, fields, default_privacy)
    if "hidden_fields" in settings or project.hidden_fields:
        violations += metadata.faults(project)
    for name in ("rewards", "presentation"):
        if name in fields:
            setattr(project, name, field_groups.merged(name, getattr(project, name), fields[name]))
    if "delivery" in fields:
        violations += apply_delivery(project, fields["delivery"], at=at)
    violations += _apply_scoring(project, fields)
    return violations


def _apply_end(project: Project, sent: Mapping[str, Any] | None) -> list[Violation]:
    """Merge the submitted fields of `settings.end` into the stored ones; null clears them."""
    path = "settings.end.url"
    if sent is None:
        project.end = None
        return []
    project.end = {"url": None, "label": None, "redirect": False, **(project.end or {}), **sent}
    return [] if project.end["url"] else [Violation(path, "required", f"`{path}` is required.")]


def apply_delivery(project: Project, sent: Mapping[str, Any] | None, *, at: datetime) -> list[Violation]:
    """Merge a delivery group into the project and set the columns that depend on it. Returns violations."""
    before = project.delivery
    project.delivery = after = field_groups.merged("delivery", before, sent)
    audience = (after or field_groups.empty("delivery"))["audience"]
    project.participation = audience["participation"]
    project.response_channel = audience["response_channel"]
    return list(field_groups.check_delivery(after, before=before, at=at)) if after else []


def _apply_privacy(project: Project, fields: Mapping[str, Any], default: tuple[str, bool]) -> list[Violation]:
    """Apply `privacy_mode`, which may be sent in `settings`, beside it, or in both places with one value."""
    settings = fields.get("settings") or {}
    sent = [each["privacy_mode"] for each in (fields, settings) if "privacy_mode" in each]
    if len(sent) == 2 and sent[0] != sent[1]:
        message = "`settings.privacy_mode` and `privacy_mode` have different values."
        return [Violation("settings.privacy_mode", "conflicting", message)]
    if not sent:
        return []
    if sent[0] is None:
        project.privacy_mode, project.rounds_times_to_day = default
    elif sent[0] != project.privacy_mode:
        project.privacy_mode, project.rounds_times_to_day = sent[0], False
    return []


def clears_privacy(fields: Mapping[str, Any]) -> bool:
    """Whether the project returns to its community's default privacy."""
    return any(
        "privacy_mode" in each and each["privacy_mode"] is None
        for each in (fields, fields.get("settings") or {})
    )


def _apply_scoring(project: Project, fields: Mapping[str, Any]) -> list[Violation]:
    sent = [fields["scoring_enabled"]] if "scoring_enabled" in fields else []
    if "scoring" in fields:
        scoring = fields["scoring"]
        if scoring is None:
            sent.append(False)
        elif "enabled" in scoring:
            sent.append(scoring["enabled"])
    if len(sent) == 2 and sent[0] != sent[1]:
        message = "`scoring.enabled` and `scoring_enabled` say different things."
        return [Violation("scoring.enabled", "conflicting", message)]
    if sent:
        project.scoring_enabled = sent[0]
    return []


def bucket_names(fields: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The submitted buckets, in order; None if the request does not mention them."""
    scoring = fields.get("scoring", {})
    if scoring is None or "buckets" not in scoring:
        return () if scoring is None else None
    sent = list(enumerate(scoring["buckets"]))
    sent.sort(key=lambda each: (each[1].get("order", each[0]), each[0]))
    return tuple(bucket["name"] for _, bucket in sent)
