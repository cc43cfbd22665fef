"""A cache of scripts in each process, by project and revision.

The least recently used script is removed first. A script that was read inside a transaction is cached only
after the commit. So a revision that is rolled back and then written with other content is never confused with
the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

import orjson
from cachetools import LRUCache
from django.db import transaction
from django.utils.functional import cached_property

from communities.ground import wire
from communities.ground.errors import NotFound
from surveys.engine.intake.serialization import script_as_json, without_solutions
from surveys.engine.language.values import day_in_words
from surveys.engine.rules.warnings import warnings
from surveys.engine.script import Block, Option, Script
from surveys.models import Project
from surveys.services.scripts import additions, storage
from surveys.services.scripts.additions import Additions
from surveys.services.scripts.storage import StoredScript

# In bytes: the JSON of all cached scripts. In memory they take six times as much, 180 MB.
MAX_SIZE = 30_000_000


@dataclass(frozen=True)
class Catalogue:
    """A script, and by id every block and option that an answer may refer to, with removed blocks and
    options.
    """

    script: Script
    blocks: Mapping[int, Block]
    options: Mapping[int, Option]

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The names of blocks by id."""
        return {block_id: block.name or "" for block_id, block in self.blocks.items()}

    @cached_property
    def labels(self) -> Mapping[int, str]:
        """The displayed texts of options by id."""
        return {option_id: option.display_text for option_id, option in self.options.items()}

    @cached_property
    def others(self) -> frozenset[int]:
        """The ids of the options for which a text is written."""
        return frozenset(option_id for option_id, option in self.options.items() if option.is_other)

    @cached_property
    def longest_words(self) -> int:
        """The bytes of JSON of the longest label and the longest name together."""
        labels, names = [*self.labels.values(), *self.points.values()], self.names.values()
        return sum(max((len(wire.render(text)) for text in texts), default=0) for texts in (labels, names))

    @cached_property
    def rank(self) -> Mapping[int, int]:
        """The positions of blocks in the order of a response's answers, by block id."""
        return {block_id: n for n, block_id in enumerate(self.blocks)}

    @cached_property
    def points(self) -> Mapping[tuple[int, str], str]:
        """Labels of scale points by block and number, since scale answers have no option id."""
        return {
            (block_id, option.value): option.label
            for block_id, block in self.blocks.items()
            if block.type in ("rating", "opinion_scale", "nps")
            for option in block.options
            if option.label
        }

    def words(self, block_id: int, option_id: int | None, value: str) -> str:
        """A stored answer as readable text: the label of its option or point, else its value."""
        label = self.points.get((block_id, value)) if option_id is None else self.labels.get(option_id)
        return label or self.as_read(block_id, value)

    def as_read(self, block_id: int, value: str) -> str:
        """A written answer as people read it: a date in words, and other texts unchanged."""
        block = self.blocks.get(block_id)
        return day_in_words(value) if block is not None and block.format == "date" else value


@dataclass(frozen=True)
class CachedScript:
    stored: StoredScript
    _rendered: dict[tuple[bool, bool], bytes] = field(default_factory=dict)
    _warned: dict[tuple[object, ...], bytes] = field(default_factory=dict)
    _added: list[Additions] = field(default_factory=list)

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
            script,
            {block.id: block for block in blocks if block.id is not None},
            {option.id: option for option in options if option.id is not None},
        )

    def additions(self, project_id: int) -> Additions:
        """The parts that were added after the opening. Runs a statement the first time."""
        if not self._added:
            self._added.append(additions.read(project_id))
        return self._added[0]

    def rendered_blocks(self, *, outro: bool, solutions: bool) -> bytes:
        """The array of blocks as JSON, with or without the solutions, cached for the latest arguments."""
        known = self._rendered.get((outro, solutions))
        if known is None:
            script = self.script if solutions else without_solutions(self.script)
            self._rendered.clear()  # MAX_SIZE allows for one copy.
            known = self._rendered[outro, solutions] = orjson.dumps(script_as_json(script, outro=outro))
        return known

    def rendered_warnings(
        self,
        *,
        uses_xp: bool,
        is_anonymous: bool,
        known_achievements: frozenset[int],
        declared_fields: frozenset[str] | None,
        has_model: bool,
    ) -> bytes:
        """The array of warnings as JSON, cached for the latest arguments."""
        key = (uses_xp, is_anonymous, known_achievements, declared_fields, has_model)
        known = self._warned.get(key)
        if known is None:
            found = warnings(
                self.script,
                uses_xp=uses_xp,
                is_anonymous=is_anonymous,
                known_achievements=known_achievements,
                declared_fields=declared_fields,
                has_model=has_model,
            )
            self._warned.clear()  # Earlier arguments are rarely used again.
            known = self._warned[key] = orjson.dumps(found)
        return known


def new_cache(max_size: int) -> LRUCache[tuple[int, int], CachedScript]:
    return LRUCache(max_size, getsizeof=lambda cached: cached.stored.size)


_cache = new_cache(MAX_SIZE)
_lock = Lock()


def get(project_id: int, revision: int) -> CachedScript:
    """The script of a project at this revision or a newer one.

    Runs one statement if the script is not in memory. Raises NotFound if the project was deleted.
    """
    key = (project_id, revision)
    with _lock:
        cached = _cache.get(key)
        if cached is not None:
            return cached
    stored = storage.read(project_id)
    if stored is None:
        raise NotFound("There is no such project.")
    read = CachedScript(stored)
    transaction.on_commit(partial(_put, (project_id, stored.revision), read))
    return read


def of(project: Project) -> CachedScript:
    """The present script of a project, with facts about the script. Raises as `get` does."""
    return get(project.pk, project.revision)


def script_of(project: Project) -> Script:
    """The present script of a project. Raises as `get` does."""
    return of(project).script


def _put(key: tuple[int, int], script: CachedScript) -> None:
    with _lock:
        if key not in _cache and script.stored.size <= _cache.maxsize:
            _cache[key] = script
