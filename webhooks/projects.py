"""The names of projects, which belong to another app. That app registers two functions that return
the names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Finder = Callable[[int, Collection[int]], Mapping[int, str]]
Lister = Callable[[int, int], Mapping[int, str]]
_finders: list[Finder] = []
_listers: list[Lister] = []


def register(finder: Finder, lister: Lister) -> None:
    """Register `finder(community_id, project_ids)`, which returns the names of those projects that the
    community has.

    Also register `lister(community_id, count)`, which returns the names of its newest projects, newest first.
    """
    _finders[:] = [finder]
    _listers[:] = [lister]


def names_of(*, community_id: int, project_ids: Collection[int]) -> Mapping[int, str]:
    """The names of the community's projects among these ids."""
    return _finders[0](community_id, project_ids)


def newest(*, community_id: int, count: int) -> Mapping[int, str]:
    """The names of the community's newest projects, newest first."""
    return _listers[0](community_id, count)
