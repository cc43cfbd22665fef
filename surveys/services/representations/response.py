"""A response as JSON, the same in the interface, in exports and in events (rule 6.46)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from surveys.engine.language.names import SCORES
from surveys.engine.language.values import json_number
from surveys.engine.script import CALCULATED, Script
from surveys.models import Project, Theme
from surveys.models.conversation import outcome_of
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue

ResponseJson = dict[str, object]


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """All answer rows of one conversation as three parallel columns, ordered by block and ordinal."""

    blocks: Sequence[int]
    options: Sequence[int | None]
    texts: Sequence[str]


def response_serializer(
    project: Project, *, solutions: bool = True, catalogue: Catalogue | None = None
) -> Callable[[Sequence[Any]], ResponseJson]:
    """A function that serializes rows of one project's responses.

    A row contains id, session number, `completed_at` (None if it was screened out), user id, platform id,
    provider, `started_at`, `updated_at`, three parts of the state (scores, results of calculated blocks,
    metadata; each as JSON or parsed), three parallel arrays with the answers (block ids, option ids, texts),
    the readings of texts: by block id, the sentiment and the ids of the themes, as JSON, the further
    questions and the texts for options, by block id, the text that was agreed to with its moment, whether the
    response is suspected, its stored outcome, and the language in which it was asked for.

    With `solutions` it includes scores and calculated results, which reveal the correct answers. `catalogue`
    is the project's catalogue, if the caller has read it already.
    """
    catalogue = catalogue or script_cache.of(project).catalogue
    project_id, is_anonymous = str(project.pk), project.is_anonymous
    rank, points = catalogue.rank, catalogue.points
    shows_scores = solutions and project.scoring_enabled
    buckets = {bucket.key: bucket.name for bucket in catalogue.script.buckets}
    calculated = calculated_blocks(catalogue.script) if solutions else {}
    names, labels = catalogue.names, catalogue.labels
    titles: dict[int, str] = {}

    def answer(
        read: Mapping[str, Any],
        asked: Mapping[str, Any],
        written: Mapping[str, Any],
        block_id: int,
        option_id: int | None,
        value: str,
    ) -> dict[str, object]:
        told = {
            "block_id": block_id,
            "value": value,
            "option_id": option_id,
            "block_name": names.get(block_id),
            "label": points.get((block_id, value)) if option_id is None else labels.get(option_id),
        }
        if str(block_id) in read:
            sentiment, themes = read[str(block_id)]
            told |= {"themes": [titles[key] for key in themes if key in titles], "sentiment": sentiment}
        if str(block_id) in asked:
            told["follow_ups"] = asked[str(block_id)]
        if str(block_id) in written and written[str(block_id)]["option_id"] == option_id:
            told["other_text"] = written[str(block_id)]["text"]
        return told

    def serialize(row: Sequence[Any]) -> ResponseJson:
        (
            key,
            session_number,
            completed_at,
            user_id,
            platform_id,
            provider,
            started_at,
            updated_at,
            scores,
            results,
            metadata,
            blocks,
            options,
            texts,
            readings,
            follow_ups,
            other,
            consent,
            is_suspected,
            outcome,
            language,
        ) = row
        answers = zip(blocks or (), options or (), texts or (), strict=True)
        read, asked, written = (read_part(part) or {} for part in (readings, follow_ups, other))
        if any(key not in titles for _, themes in read.values() for key in themes):
            titles.update(theme_titles(project.pk))
        return {
            "id": str(key),
            "project_id": project_id,
            "session_number": None if is_anonymous else session_number,
            "status": "partial" if completed_at is None else "completed",
            "started_at": started_at,
            "submitted_at": completed_at,
            "updated_at": updated_at,
            "user_id": None if is_anonymous else user_id,
            "platform_id": None if is_anonymous else platform_id,
            "provider": provider,
            "metadata": read_part(metadata),
            "language": language,
            "consent": read_part(consent),
            "suspected": is_suspected,
            "outcome": outcome_of(completed_at, outcome),
            "scores": _scores(read_part(scores), buckets) if shows_scores else None,
            "variables": _variables(read_part(results), calculated),
            "answers": [
                answer(read, asked, written, *one)
                for one in sorted(answers, key=lambda one: rank.get(one[0], len(rank)))
            ],
        }

    return serialize


def theme_titles(project_id: int) -> dict[int, str]:
    """The titles of the themes of a project's questions, by id."""
    themes = Theme.objects.filter(block__project_id=project_id, merged_into__isnull=True)
    return dict(themes.values_list("pk", "title"))


def calculated_blocks(script: Script) -> dict[str, str]:
    """The names of the calculated blocks, by their ids in a state."""
    return {str(block.id): block.name or "" for block in script.blocks if block.type == CALCULATED}


def result_value(result: Mapping[str, Any] | None) -> int | float | str | None:
    """The result of a calculated block: a number, a text, or None if the block was not reached."""
    if result is None:
        return None
    if "number" not in result:
        return str(result["text"])
    number = Decimal(result["number"])
    return json_number(number) if number.is_finite() else None


def read_part(stored: Any) -> Any:
    """A part of a state: SQL returns it as JSON, a conversation contains it parsed."""
    return orjson.loads(stored) if isinstance(stored, str) else stored


def _scores(
    stored: Mapping[str, Sequence[float]] | None, buckets: Mapping[str, str]
) -> dict[str, object] | None:
    if stored is None:
        return None
    return {
        key: {"name": buckets.get(key, key), **dict(zip(SCORES, scores, strict=True))}
        for key, scores in stored.items()
    }


def _variables(
    results: Mapping[str, Mapping[str, Any]] | None, calculated: Mapping[str, str]
) -> dict[str, object]:
    return {name: result_value((results or {}).get(block_id)) for block_id, name in calculated.items()}
