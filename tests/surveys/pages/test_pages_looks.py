"""Properties of the design that need no browser: contrast, themes, interviewers, direction."""

import re
from pathlib import Path

import pytest
from django.template import loader

from communities.models import Community
from surveys.drawing import theme
from surveys.models import Project
from tests.support.cases import try_each
from tests.support.surveys.looks import PAIRS, contrast, themes


def test_black_on_white_has_the_contrast_that_the_standard_names():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@try_each("scheme", ["light", "dark"])
@try_each("number", range(1, theme.THEMES + 1))
def test_every_pair_of_colours_has_contrast_enough(scheme, number):
    theme = themes(scheme)[number]

    weak = {
        f"{ink} on {ground}": round(contrast(theme[ink], theme[ground]), 2)
        for ink, ground, least in PAIRS
        if contrast(theme[ink], theme[ground]) < least
    }

    assert weak == {}


def test_there_are_as_many_themes_as_numbers():
    assert set(themes("light")) == set(themes("dark")) == set(range(1, theme.THEMES + 1))


def test_there_are_six_interviewers_and_each_is_drawn_differently():
    drawn = {loader.get_template(each.picture).render() for each in theme.INTERVIEWERS}

    assert len(drawn) == 6
    assert not any("style" in picture for picture in drawn)


def page(locale=None, **presentation):
    project = Project(name="A", type="convo", slug="abc", presentation=presentation or None)
    community = Community(name="C", tier="basic")
    return theme.page_of(project=project, community=community, locale=locale, is_framed=False)


@try_each(
    ("locale", "lang"),
    [(None, ""), ("de_CH", "de-CH"), ("ar", "ar"), ("he-IL", "he-IL"), ('"><script>', "")],
)
def test_the_locale_gives_the_language_of_the_script_and_without_one_it_is_not_called_english(locale, lang):
    assert page(locale).lang == (lang or "en")
    assert page(locale).text_attributes == f'lang="{lang}" dir="auto"'


@try_each(("given", "drawn"), [(1, 1), (8, 8), (9, 1), (0, 8), (None, 1)])
def test_any_theme_id_has_a_theme(given, drawn):
    assert page(theme_id=given).theme == drawn


def test_no_template_gives_an_author_s_text_a_direction_without_a_language():
    folder = Path(theme.__file__).parents[2] / "templates"
    texts = {
        path.name: re.findall(r"<[^>]*dir=\"auto\"[^>]*>", path.read_text())
        for part in ("respondent", "results", "account")
        for path in (folder / part).rglob("*.html")
    }

    assert sum(map(len, texts.values())) > 10
    bare = [tag for tags in texts.values() for tag in tags if "lang=" not in tag]
    assert set(bare) == {'<td dir="auto">'}  # figures
