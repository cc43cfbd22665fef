"""A response as JSON, the same in the interface, in exports and in events (interface 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.models import Project
from surveys.services.scripts import editing as scripts

ResponseJson = dict[str, object]


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """All answer rows of one conversation as three parallel columns, ordered by block and ordinal."""

    blocks: Sequence[int]
    options: Sequence[int | None]
    texts: Sequence[str]


def response_serializer(project: Project) -> Callable[[Sequence[Any]], ResponseJson]:
    """A function that serializes rows of one project's responses.

    A row holds id, session number, `completed_at`, user id, platform id, provider, `started_at`, and three
    parallel arrays with the answers: block ids, option ids, texts.
    """
    catalogue = scripts.catalogue(project_id=project.pk, revision=project.revision)
    project_id, is_anonymous = str(project.pk), project.is_anonymous
    rank, points = catalogue.rank, catalogue.points
    names, labels = catalogue.names, catalogue.labels

    def answer(block_id: int, option_id: int | None, value: str) -> dict[str, object]:
        return {
            "block_id": block_id,
            "value": value,
            "option_id": option_id,
            "block_name": names.get(block_id),
            "label": points.get((block_id, value)) if option_id is None else labels.get(option_id),
        }

    def serialize(row: Sequence[Any]) -> ResponseJson:
        (
            key,
            session_number,
            completed_at,
            user_id,
            platform_id,
            provider,
            started_at,
            blocks,
            options,
            texts,
        ) = row
        answers = zip(blocks or (), options or (), texts or (), strict=True)
        return {
            "id": str(key),
            "project_id": project_id,
            "session_number": None if is_anonymous else session_number,
            "status": "partial" if completed_at is None else "completed",
            "started_at": started_at,
            "submitted_at": completed_at,
            "user_id": None if is_anonymous else user_id,
            "platform_id": None if is_anonymous else platform_id,
            "provider": provider,
            "answers": [answer(*one) for one in sorted(answers, key=lambda one: rank.get(one[0], len(rank)))],
        }

    return serialize
