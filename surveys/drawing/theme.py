"""The look of a project's page: theme, interviewer and language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from markupsafe import Markup

from communities.ground import brands
from communities.ground.brands import Look
from communities.ground.translation import ENGLISH, in_language, language_of, say
from communities.models import Community
from communities.services.pictures import copies
from communities.services.pictures.copies import Copy
from surveys.drawing.rich_text import OF_NO_LANGUAGE
from surveys.models import Project
from surveys.services.representations.project import web_url

THEMES = 8
# Parameters of a frame's address; with a hyphen, no declared field has these names.
THEME, ACCENT = "colloquy-theme", "colloquy-accent"
_CHOICES = {THEME: re.compile("[1-8]"), ACCENT: re.compile("[0-9A-Fa-f]{6}")}
_NO_COLOURS = dict.fromkeys(("accent_color", "background_color", "background_url"))
# Of the themes, by day: `survey.css` has them too.
ACCENTS = ("4b4fcc", "02736e", "8437b2", "bf2352", "995600", "137738", "016baa", "393d48")
LOGO_ROOM = (144, 40)  # pixels, at most
_POLL, _SURVEY = "A poll by {community}.", "A short conversation by {community}."
_NO_LOOK = Look()
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Interviewer:
    """A drawn character that asks the questions."""

    name: str
    picture: str  # the template of its SVG


INTERVIEWERS = tuple(
    Interviewer(name, f"respondent/interviewers/{number}.svg")
    for number, name in enumerate(("Mila", "Jonas", "Amara", "Kenji", "Leyla", "Ingrid"), start=1)
)


@dataclass(frozen=True, slots=True)
class Logo:
    """The picture of a brand in the header."""

    copy: Copy
    alt: str

    @property
    def size(self) -> tuple[int, int]:
        return self.copy.fitted(*LOGO_ROOM)

    @property
    def is_icon(self) -> bool:
        return max(self.copy.width, self.copy.height) <= 1.5 * min(self.copy.width, self.copy.height)


@dataclass(frozen=True, slots=True)
class Page:
    """The frame around a step. `address` is the URL that its forms post to.

    `lang` is the language of the community's surveys, else the reader's (rule 6.944). `text_attributes`
    belong to the elements with texts of the author or a respondent. Their `lang` is the language of the
    script, and empty if the community has chosen none.
    """

    title: str
    description: str
    lang: str
    text_attributes: Markup
    theme: int
    interviewer: Interviewer
    branding: str
    address: str
    is_framed: bool
    is_listed: bool
    draws_colours: bool
    privacy_url: str = ""  # of the community's privacy text
    keeps_drafts: bool = False  # the browser keeps unsent answers when it is closed
    canonical: str = ""  # the address under which search engines may list it; empty if they may not
    look: Look = _NO_LOOK
    logo: Logo | None = None
    is_test: bool = False  # of a test project, which search engines do not list
    card: str = ""  # the address of the picture that other sites show with a link

    @property
    def style(self) -> str:
        """The address of the brand's style sheet; empty for none."""
        return reverse("brand", args=[self.look.name]) if self.look != _NO_LOOK else ""

    @property
    def icon(self) -> str:
        """The address of the icon of a brand: its logo if that is about as high as wide, else its accent."""
        if self.logo and self.logo.is_icon:
            return self.logo.copy.path
        return reverse("pages:icon", args=[self.look.accent]) if self.look.accent else ""


# For pages that belong to no survey, such as error pages.
PLAIN = Page(
    title="",
    description="",
    lang=ENGLISH,
    text_attributes=OF_NO_LANGUAGE,
    theme=1,
    interviewer=INTERVIEWERS[0],
    branding="",
    address="",
    is_framed=False,
    is_listed=False,
    draws_colours=False,
)


def page_of(
    *,
    project: Project,
    community: Community,
    locale: str | None,
    is_framed: bool,
    at: datetime | None = None,
    privacy_url: str | None = None,
    brand: Mapping[str, str | None] | None = None,
    embedded: Mapping[str, str] = MappingProxyType({}),
    reads: str = "",
) -> Page:
    """Return the look of a project's page. Numbers beyond the last theme or interviewer wrap around.

    `at` is the time of a visit: other pages than those of visitors are not listed, nor is a page that nobody
    could answer on yet. `brand` is that of the community. Pictures of a brand take one statement.
    `embedded` are the parameters of a frame's address, by which the site around it chooses a theme and an
    accent. `reads` is the header Accept-Language, for a community that has chosen no language.
    """
    presentation = project.presentation or {}
    chosen = _chosen(embedded) if is_framed else {}
    if THEME in chosen:
        presentation = {**presentation, **_NO_COLOURS, "theme_id": int(chosen[THEME])}
    if ACCENT in chosen:
        presentation = {**presentation, "accent_color": chosen[ACCENT]}
    language = tag_of(locale)
    lang = language or language_of(reads)
    address = _address(project.slug)
    theme = _number(presentation, "theme_id", THEMES)
    own = brand_of(presentation, brand or {})
    copy_of = copies.in_community(community.pk, [own["logo_url"], own["background_url"]])
    look = _look(own, theme, copy_of.get(own["background_url"]))
    logo = copy_of.get(own["logo_url"])
    with in_language(lang):
        description = say(_POLL if project.is_poll else _SURVEY, community=community.name)
    return Page(
        title=project.name,
        description=description,
        lang=lang,
        text_attributes=_text_attributes(language),
        theme=theme,
        interviewer=interviewer_of(presentation),
        branding=presentation.get("branding") or "",
        address=f"{address}?{urlencode({'embed': 1, **chosen})}" if is_framed else address,
        is_framed=is_framed,
        is_listed=at is not None and project.is_public_at(at) and not is_framed and not community.is_test,
        draws_colours=community.tier != Community.TierName.BASIC,
        privacy_url=privacy_url or "",
        keeps_drafts=not project.is_anonymous,
        canonical=web_url(project) if project.indexed else "",
        look=look,
        logo=Logo(logo, community.name) if logo else None,
        is_test=community.is_test,
    )


def interviewer_of(presentation: Mapping[str, object] | None) -> Interviewer:
    """The character with the `interviewer_id` that a project has chosen, from 1; the first without one."""
    return INTERVIEWERS[_number(presentation or {}, "interviewer_id", len(INTERVIEWERS)) - 1]


def _chosen(parameters: Mapping[str, str]) -> dict[str, str]:
    """The look that the site around a frame has chosen (rule 6.235); anything else is left out."""
    sent = {name: parameters.get(name, "") for name in _CHOICES}
    return {name: value for name, value in sent.items() if _CHOICES[name].fullmatch(value)}


def brand_of(presentation: Mapping[str, Any], community: Mapping[str, str | None]) -> dict[str, str | None]:
    """The brand of a page: that of the project, field by field, else that of its community (rule 6.194).

    A theme that the project has chosen, and a background of its own, take the place of the community's
    colours and background.
    """
    own = {name: presentation.get(name) for name in brands.FIELDS}
    replaced: set[str] = set()
    if presentation.get("theme_id") is not None:
        replaced = {"accent_color", "background_color", "background_url"}
    elif own["background_color"] or own["background_url"]:
        replaced = {"background_color", "background_url"}
    return {name: own[name] or (None if name in replaced else community.get(name)) for name in brands.FIELDS}


def _look(brand: Mapping[str, str | None], theme: int, picture: Copy | None) -> Look:
    background, accent = brand["background_color"], brand["accent_color"]
    if background and not accent:
        accent = ACCENTS[theme - 1]
    return Look(
        accent.lower() if accent else None,
        background.lower() if background else None,
        brand["font"],
        brand["corners"],
        picture.name if picture else None,
    )


@lru_cache(maxsize=1024)
def _address(slug: str) -> str:
    return reverse("pages:respond", args=[slug])


@lru_cache(maxsize=1024)
def _text_attributes(language: str) -> Markup:
    return Markup('lang="{}" dir="auto"').format(language)


def tag_of(locale: str | None) -> str:
    """The language tag of a locale; empty for no locale, and for a locale that is no tag."""
    tag = (locale or "").replace("_", "-")
    return tag if _LANGUAGE_TAG.fullmatch(tag) else ""


def _number(presentation: Mapping[str, object], key: str, count: int) -> int:
    """Return the number at `key`, wrapped to 1 to `count`; 1 if it is not set."""
    wanted = presentation.get(key)
    return (wanted - 1) % count + 1 if isinstance(wanted, int) else 1
