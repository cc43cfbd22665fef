"""The box for questions on the Results tab: its form, and the question that the page shows, answered."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.middleware.csrf import get_token

from communities.ground.errors import NotFound
from communities.ground.ids import id_of
from surveys.admin.frame import ProjectPage
from surveys.ai import provider_is_free
from surveys.ai.provider import MAX_QUESTION
from surveys.models import Generation
from surveys.services.ai_work import generation, question
from surveys.services.ai_work.question import AskedQuestion
from surveys.services.scripts import cache as script_cache

PARAMETER = "asked"  # of the tab's address: the job of the question that the page shows
_OF_A_BLOCK = re.compile(r"b([0-9]+)\.")


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """A figure of an answer. `address` leads to its question on the tab, if it has one there."""

    text: str
    value: str
    address: str


def box_of(request: HttpRequest, page: ProjectPage) -> dict[str, Any]:
    """The contents of the box on the tab: the form, and the question in the address."""
    job_id = id_of(request.GET.get(PARAMETER, ""))
    asked = None
    is_gone = False
    if job_id is not None:
        try:
            asked = question.look(actor=page.actor, project=page.project, job_id=job_id, at=page.at)
        except NotFound:
            is_gone = True
    typed = request.POST.get("question", asked.question if asked else "")
    return {
        "csrf": get_token(request),
        "is_gone": is_gone,
        "typed": typed[: MAX_QUESTION + 1],
        "longest": MAX_QUESTION,
        "ticket": secrets.token_hex(8),
        "cost": generation.cost(Generation.Kind.QUESTION),
        "credits_left": page.project.community.bot_credits,
        "is_local": provider_is_free(),
        "asked": None,
        **(of_asked(page, asked) if asked else {}),
    }


def is_running(box: Mapping[str, Any]) -> bool:
    """Whether the answer that a box shows is still being looked for."""
    return bool(box["asked"] and box["asked"].is_running)


def of_asked(page: ProjectPage, asked: AskedQuestion) -> dict[str, object]:
    """A question and its answer, as the template draws them."""
    figures = _figures(page, asked.answer["figures"]) if asked.answer else {}
    return {"project_id": page.project.pk, "asked": asked, "figures": figures}


def _figures(page: ProjectPage, figures: Sequence[Mapping[str, str]]) -> Mapping[str, ShownFigure]:
    """The figures by reference. Only questions have a card on the tab."""
    project = page.project
    blocks = script_cache.of(project).catalogue.blocks
    shown = {}
    for figure in figures:
        found = _OF_A_BLOCK.match(figure["reference"])
        block = blocks.get(int(found[1])) if found else None
        address = f"#question-{block.id}" if block is not None and block.asks else ""
        shown[figure["reference"]] = ShownFigure(figure["text"], figure["value"], address)
    return shown
