"""A response as a caller sends it, and its violations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from communities.ground.errors import ViolationJson
from surveys.engine.script import Violation
from surveys.engine.walk.replay import GivenAnswer

MOST_VIOLATIONS = 20  # of one response


@dataclass(frozen=True, slots=True)
class SentResponse:
    """One response of an import.

    `line` counts from 1; `path` is the path to the response in the body, empty for a line. `provider` and
    `platform_id` identify its person, if there is one. A response without `submitted_at` is partial.
    `skipped_removed` are the ids of questions that were shown and skipped, and have been removed since.
    `key` is a keyed hash by which a response of a file is known again; without a key the response is new.
    `started_at` of a response that is not dated is only assumed.
    """

    line: int
    path: str
    started_at: datetime
    submitted_at: datetime | None
    provider: str | None = None
    platform_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    consent: Mapping[str, Any] | None = None
    language: str = ""
    is_suspected: bool = False
    answers: Sequence[GivenAnswer] = ()
    skipped_removed: Sequence[int] = ()
    key: str | None = None
    is_dated: bool = True

    @property
    def is_completed(self) -> bool:
        return self.submitted_at is not None

    def violation(self, violation: Violation) -> ViolationJson:
        """A violation of this response as a violation of the body."""
        return with_line(violation.as_json(), line=self.line, path=self.path)


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import. A dry run stores no responses."""

    is_dry_run: bool = False
    gives_xp: bool = False
    emits_events: bool = False


def with_line(violation: ViolationJson, *, line: int, path: str) -> ViolationJson:
    """A violation of one response as a violation of the body: with its line, and the path to it."""
    inside = str(violation["field"])
    joined = f"{path}.{inside}" if path and inside else path or inside
    return {**violation, "field": joined, "line": line}
