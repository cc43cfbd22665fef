"""What this app may know of projects, which belong to another: that app registers how they are found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Finder = Callable[[int, Collection[int]], Mapping[int, str]]
_finders: list[Finder] = []


def register(finder: Finder) -> None:
    """Have `finder(community_id, project_ids)` tell the names of those projects that the community has."""
    _finders[:] = [finder]


def names_of(*, community_id: int, project_ids: Collection[int]) -> Mapping[int, str]:
    """The names of the community's projects among these ids."""
    return _finders[0](community_id, project_ids)
