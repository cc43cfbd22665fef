"""Brands of communities and projects: colours with enough contrast, logos, fonts and corners on pages."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from hypothesis import example, given, settings
from hypothesis import strategies as st

from communities.ground import brands
from communities.ground.brands import Look
from communities.models import CommunitySettings
from surveys.drawing import theme
from surveys.models import Project
from tests.support.caller import TEXT, Caller, faults
from tests.support.cases import try_each
from tests.support.pictures import copied, foreign_pictures
from tests.support.staff import Staff
from tests.support.surveys.looks import LOGO, OPEN_WEB, PAIRS, contrast, opened, themes

GROUND = "https://club.example/ground.png"
COLOURS = st.from_regex("[0-9a-f]{6}", fullmatch=True)


# --- Colours ----------------------------------------------------------------------------------------


@given(accent=COLOURS, background=st.none() | COLOURS)
@example(accent="ffee00", background=None)
@example(accent="ffffff", background="ffffff")
@example(accent="000000", background="000000")
@example(accent="7f7f7f", background="7f7f7f")
@example(accent="0055ff", background="ff6600")
@settings(max_examples=40, deadline=None)
def test_any_two_colours_become_a_palette_with_contrast_enough(accent: str, background: str | None) -> None:
    """Rule 6.195."""
    for scheme in ("light", "dark"):
        colours = brands.palette(Look(accent, background), scheme)

        weak = {
            f"{ink} on {ground}": contrast(colours[ink], colours[ground])
            for ink, ground, least in PAIRS
            if contrast(colours[ink], colours[ground]) < least
        }
        assert weak == {}
        assert set(colours) == set(themes("light")[1])


def test_colours_with_contrast_enough_are_shown_as_they_are() -> None:
    """Rule 6.195."""
    light = brands.palette(Look("e30613", "fff3e0"), "light")
    dark = brands.palette(Look("8fd0ff", "101040"), "light")

    assert (light["accent"], light["page"]) == ("#e30613", "#fff3e0")
    assert (dark["accent"], dark["page"], dark["on-accent"]) == ("#8fd0ff", "#101040", "#000000")
    assert list(brands.corrections("C2185B", None)) == []


def test_what_is_corrected_is_said() -> None:
    """Rule 6.195."""
    said = list(brands.corrections("FFEE00", "ff00aa"))

    used = brands.background_in("ff00aa", "light")
    assert said[0] == f"#ff00aa leaves too little contrast as a background; {used} is used."
    assert said[1].startswith("#ffee00 is too light for this page; #")
    assert list(brands.corrections(None, None)) == []


def test_the_accents_of_themes_are_those_of_the_style_sheet() -> None:
    assert [f"#{accent}" for accent in theme.ACCENTS] == [each["accent"] for each in themes("light").values()]


# --- Style sheets -------------------------------------------------------------------------------------


@try_each(
    "look",
    [
        Look(accent="4b4fcc"),
        Look("4b4fcc", "fff3e0", "serif", "square", "c2Vuc2libGUgcGljdHVy"),
        Look(font="rounded"),
        Look(corners="round"),
    ],
)
def test_an_address_contains_the_whole_look(look: Look) -> None:
    assert brands.look_of(look.name) == look

    served = Client().get(f"/brands/{look.name}.css")

    assert (served.status_code, served["Content-Type"]) == (200, "text/css; charset=utf-8")
    assert served["Cache-Control"] == "public, max-age=86400"
    sheet = served.content.decode()
    assert sheet.count("{") == sheet.count("}")
    assert ("--accent:" in sheet) == bool(look.accent)
    assert ("prefers-color-scheme: dark" in sheet) == bool(look.accent)
    assert ("font-family" in sheet) == bool(look.font)
    assert (f'url("/pictures/{look.picture}")' in sheet) == bool(look.picture)


@try_each(
    "name",
    ["x", "-.-.-.-", "4b4fcc.-.-.-.-.-", "4B4FCC.-.-.-.-", "-.ffffff.-.-.-", "-.-.comic.-.-", "-.-.-.oval.-",
     '-.-.-.-.a")}b{', "red;}.-.-.-.-"],
)  # fmt: skip
def test_other_addresses_are_not_found(name: str) -> None:
    assert Client().get(f"/brands/{name}.css").status_code == 404


# --- Pages --------------------------------------------------------------------------------------------


def drawn(address: str) -> str:
    response = Client().get(address)
    assert response.status_code == 200
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'; img-src 'self' data:" in policy
    return response.content.decode()


def style_of(page: str) -> str | None:
    found = re.search(r'href="/brands/([^"]+)\.css"', page)
    return found[1] if found else None


@pytest.mark.django_db
def test_a_page_without_a_brand_loads_nothing_more() -> None:
    page = drawn(opened(Caller()))

    assert style_of(page) is None
    assert 'class="logo"' not in page


@pytest.mark.django_db
def test_pages_show_the_brand_of_the_community() -> None:
    """Rule 6.194."""
    caller = Caller()
    copy = copied(caller.community.pk, LOGO, width=400, height=100)
    brand = {"logo_url": LOGO, "accent_color": "C2185B", "font": "serif", "corners": "square"}
    assert caller.patch("/settings", brand).status_code == 200

    page = drawn(opened(caller))

    assert style_of(page) == "c2185b.-.serif.square.-"
    (logo,) = re.findall(r'<img class="logo"[^>]*>', page)
    assert f'src="/pictures/{copy.name}"' in logo
    assert 'width="144"' in logo
    assert 'height="36"' in logo
    assert f'alt="{caller.community.name}"' in logo
    assert foreign_pictures(page) == []


@pytest.mark.django_db
def test_a_project_has_its_own_brand_field_by_field() -> None:
    """Rule 6.194."""
    caller = Caller()
    copied(caller.community.pk, GROUND)
    brand = {"accent_color": "c2185b", "background_url": GROUND, "font": "serif"}
    caller.patch("/settings", brand)

    shown = [
        (style_of(drawn(opened(caller, **own))) or "").split(".")
        for own in (
            {"corners": "round"},
            {"accent_color": "006644", "font": "sans"},
            {"theme_id": 5},
            {"background_color": "fff3e0"},
            {"theme_id": 5, "background_color": "fff3e0"},
        )
    ]

    assert [each[:4] for each in shown] == [
        ["c2185b", "-", "serif", "round"],
        ["006644", "-", "sans", "-"],
        ["-", "-", "serif", "-"],
        ["c2185b", "fff3e0", "serif", "-"],
        [theme.ACCENTS[4], "fff3e0", "serif", "-"],
    ]
    assert [each[4] != "-" for each in shown] == [True, True, False, False, False]


@pytest.mark.django_db
def test_shared_results_show_the_brand_too() -> None:
    """Rule 6.194."""
    caller = Caller()
    caller.patch("/settings", {"accent_color": "c2185b"})
    made = caller.make_open(
        TEXT, settings={"share_results": True}, presentation={"font": "serif"}, **OPEN_WEB
    )
    token = Project.objects.get(pk=made["id"]).results_token

    assert style_of(drawn(f"/r/{token}")) == "c2185b.-.serif.-.-"


@pytest.mark.django_db
def test_a_dead_address_of_a_logo_shows_nothing() -> None:
    """Rule 6.194."""
    caller = Caller()
    address = opened(caller, logo_url=LOGO, background_url=GROUND)

    page = drawn(address)

    assert "<img" not in page
    assert style_of(page) is None


@pytest.mark.django_db
def test_a_page_with_a_brand_stays_light() -> None:
    look = Look("c2185b", "fff3e0", "rounded", "round", "c2Vuc2libGUgcGljdHVy")

    assert len(brands.style_sheet(look, picture="/pictures/c2Vuc2libGUgcGljdHVy")) < 3_000


# --- The interface ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("accent_color", "red", "invalid"),
        ("accent_color", "#4b4fcc", "invalid"),
        ("background_color", 7, "invalid_type"),
        ("font", "Comic Sans", "invalid_choice"),
        ("corners", "oval", "invalid_choice"),
        ("logo_url", "http://club.example/a.png", None),
        ("background_url", "https://127.0.0.1/a.png", "not_allowed"),
    ],
)
@pytest.mark.django_db
def test_bad_values_of_a_brand_are_refused_by_name(name: str, value: object, code: str | None) -> None:
    """Rule 6.196."""
    caller = Caller()
    made = caller.make(TEXT)

    of_settings = caller.patch("/settings", {name: value})
    of_project = caller.patch(f"/projects/{made['id']}", {"presentation": {name: value}})

    assert of_settings.status_code == of_project.status_code == 400
    assert {field for field, _ in faults(of_settings)} == {name}
    assert {field for field, _ in faults(of_project)} == {f"presentation.{name}"}
    if code:
        assert {each for _, each in faults(of_settings)} == {code}


@pytest.mark.django_db
def test_a_copy_keeps_the_brand() -> None:
    """Rule 6.196."""
    caller = Caller()
    made = caller.make(TEXT, presentation={"accent_color": "c2185b", "font": "serif"})

    copy = caller.post(f"/projects/{made['id']}/clone").json()

    assert copy["presentation"] == made["presentation"]
    assert (copy["presentation"]["accent_color"], copy["presentation"]["corners"]) == ("c2185b", None)


# --- Pages for staff ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_staff_see_the_brand_and_what_is_corrected_before_they_save() -> None:
    """Rule 6.197."""
    staff = Staff()
    made = Caller("admin", community=staff.community).make(TEXT)
    address = f"/admin/surveys/project/{made['id']}/look/preview/"

    page = staff.client.get(address, {"accent_color": "#FFEE00", "font": "serif", "theme_id": ""})
    half = staff.client.get(address, {"accent_color": "#FFE", "font": "x"})
    notes = staff.client.get(address, {"accent_color": "ffee00", "notes": ""})

    assert style_of(page.content.decode()) == "ffee00.-.serif.-.-"
    assert style_of(half.content.decode()) is None
    assert notes.json()["notes"][0].startswith("#ffee00 is too light for this page; #")


@pytest.mark.django_db
def test_the_community_s_page_saves_a_brand_and_says_what_is_corrected() -> None:
    """Rule 6.197."""
    staff = Staff()
    address = f"/admin/communities/communitysettings/{staff.community.pk}/change/"
    form = staff.client.get(address).context["form"]
    sent = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in sent.items() if value not in (None, False)}
    sent |= {f"initial-{name}": value for name, value in sent.items()}

    answer = staff.client.post(address, {**sent, "accent_color": "#FFEE00", "corners": "round"}, follow=True)

    saved = CommunitySettings.objects.get(pk=staff.community.pk)
    assert (saved.accent_color, saved.corners, saved.font) == ("ffee00", "round", None)
    assert "#ffee00 is too light for this page" in answer.content.decode()
