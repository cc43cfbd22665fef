"""The look of a project's page: theme, interviewer and language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.urls import reverse
from markupsafe import Markup

from communities.models import Community
from surveys import interviewers
from surveys.models import Project

THEMES = 8
_OF_NO_LANGUAGE = Markup('lang="" dir="auto"')
_LATIN_LETTER = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# Languages with other letters than Latin ones, or with both. All other languages count as Latin.
_OTHER_LETTERS = frozenset(
    re.findall(
        r"\w+",
        "am ar as ba be bg bn bo chr ckb cv dv dz el fa gu he hi hy iu ja ka kk km kn ko ks ky lo mk ml mn "
        "mr my ne or os pa ps ru sa sd sh si sr ta te tg th ti tk tt ug uk ur uz yi yue zh",
    )
)
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(frozen=True, slots=True)
class Interviewer:
    """A drawn character that asks the questions."""

    name: str
    picture: str  # the template of its SVG


INTERVIEWERS = tuple(
    Interviewer(name, f"respondent/interviewers/{number}.svg")
    for number, name in enumerate(interviewers.NAMES, start=1)
)


@dataclass(frozen=True, slots=True)
class Page:
    """The frame around a step. `address` is the URL that its forms post to.

    The interface of the page is English. `text_attributes` belong to the elements with texts of the author or
    a respondent. Their `lang` is the language of the script, and empty if no language was chosen. Then screen
    readers read numbers in English, the language `lang`.
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

    def attributes_of(self, text: str) -> Markup:
        """The `text_attributes` of one text.

        They contain no language that is written in other letters than the text.
        """
        if text.isascii() or _LATIN_LETTER.search(text) or _is_in_other_letters(self.lang):
            return self.text_attributes
        return _OF_NO_LANGUAGE if any(letter.isalpha() for letter in text) else self.text_attributes


# For pages that belong to no survey, such as error pages.
PLAIN = Page(
    title="",
    description="",
    lang="en",
    text_attributes=_OF_NO_LANGUAGE,
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
    privacy_url: str | None = None,
) -> Page:
    """Return the look of a project's page. Numbers beyond the last theme or interviewer wrap around."""
    presentation = project.presentation or {}
    language = _language(locale)
    address = _address(project.slug)
    return Page(
        title=project.name,
        description=f"{'A poll' if project.is_poll else 'A short conversation'} by {community.name}.",
        lang=language or "en",
        text_attributes=Markup('lang="{}" dir="auto"').format(language),
        theme=_number(presentation, "theme_id", THEMES),
        interviewer=INTERVIEWERS[interviewers.number_of(presentation) - 1],
        branding=presentation.get("branding") or "",
        address=f"{address}?embed=1" if is_framed else address,
        is_framed=is_framed,
        is_listed=project.participation == Project.Participation.OPEN_WEB and not is_framed,
        draws_colours=community.tier != Community.TierName.BASIC,
        privacy_url=privacy_url or "",
        keeps_drafts=not project.is_anonymous,
    )


def _is_in_other_letters(tag: str) -> bool:
    return tag.lower().partition("-")[0] in _OTHER_LETTERS


@lru_cache(maxsize=1024)
def _address(slug: str) -> str:
    return reverse("pages:respond", args=[slug])


def _language(locale: str | None) -> str:
    """The language tag of a locale; empty for no locale, and for a locale that is no tag."""
    tag = (locale or "").replace("_", "-")
    return tag if _LANGUAGE_TAG.fullmatch(tag) else ""


def _number(presentation: Mapping[str, object], key: str, count: int) -> int:
    """Return the number at `key`, wrapped to 1 to `count`; 1 if it is not set."""
    wanted = presentation.get(key)
    return (wanted - 1) % count + 1 if isinstance(wanted, int) else 1
