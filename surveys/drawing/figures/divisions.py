"""What staff may divide results by, as a menu, and their choice as the text of a request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from zoneinfo import ZoneInfo

from surveys.engine.flow.wording import heading
from surveys.engine.script import CALCULATED, SCALES
from surveys.engine.statistics import SEGMENT_TYPES
from surveys.services.results import dividing
from surveys.services.scripts.cache import Catalogue

Choices = list[tuple[str, str]]
QUESTIONS = "Questions"
_PERIODS = {"day": "Day of completion", "week": "Week of completion", "month": "Month of completion"}


def menu(
    catalogue: Catalogue,
    *,
    fields: Sequence[str],
    languages: bool,
    themed: Collection[int],
    solutions: bool,
    short: Callable[[str], str],
) -> list[tuple[str, Choices]]:
    """The choices in groups. `themed` are the open questions with themes; scores need `solutions`.

    `languages` says that responses may have one.
    """
    script = catalogue.script
    questions = Choices()
    for pk, block in catalogue.blocks.items():
        prompt = short(heading(block.prompt, script))
        if block.type in SEGMENT_TYPES or block.type == "open_numeric":
            questions.append((str(pk), f"{prompt} (first choice)" if block.type == "ranking" else prompt))
        if block.type == "nps":
            questions.append((f"{pk}:{dividing.GROUPS}", f"{prompt} (promoters, passives, detractors)"))
        if pk in themed:
            questions.append((str(pk), f"{prompt} (themes)"))
    scores = Choices()
    if solutions and script.scoring_enabled:
        scores.append(("score", "Score"))
        if len(script.buckets) > 1:
            scores += [(f"score_{each.key}", f"Score: {each.name}") for each in script.buckets]
    if solutions:
        calculated = [block for block in script.blocks if block.type == CALCULATED]
        scores += [(str(block.id), f"Result: {block.name}") for block in calculated]
    times = [(f"{dividing.COMPLETED}{period}", text) for period, text in _PERIODS.items()]
    sent = [(f"{dividing.FIELD}{name}", name) for name in fields]
    if languages:
        sent.append((dividing.LANGUAGE, "Language"))
    groups = {QUESTIONS: questions, "Scores and results": scores, "Sent along": sent, "Times": times}
    return [(name, choices) for name, choices in groups.items() if choices]


def has_bands(chosen: str, catalogue: Catalogue) -> bool:
    """Whether the choice is of numbers, which bands divide."""
    if chosen.isdigit():
        block = catalogue.blocks.get(int(chosen))
        return block is None or block.type in (*SCALES, "open_numeric", CALCULATED)
    return chosen.startswith("score")


def text_of(chosen: str, bands: str, *, zone: ZoneInfo, catalogue: Catalogue) -> int | str | None:
    """The choice as `segment_by` of a request. Bands are left out of choices without numbers."""
    if not chosen:
        return None
    if chosen.startswith(dividing.COMPLETED):
        return chosen if zone.key == "UTC" else f"{chosen}:{zone.key}"
    if bands and has_bands(chosen, catalogue):
        return f"{chosen}:{bands}"
    return int(chosen) if chosen.isdigit() else chosen
