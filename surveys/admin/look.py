"""The tab Look: name, theme, interviewer and branding, with the respondent's own page beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from communities.ground.text_field import TextField
from communities.models import Community
from surveys.admin import project_forms
from surveys.admin.cards import Card, CardField
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.project_forms import ProjectForm, Section
from surveys.drawing import rendering, screens, security, theme
from surveys.drawing.rendering import Hidden
from surveys.engine.script import Block, Option, Script
from surveys.engine.walk import runner
from surveys.models import Project
from surveys.services.conversations import admission, view

THEME_NAMES = ("Indigo", "Teal", "Violet", "Rose", "Amber", "Green", "Ocean", "Graphite")
THEMES = {str(n): Card(name, picture=f"theme-{n}") for n, name in enumerate(THEME_NAMES, start=1)}
INTERVIEWERS = {
    str(n): Card(each.name, picture=f"face-{n}") for n, each in enumerate(theme.INTERVIEWERS, start=1)
}
_NUMBERS = {"theme_id": len(THEMES), "interviewer_id": len(INTERVIEWERS)}
# Shown while the script contains no question.
_SAMPLE = Script(
    (
        Block(
            id=1,
            name="q0",
            type="single_punch",
            prompt="What brings you here?",
            position=0,
            options=tuple(
                Option(text, id=n, display_order=n)
                for n, text in enumerate(("The people", "The place", "The cake"), start=1)
            ),
        ),
    )
)


class LookForm(ProjectForm):
    """The appearance of a project."""

    paths: ClassVar[Mapping[str, str]] = {
        "name": "name",
        **{name: f"presentation.{name}" for name in (*_NUMBERS, "branding", "chart_emoji")},
    }
    sections: ClassVar[Sequence[Section]] = (
        Section("Name", "The heading of the page, and the project’s name in lists.", "name", ("name",)),
        Section("Theme", "The colours of the page, by day and by night.", "theme", ("theme_id",)),
        Section("Interviewer", "Who asks the questions.", "survey", ("interviewer_id",)),
        Section("Branding", "A line at the foot of the page.", "branding", ("branding",)),
        Section("Charts in the chat", "Results of a poll are drawn with this.", "chart", ("chart_emoji",)),
    )

    name = TextField(label="Name", max_length=200)
    theme_id = CardField(label="Theme", cards=THEMES, is_small=True)
    interviewer_id = CardField(label="Interviewer", cards=INTERVIEWERS, is_small=True)
    branding = TextField(label="Branding", max_length=200, required=False)
    chart_emoji = TextField(
        label="Sign of a bar", max_length=16, required=False, help_text="One character or emoji."
    )

    def shown(self, name: str, value: Any) -> Any:
        if name in _NUMBERS:  # the first number follows the last, as on the page
            return str((value - 1) % _NUMBERS[name] + 1) if isinstance(value, int) else "1"
        return super().shown(name, value)

    def sent(self, name: str, value: Any) -> Any:
        return int(value) if name in _NUMBERS else super().sent(name, value)


@project_tab("look")
def look(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The tab: draw it, or save the changes."""
    return project_forms.show(
        request,
        page,
        LookForm,
        "admin/surveys/project/look.html",
        context=lambda form: {"faces": _faces(), "preview": page.address("look_preview")},
    )


def _faces() -> SafeString:
    """The drawn interviewers as symbols."""
    symbols = (
        f'<symbol id="pic-face-{n}" viewBox="0 0 40 40">{loader.get_template(each.picture).render()}</symbol>'
        for n, each in enumerate(theme.INTERVIEWERS, start=1)
    )
    return mark_safe("".join(symbols))


@project_tab("look")
@require_safe
def preview(request: HttpRequest, page: ProjectPage) -> HttpResponse:
    """The respondent's page with the theme and interviewer of the address, for the frame on the tab."""
    project = page.project
    chosen = {name: int(sent) for name in _NUMBERS if (sent := request.GET.get(name, "")) in THEMES}
    words = {name: request.GET[name][:200] for name in ("name", "branding") if name in request.GET}
    project.presentation = {**(project.presentation or {}), **chosen, "branding": words.get("branding")}
    project.name = words.get("name") or project.name
    community = Community.objects.get(pk=project.community_id)
    frame = theme.page_of(project=project, community=community, locale=community.locale, is_framed=False)
    walk = _walk(project, page)
    screen = screens.first(walk, frame, votes=lambda block, has_voted: None)
    response = rendering.page(replace(frame, address=""), screen, Hidden(seal="", csrf=""))
    security.allow_own_frames(response)
    return response


def _walk(project: Project, page: ProjectPage) -> view.VisitorView:
    walk = view.of_visitor(project=project, respondent=admission.NAMELESS, seed=1, at=page.at)
    if any(block.asks for block in walk.script.blocks):
        return walk
    return replace(walk, script=_SAMPLE, state=runner.begin(_SAMPLE).state)
