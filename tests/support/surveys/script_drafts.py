"""Drafts of scripts, through their services."""

from __future__ import annotations

from typing import Any

from communities.ground.actors import Actor
from surveys.models import Project
from surveys.services.drafts import service as drafts
from surveys.services.drafts.service import SavedScript, UnsavedScript
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.surveys.script_paths import path_of


def read(caller: Caller, made: dict[str, Any]) -> dict[str, Any]:
    """The script of a project, with its outro."""
    return caller.get(path_of(made) + "?expand=outro").json()


def keep(
    caller: Caller,
    made: dict[str, Any],
    blocks: Any,
    *,
    revision: int = 1,
    version: int | None = None,
    **by: Any,
) -> UnsavedScript:
    """Store blocks as the caller's draft, or as the draft of another `actor`."""
    return drafts.keep(
        **{"actor": caller.actor, "at": NOON, **by},
        project_id=int(made["id"]),
        blocks=blocks,
        revision=revision,
        version=version,
    )


def save(caller: Caller, made: dict[str, Any], version: int) -> SavedScript:
    """Save a version of the caller's draft."""
    return drafts.save(actor=caller.actor, project_id=int(made["id"]), version=version, at=NOON)


def get(actor: Actor, made: dict[str, Any]) -> UnsavedScript | None:
    """The draft of a member."""
    return drafts.get(actor=actor, project=Project.objects.get(pk=made["id"]))
