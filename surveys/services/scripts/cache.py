"""Scripts kept in the memory of a process, by project and revision, the least used one leaving first.

What is read inside a transaction is kept only once that has committed, so a revision that is rolled back
and then written anew, with other words, is never mixed up with the first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock

import orjson
from django.db import transaction

from communities.errors import NotFound
from surveys.engine.intake.serialization import script_as_json
from surveys.engine.rules.warnings import warnings
from surveys.engine.script import Block, Option, Script
from surveys.services.scripts import storage
from surveys.services.scripts.storage import StoredScript

MAX_SIZE = 30_000_000  # bytes of JSON over all scripts kept, which take five times as much: 150 MB at most


@dataclass(frozen=True)
class Catalogue:
    """Every block and option that an answer may point to, by id, removed ones too."""

    blocks: Mapping[int, Block]
    options: Mapping[int, Option]

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Block id → its name."""
        return {block_id: block.name or "" for block_id, block in self.blocks.items()}

    @cached_property
    def labels(self) -> Mapping[int, str]:
        """Option id → what a reader sees of it."""
        return {option_id: option.display_text for option_id, option in self.options.items()}

    @cached_property
    def rank(self) -> Mapping[int, int]:
        """Block id → its place in the order in which answers are told."""
        return {block_id: n for n, block_id in enumerate(self.blocks)}

    @cached_property
    def points(self) -> Mapping[tuple[int, str], str]:
        """Labels of scale points, by block and number: scale answers are told without an option id."""
        return {
            (block_id, option.value): option.label
            for block_id, block in self.blocks.items()
            if block.type in ("rating", "opinion_scale", "nps")
            for option in block.options
            if option.label
        }


@dataclass(frozen=True)
class CachedScript:
    stored: StoredScript
    _rendered: dict[bool, bytes] = field(default_factory=dict)
    _warned: dict[tuple[bool, bool, frozenset[int]], bytes] = field(default_factory=dict)

    @property
    def script(self) -> Script:
        return self.stored.script

    @cached_property
    def catalogue(self) -> Catalogue:
        script = self.stored.script
        blocks = (*script.blocks, *script.outro, *self.stored.archived)
        removed = self.stored.archived_options or {}
        options = [option for block in blocks for option in block.options]
        options += [option for each in removed.values() for option in each]
        return Catalogue(
            {block.id: block for block in blocks if block.id is not None},
            {option.id: option for option in options if option.id is not None},
        )

    def rendered_blocks(self, *, outro: bool) -> bytes:
        """The array of blocks as JSON, made once."""
        known = self._rendered.get(outro)
        if known is None:
            known = self._rendered[outro] = orjson.dumps(script_as_json(self.script, outro=outro))
        return known

    def rendered_warnings(
        self, *, uses_xp: bool, is_anonymous: bool, known_achievements: frozenset[int]
    ) -> bytes:
        """The array of warnings as JSON, made once for what it depends on besides the script."""
        now = (uses_xp, is_anonymous, known_achievements)
        known = self._warned.get(now)
        if known is None:
            told = warnings(
                self.script,
                uses_xp=uses_xp,
                is_anonymous=is_anonymous,
                known_achievements=known_achievements,
            )
            self._warned.clear()  # what it was before will hardly come again
            known = self._warned[now] = orjson.dumps(told)
        return known


_kept: OrderedDict[tuple[int, int], CachedScript] = OrderedDict()
_lock = Lock()
_size = 0


def get(project_id: int, revision: int) -> CachedScript:
    """The script of a project at this revision, or at a newer one that has come since.

    One statement where it is not in memory. Raises NotFound where the project is gone.
    """
    key = (project_id, revision)
    with _lock:
        known = _kept.get(key)
        if known is not None:
            _kept.move_to_end(key)
            return known
    stored = storage.read(project_id)
    if stored is None:
        raise NotFound("There is no such project.")
    read = CachedScript(stored)
    transaction.on_commit(partial(_keep, (project_id, stored.revision), read))
    return read


def _keep(key: tuple[int, int], kept: CachedScript) -> None:
    global _size
    with _lock:
        if key in _kept:
            return
        _kept[key] = kept
        _size += kept.stored.size
        while _size > MAX_SIZE and len(_kept) > 1:
            _, oldest = _kept.popitem(last=False)
            _size -= oldest.stored.size
