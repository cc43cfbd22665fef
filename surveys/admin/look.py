"""The tab Look: name, theme, brand, interviewer and branding, with the respondent's own page beside them.

The page of a community shows a sample question in the same frame, with the community's brand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from communities.forms.pictures import ColourField
from communities.ground import brands
from communities.ground.actors import Role
from communities.ground.form_fields import TextField
from communities.ground.translation import in_language
from communities.ground.web_addresses import MAX_LENGTH
from communities.models import Community
from communities.staff import acting
from surveys.admin import project_forms
from surveys.admin.cards import Card, CardField
from surveys.admin.delivery import PICTURE
from surveys.admin.frame import ProjectPage, project_tab
from surveys.admin.project_forms import ProjectForm, Section
from surveys.drawing import rendering, screens, security, theme
from surveys.drawing.rendering import Hidden
from surveys.engine.script import Block, Option, Script
from surveys.engine.walk import runner
from surveys.models import Project
from surveys.services.conversations import admission, view
from surveys.services.previews import service as previews

THEME_NAMES = ("Indigo", "Teal", "Violet", "Rose", "Amber", "Green", "Ocean", "Graphite")
THEMES = {
    "": Card("As the community", picture="theme"),
    **{str(n): Card(name, picture=f"theme-{n}") for n, name in enumerate(THEME_NAMES, start=1)},
}
INTERVIEWERS = {
    str(n): Card(each.name, picture=f"face-{n}") for n, each in enumerate(theme.INTERVIEWERS, start=1)
}
FONTS = {
    "": Card("As the community", picture="font"),
    "sans": Card("Sans serif", picture="font-sans"),
    "serif": Card("Serif", picture="font-serif"),
    "rounded": Card("Rounded", picture="font-rounded"),
}
CORNERS = {
    "": Card("As the community", picture="corners"),
    "round": Card("Round", picture="corners-round"),
    "soft": Card("Soft", picture="corners-soft"),
    "square": Card("Square", picture="corners-square"),
}
_COLOURS = ("accent_color", "background_color")
_NUMBERS = {"theme_id": len(THEME_NAMES), "interviewer_id": len(INTERVIEWERS)}
# Shown while the script contains no question, and on the page of a community.
_SAMPLE_NAME = "Our survey"
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
        **{name: f"presentation.{name}" for name in (*_NUMBERS, "branding", "chart_emoji", *brands.FIELDS)},
    }
    sections: ClassVar[Sequence[Section]] = (
        Section("Name", "The heading of the page, and the project’s name in lists.", "name", ("name",)),
        Section("Theme", "The colours of the page, by day and by night.", "theme", ("theme_id",)),
        Section(
            "Brand",
            "What is left empty is that of the community, and the colours are those of the theme.",
            "brand",
            ("logo_url", "background_url", "font", "corners", *_COLOURS),
            more="admin/surveys/project/look_notes.html",
        ),
        Section("Interviewer", "Who asks the questions.", "survey", ("interviewer_id",)),
        Section("Branding", "A line at the foot of the page.", "branding", ("branding",)),
        Section("Charts in the chat", "Results of a poll are drawn with this.", "chart", ("chart_emoji",)),
    )

    name = TextField(label="Name", max_length=200)
    theme_id = CardField(label="Theme", cards=THEMES, is_small=True)
    interviewer_id = CardField(label="Interviewer", cards=INTERVIEWERS, is_small=True)
    logo_url = forms.CharField(
        label="Logo",
        required=False,
        help_text="For the header of the page: an https address, or upload a picture.",
        widget=forms.TextInput(attrs=PICTURE),
    )
    accent_color = ColourField(label="Accent colour", help_text="Of buttons and links, such as #4b4fcc.")
    background_color = ColourField(label="Background colour", help_text="Light or dark.")
    background_url = forms.CharField(
        label="Background picture",
        required=False,
        help_text="Texts on it have a ground of their own.",
        widget=forms.TextInput(attrs=PICTURE),
    )
    font = CardField(label="Font", cards=FONTS, is_small=True)
    corners = CardField(label="Corners", cards=CORNERS, is_small=True)
    branding = TextField(label="Branding", max_length=200, required=False)
    chart_emoji = TextField(
        label="Sign of a bar", max_length=16, required=False, help_text="One character or emoji."
    )

    def shown(self, name: str, value: Any) -> Any:
        if name in _NUMBERS:  # the first number follows the last, as on the page
            chosen = str((value - 1) % _NUMBERS[name] + 1) if isinstance(value, int) else ""
            return chosen or ("" if name == "theme_id" else "1")
        return super().shown(name, value)

    def after_saving(self) -> Sequence[str]:
        if not {*_COLOURS} & {*self.changed_data}:
            return ()
        return [*brands.corrections(*(self.cleaned_data[name] for name in _COLOURS))]

    def sent(self, name: str, value: Any) -> Any:
        return int(value) if name in _NUMBERS and value else super().sent(name, value)


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
    """The respondent's page with the look of the address, for the frame on the tab.

    With `notes`, the sentences about colours of the address that have too little contrast.
    """
    project, brand = page.project, _brand(request.GET)
    if "notes" in request.GET:
        return _notes(brand)
    chosen = {
        name: int(sent) if sent else None for name in _NUMBERS if (sent := request.GET.get(name)) in THEMES
    }
    words = {name: request.GET[name][:200] for name in ("name", "branding") if name in request.GET}
    looks = {**chosen, **brand, "branding": words.get("branding")}
    project.presentation = {**(project.presentation or {}), **looks}
    project.name = words.get("name") or project.name
    community = Community.objects.get(pk=project.community_id)
    return _drawn(_walk(project, page.at), community, previews.brand_of(project))


def community_preview(request: HttpRequest, community_id: int) -> HttpResponse:
    """A sample question with the brand of a community and of the address, for the frame on its page.

    With `notes`, as for a project. Raises Http404 for all but admins of the community.
    """
    acting.require_actor(request, community_id, least=Role.ADMIN)
    return _preview_of(request, community_id)


@require_safe
def _preview_of(request: HttpRequest, community_id: int) -> HttpResponse:
    brand = _brand(request.GET)
    if "notes" in request.GET:
        return _notes(brand)
    community = Community.objects.get(pk=community_id)
    project = Project(community=community, name=_SAMPLE_NAME, slug="sample")
    return _drawn(_sample_walk(project, timezone.now()), community, previews.brand_of(project) | brand)


def _notes(brand: Mapping[str, str | None]) -> JsonResponse:
    return JsonResponse({"notes": [*brands.corrections(*(brand.get(name) for name in _COLOURS))]})


def _drawn(walk: view.VisitorView, community: Community, brand: Mapping[str, str | None]) -> HttpResponse:
    """The respondent's page at the first step of a walk, for a frame of our own pages."""
    locale = previews.locale_of(walk.project)
    frame = theme.page_of(
        project=walk.project, community=community, locale=locale, is_framed=False, brand=brand
    )
    with in_language(frame.lang):
        screen = screens.first(walk, frame, votes=lambda block, has_voted: None)
        response = rendering.page(replace(frame, address=""), screen, Hidden(seal="", csrf=""))
    security.allow_own_frames(response)
    return response


def _brand(sent: Mapping[str, str]) -> dict[str, str | None]:
    """The brand of an address. Values that are not valid yet are left out."""
    allowed = {"font": FONTS, "corners": CORNERS}
    brand: dict[str, str | None] = {}
    for name in brands.FIELDS:
        value = sent.get(name, "").strip()[:MAX_LENGTH]
        if name in _COLOURS:
            value = value.removeprefix("#").lower()
            value = value if brands.is_colour(value) else ""
        elif name in allowed:
            value = value if value in allowed[name] else ""
        if name in sent:
            brand[name] = value or None
    return brand


def _walk(project: Project, at: datetime) -> view.VisitorView:
    walk = view.of_visitor(project=project, respondent=admission.NAMELESS, seed=1, at=at)
    return walk if any(block.asks for block in walk.script.blocks) else _sample_walk(project, at)


def _sample_walk(project: Project, at: datetime) -> view.VisitorView:
    state = runner.begin(_SAMPLE).state
    return view.VisitorView(
        project=project, script=_SAMPLE, state=state, seed=1, respondent=admission.NAMELESS, at=at
    )
