"""The charts of a project's results as pictures to download."""

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
from surveys.drawing.figures import aggregate, overview, picture
from surveys.drawing.figures.charts import Card
from surveys.drawing.figures.fields import field_cards
from surveys.drawing.figures.scores import ScoreCard, score_cards, variable_cards
from surveys.drawing.figures.weighting import words_of
from surveys.drawing.theme import ACCENTS
from surveys.services.ground import access
from surveys.services.results.figures import Figures

PALETTE = brands.palette(Look(ACCENTS[0]), "light")


@project_tab("results")
@require_safe
def chart(request: HttpRequest, page: ProjectPage, card: str, kind: str) -> HttpResponseBase:
    """The chart of a card, such as `question-12`, with the filters of the address, for readers of the tab."""
    if kind not in picture.CONTENT_TYPES:
        raise Http404
    try:
        access.require_results_reader(actor=page.actor, project=page.project, at=page.at)
        if access.may_read_people(actor=page.actor, project=page.project):
            cards, foot = _of_filters(request, page)
        else:
            seen = aggregate.read(page.project, actor=page.actor, at=page.at)
            cards, foot = [each.card for each in seen.cards], [_source(page)]
            cards += map(_as_card, (*seen.scores, *seen.variables))
    except (Forbidden, Unavailable) as refusal:
        return results.refused(request, page, refusal)
    drawn = next((each for each in cards if each.key == card), None)
    if drawn is None or drawn.notice:
        raise Http404
    drawing = picture.shapes_of(drawn, PALETTE, foot=foot)
    return picture.download(drawing, kind=kind, name=f"chart-{page.project.pk}-{drawn.key}")


def _of_filters(request: HttpRequest, page: ProjectPage) -> tuple[list[Card], Sequence[str]]:
    """The cards for readers of single responses, and what they count."""
    form = results.results_form(request, page)
    if not form.is_valid():
        raise Http404
    counted = results.read(page, form)
    if not isinstance(counted, Figures):
        raise Unavailable("These results are being counted. Please retry shortly.", retry_after=5)
    texts = overview.texts_of(counted, None, is_narrowed=True)
    cards = [each.card for each in overview.cards_of(page.project, counted, texts)]
    cards += map(_as_card, field_cards(counted, is_filtered=False))
    cards += map(
        _as_card, (*score_cards(counted, is_filtered=False), *variable_cards(counted, is_filtered=False))
    )
    noun = "vote" if page.project.is_poll else "response"
    selected = (
        f"{plural(counted.conversation_count, noun)}: {'; '.join(form.in_words)}" if form.in_words else ""
    )
    weighted = " ".join(words_of(counted.weighting, noun=noun)[:2])
    return cards, [each for each in (_source(page), selected, weighted) if each]


def _source(page: ProjectPage) -> str:
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
