"""Results as figures to which an answer can refer (rule 10.53). Each figure has a reference, a text and a
value.

    readable(actor=…, project=…, at=…)    those that the actor may read: live results, and counted themes

The figures contain nobody's own words. Titles of themes and texts of questions are data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.utils.text import Truncator

from communities.ground.actors import Actor
from communities.ground.errors import Unavailable
from surveys.ai.provider import SENTIMENTS, ReferencedFigure
from surveys.engine.flow.wording import heading
from surveys.engine.script import SCALES, Block
from surveys.engine.statistics import percentage
from surveys.models import Analysis, Project, ResultsCount
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground.anonymity import LEAST_ANSWERS
from surveys.services.results import readers
from surveys.services.results.figures import Figures
from surveys.services.results.shared import SharedResults
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts.cache import Catalogue

Json = Mapping[str, Any]

MAX_FIGURES = 600
MAX_ENTRIES = 30  # Each question gives at most this many options, items or values, the most frequent first.
MAX_PROMPT = 160  # A prompt has at most this many characters.
BEING_COUNTED = "These results are being counted. Please ask again in a few seconds."


def readable(*, actor: Actor, project: Project, at: datetime) -> list[ReferencedFigure]:
    """The figures that results show to this actor, at most MAX_FIGURES, in the order of the script.

    Raises NotFound and Forbidden as results do, and Unavailable while a worker counts them.
    """
    seen = readers.read(actor=actor, project=project, at=at)
    if isinstance(seen, ResultsCount):
        raise Unavailable(BEING_COUNTED, retry_after=5)
    catalogue = script_cache.of(project).catalogue
    texts = _texts(project, seen, at)
    return [*_of(seen, catalogue, texts)][:MAX_FIGURES]


def _texts(project: Project, seen: Figures | SharedResults, at: datetime) -> Mapping[int, Json | None]:
    """Return the findings in the answers to open questions, by block.

    Readers of shared results of an anonymous project get the counts of the latest analysis.
    """
    if isinstance(seen, Figures):
        return {block["block_id"]: block["open_text"] for block in seen.blocks}
    newest = analysis.rendered(project_id=project.pk, covers=Analysis.Covers.ALL, with_ai=None)
    if newest is None or newest["status"] != Analysis.Status.COMPLETED:
        return {}
    newest = analysis.in_aggregate(newest, project=project, at=at)
    return {each["block_id"]: each["open_text"] for each in orjson.loads(orjson.dumps(newest["blocks"]))}


def _of(
    seen: Figures | SharedResults, catalogue: Catalogue, texts: Mapping[int, Json | None]
) -> Iterator[ReferencedFigure]:
    yield ReferencedFigure("conversations", "Responses that were begun", str(seen.conversation_count))
    yield ReferencedFigure("completions", "Responses that were completed", str(seen.completion_count))
    if isinstance(seen, Figures):
        for score in seen.scores or ():
            yield from _mean(f"score.{score['key'] or 'total'}", f"score “{score['name']}”", score)
        for variable in seen.variables:
            yield from _mean(f"b{variable['block_id']}", f"result “{variable['name']}”", variable)
        for field in seen.fields:
            # A value that few people gave may be somebody's address or name.
            shared = [entry for entry in field["distribution"] if entry["count"] >= LEAST_ANSWERS]
            yield from _entries(f"field.{field['name']}", f"Field “{field['name']}”", shared, field["count"])
    for block in seen.blocks:
        if block["response_count"] is not None:  # The count is null if too few people have answered.
            yield from _of_block(block, catalogue, texts.get(block["block_id"]))


def _of_block(figures: Json, catalogue: Catalogue, text: Json | None) -> Iterator[ReferencedFigure]:
    key, block = f"b{figures['block_id']}", catalogue.blocks.get(figures["block_id"])
    prompt = Truncator(heading(figures["prompt"], catalogue.script)).chars(MAX_PROMPT)
    title, answered = f"“{prompt}”", figures["response_count"]
    if (drop_off := figures.get("drop_off")) and drop_off["left"]:
        value = f"{drop_off['left']} ({drop_off['percentage']} % of those who opened a question)"
        yield ReferencedFigure(f"{key}.left", f"People who left at {title}", value)
    if figures["block_type"] == "content_block":
        return
    yield ReferencedFigure(f"{key}.count", f"Answers to {title}", str(answered))
    if figures["stats"]:
        yield from _mean(key, f"{title}{_range(block)}", figures["stats"])
    if figures["nps"] and figures["nps"]["score"] is not None:
        score = f"{figures['nps']['score']:g}"
        yield ReferencedFigure(f"{key}.nps", f"Net promoter score (NPS) of {title}", score)
        for group in ("promoters", "passives", "detractors"):
            value = _share(figures["nps"][group], answered)
            yield ReferencedFigure(f"{key}.{group}", f"{group.capitalize()} of {title}", value)
    yield from _entries(f"{key}.option", title, figures["distribution"] or (), answered)
    for n, item in enumerate((figures["ranking"] or ())[:MAX_ENTRIES], 1):
        if item["average_rank"] is not None:
            value = f"{_rounded(item['average_rank'])}, put first by {item['first_choice_count']}"
            text_ = f"Average rank in {title}: {item['label'] or item['value']}"
            yield ReferencedFigure(f"{key}.item.{n}", text_, value)
    if text:
        yield from _of_text(key, title, text)


def _of_text(key: str, title: str, text: Json) -> Iterator[ReferencedFigure]:
    read = text["analysed_count"]
    for n, theme in enumerate(text["themes"], 1):
        value = f"{theme['count']} of {read} ({theme['percentage']} %)"
        yield ReferencedFigure(f"{key}.theme.{n}", f"{title}: {theme['title']}", value)
    for mood in SENTIMENTS if text["sentiment"] else ():
        value = _share(text["sentiment"][mood], sum(text["sentiment"].values()))
        yield ReferencedFigure(f"{key}.{mood}", f"Answers to {title} that sound {mood}", value)


def _mean(key: str, what: str, numbers: Json) -> Iterator[ReferencedFigure]:
    """Yield the average, and the median and the two extreme numbers if the reader may see them."""
    if numbers["mean"] is None:
        return
    yield ReferencedFigure(f"{key}.mean", f"Average of {what}", _rounded(numbers["mean"]))
    for name, word in (("median", "Median"), ("min", "Lowest"), ("max", "Highest")):
        if numbers[name] is not None:
            yield ReferencedFigure(f"{key}.{name}", f"{word} of {what}", _rounded(numbers[name]))


def _entries(key: str, title: str, entries: Sequence[Json], whole: int) -> Iterator[ReferencedFigure]:
    """The most frequent options, points or values, each with its place in the whole list."""
    numbered = sorted(enumerate(entries, 1), key=lambda each: -each[1]["count"])[:MAX_ENTRIES]
    for n, entry in sorted(numbered, key=lambda each: each[0]):
        text = f"{title}: {entry['label'] or entry['value']}"
        yield ReferencedFigure(f"{key}.{n}", text, _share(entry["count"], whole))


def _range(block: Block | None) -> str:
    return " ({} to {})".format(*block.points) if block is not None and block.type in SCALES else ""


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({percentage(part, whole)} %)"


def _rounded(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
