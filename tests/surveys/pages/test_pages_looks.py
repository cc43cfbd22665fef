"""Properties of the design that need no browser: contrast, themes, interviewers, direction."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.template import loader

from communities.models import Community
from surveys.drawing import theme
from surveys.models import Project

STYLE = Path(str(finders.find("surveys/survey.css"))).read_text()
DARK = "@media (prefers-color-scheme: dark) {"
TEXT, LARGE = 4.5, 3.0  # WCAG 2.2 AA: 1.4.3 for text, 1.4.11 for the bounds of controls

PAIRS = [
    *(
        (ink, ground, TEXT)
        for ink in ("ink", "soft")
        for ground in ("page", "card", "tint", "bubble", "own-bubble")
    ),
    *((ink, ground, TEXT) for ink in ("accent-ink", "bad", "good") for ground in ("page", "card")),
    ("accent-ink", "tint", TEXT),
    ("on-accent", "accent", TEXT),
    ("page", "ink", TEXT),
    *((bound, ground, LARGE) for bound in ("line", "accent") for ground in ("page", "card")),
    ("star", "card", LARGE),
    ("line", "bubble", LARGE),
    ("accent", "bubble", LARGE),
]


def themes(scheme: str) -> dict[int, dict[str, str]]:
    """Theme number → its colours. Values that a theme leaves out are those of the root, which is theme 1."""
    light, _, rest = STYLE.partition(DARK)
    text = light if scheme == "light" else rest.partition("\n}")[0]
    root = dict(re.findall(r"--([\w-]+): (#\w{6});", re.findall(r":root \{(.*?)\}", text, re.S)[0]))
    found = {1: root}
    for number, body in re.findall(r'\[data-theme="(\d)"\] \{(.*?)\}', text, re.S):
        found[int(number)] = {**root, **dict(re.findall(r"--([\w-]+): (#\w{6});", body))}
    return found


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_black_on_white_has_the_contrast_that_the_standard_names():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("number", range(1, theme.THEMES + 1))
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


@pytest.mark.parametrize(
    ("locale", "lang"),
    [(None, ""), ("de_CH", "de-CH"), ("ar", "ar"), ("he-IL", "he-IL"), ('"><script>', "")],
)
def test_the_locale_gives_the_language_of_the_script_and_without_one_it_is_not_called_english(locale, lang):
    assert page(locale).lang == (lang or "en")
    assert page(locale).text_attributes == f'lang="{lang}" dir="auto"'


@pytest.mark.parametrize(("given", "drawn"), [(1, 1), (8, 8), (9, 1), (0, 8), (None, 1)])
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
