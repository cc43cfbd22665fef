"""The charts of a project's results, and their comparisons, as pictures to download."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from communities.ground import brands
from communities.ground.brands import Look
from communities.ground.errors import Forbidden, Unavailable
from communities.ground.words import plural
from surveys.admin import results
from surveys.admin.frame import ProjectPage, project_tab
from surveys.drawing.figures import aggregate, comparison_picture, overview, picture
from surveys.drawing.figures.charts import Card
from surveys.drawing.figures.fields import field_cards
from surveys.drawing.figures.filters import ResultsForm
from surveys.drawing.figures.picture import Drawing
from surveys.drawing.figures.scores import ScoreCard, score_cards, variable_cards
from surveys.drawing.figures.weighting import words_of
from surveys.drawing.theme import ACCENTS
from surveys.services.ground import access
from surveys.services.results.figures import Figures

COMPARED = "-compared"  # behind the key of a card
PALETTE = brands.palette(Look(ACCENTS[0]), "light")


@project_tab("results")
@require_safe
def chart(request: HttpRequest, page: ProjectPage, card: str, kind: str) -> HttpResponseBase:
    """The chart of a card, such as `question-12`, or its comparison, `question-12-compared`, with the filters
    of the address, for readers of the tab.
    """
    if kind not in picture.CONTENT_TYPES:
        raise Http404
    try:
        access.require_results_reader(actor=page.actor, project=page.project, at=page.at)
        if access.may_read_people(actor=page.actor, project=page.project):
            drawing = _of_filters(request, page, card)
        else:
            seen = aggregate.read(page.project, actor=page.actor, at=page.at)
            cards = [*(each.card for each in seen.cards), *map(_as_card, (*seen.scores, *seen.variables))]
            drawing = _chart_of(cards, card, foot=[source_of(page)])
    except (Forbidden, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    if drawing is None:
        raise Http404
    return picture.download(drawing, kind=kind, name=f"chart-{page.project.pk}-{card}")


def _of_filters(request: HttpRequest, page: ProjectPage, key: str) -> Drawing | None:
    """The drawing for readers of single responses."""
    form = results.results_form(request, page)
    if not form.is_valid():
        raise Http404
    counted = results.read(page, form)
    if not isinstance(counted, Figures):
        raise Unavailable("These results are being counted. Please retry shortly.", retry_after=5)
    texts = overview.texts_of(counted, None, is_narrowed=True)
    questions = overview.cards_of(page.project, counted, texts)
    others = [
        *field_cards(counted, is_filtered=False),
        *score_cards(counted, is_filtered=False),
        *variable_cards(counted, is_filtered=False),
    ]
    cards = [*(each.card for each in questions), *map(_as_card, others)]
    noun = "vote" if page.project.is_poll else "response"
    weighted = " ".join(words_of(counted.weighting, noun=noun)[:2])
    foot = [*foot_of(page, form, counted.conversation_count), *filter(None, [weighted])]
    comparisons = [*(each.comparison for each in questions), *(each.comparison for each in others)]
    compared = {
        f"{card.key}{COMPARED}": (comparison, card)
        for card, comparison in zip(cards, comparisons, strict=True)
        if comparison is not None
    }
    if key not in compared:
        return _chart_of(cards, key, foot=foot)
    divided_by = results.compared_by(counted, form)
    return comparison_picture.compared(*compared[key], divided_by=divided_by, palette=PALETTE, foot=foot)


def _chart_of(cards: Sequence[Card], key: str, *, foot: Sequence[str]) -> Drawing | None:
    card = next((each for each in cards if each.key == key and not each.notice), None)
    return picture.shapes_of(card, PALETTE, foot=foot) if card else None


def foot_of(page: ProjectPage, form: ResultsForm, count: int) -> list[str]:
    """The lines below a picture: its source, and the filters with the number of responses they select."""
    noun = "vote" if page.project.is_poll else "response"
    selected = [f"{plural(count, noun)}: {'; '.join(form.in_words)}"] if form.in_words else []
    return [source_of(page), *selected]


def source_of(page: ProjectPage) -> str:
    return f"{page.project.name} · counted at {page.at:%-d %b %Y, %H:%M} UTC"


def _as_card(card: ScoreCard) -> Card:
    return Card(
        id=0,
        number=0,
        prompt=card.name,
        kind=card.kind,
        answered=card.counted,
        notice=card.notice,
        of=card.key,
        bars=card.bars,
        columns=card.columns,
        facts=card.facts,
        note=card.note,
    )
