"""Notes for the admin who saves a new time zone of a community. Apps add notes about their planned times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

from django.utils.safestring import SafeString

from communities.ground.actors import Actor

NoteSource = Callable[[Actor, ZoneInfo, ZoneInfo], Sequence[SafeString]]
_sources: list[NoteSource] = []


def add_notes(source: NoteSource) -> NoteSource:
    """Register a function that returns notes about a change from one zone to another. A decorator."""
    _sources.append(source)
    return source


def notes(actor: Actor, *, before: ZoneInfo, after: ZoneInfo) -> list[SafeString]:
    """Notes about everything that is at another time of day after the change."""
    return [note for source in _sources for note in source(actor, before, after)]
