"""Previews of links: the picture that we draw, its address, and the icon of a page."""

from __future__ import annotations

import html
import io
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client
from PIL import Image

from communities.ground.errors import Unavailable
from communities.models import Community
from surveys.drawing import lettering, link_card
from surveys.drawing.figures import picture
from surveys.drawing.link_card import LinkCard
from surveys.models import Project
from tests.factories import MemberFactory
from tests.support.caller import TEXT, Caller
from tests.support.cases import try_each
from tests.support.pictures import copied
from tests.support.surveys.looks import LOGO, OPEN_WEB, opened

LONG = "A conversation about everything that happened " * 5


def head(address: str, **query: str) -> dict[str, str]:
    """The content of the meta elements of a page, by name."""
    page = Client().get(address, query).content.decode()
    found = re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)"', page)
    return {name: html.unescape(content) for name, content in found}


def drawn(card: LinkCard) -> Image.Image:
    return Image.open(io.BytesIO(link_card.png(card)))


def colours_of(picture: Image.Image) -> set[tuple[int, ...]]:
    counted = picture.convert("RGB").getcolors(maxcolors=2**20)
    assert counted is not None
    return {colour for _, colour in counted if isinstance(colour, tuple)}


@pytest.mark.django_db
def test_cards_and_charts_wait_a_second_for_others() -> None:
    """Rule 11.842."""
    browser = Client(raise_request_exception=False)
    address = opened(Caller(), accent_color="4a6b2f")  # No other test draws this card.

    with link_card._one_at_a_time.held("", timeout=0, busy="", retry_after=1):
        refused = browser.get(f"{address}/card.png")
    with picture._one_at_a_time.held("", timeout=0, busy="", retry_after=1), pytest.raises(Unavailable):
        picture.png(picture.Drawing({}, ""))

    assert (refused.status_code, refused["Retry-After"]) == (503, "2")
    assert browser.get(f"{address}/card.png").status_code == 200


@pytest.mark.django_db
def test_a_page_names_a_picture_that_we_drew() -> None:
    """Rule 6.198."""
    caller = Caller()
    address = opened(caller, accent_color="c2185b")

    meta = head(address)

    where = urlsplit(meta["og:image"])
    assert meta["og:image"].startswith(f"{settings.BASE_URL}{address}/card.png?v=")
    assert meta["twitter:card"] == "summary_large_image"
    assert meta["og:description"] == f"A short conversation by {caller.community.name}."
    served = Client().get(f"{where.path}?{where.query}")
    assert (served.status_code, served["Content-Type"]) == (200, "image/png")
    assert served["Cache-Control"] == "public, max-age=31536000, immutable"
    picture = Image.open(io.BytesIO(served.content))
    assert picture.size == (1200, 630)
    assert (0xC2, 0x18, 0x5B) in colours_of(picture)
    assert len(served.content) < 100_000
    assert "Set-Cookie" not in served


@pytest.mark.django_db
def test_another_title_or_logo_has_another_address() -> None:
    """Rule 6.198."""
    caller = Caller()
    address = opened(caller)
    first = head(address)["og:image"]

    Project.objects.update(name="Another year")
    second = head(address)["og:image"]
    copied(caller.community.pk, LOGO)
    caller.patch("/settings", {"logo_url": LOGO})
    third = head(address)["og:image"]

    assert len({first, second, third}) == 3
    outdated = Client().get(f"{address}/card.png?v=0")
    assert outdated["Cache-Control"] == "public, max-age=300"


@pytest.mark.django_db
def test_a_logo_is_part_of_the_picture() -> None:
    caller = Caller()
    copy = copied(caller.community.pk, LOGO, width=400, height=100)

    teal = (0, 128, 128)
    assert teal in colours_of(drawn(LinkCard("A", "B", "c2185b", "fff3e0", copy.name)))
    assert teal not in colours_of(drawn(LinkCard("A", "B", "c2185b", "fff3e0", "gone")))


@try_each(
    "title",
    ["A", LONG, "W" * 200, "Thé? ☕", "שלום", "会話", "", "—", "’Tis “quoted” – or not…", "👩‍🚀"],
)
def test_any_title_is_drawn_or_left_out(title: str) -> None:
    """Rule 6.198."""
    picture = drawn(LinkCard(title, title, "4b4fcc", None, ""))

    assert picture.size == link_card.SIZE


def test_a_title_whose_letters_no_font_has_is_left_out() -> None:
    """Rule 6.198."""
    symbols = "\ufdd0\ufdd1"  # these never have a glyph

    assert lettering.drawable(symbols) == ""
    assert lettering.drawable("Tea? ☕") == "Tea?"
    assert (
        drawn(LinkCard(symbols, "Club", "4b4fcc", None, "")).tobytes()
        == drawn(LinkCard("", "Club", "4b4fcc", None, "")).tobytes()
    )


def test_the_font_of_pillow_draws_english_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 6.198."""
    monkeypatch.setattr(lettering, "_path", lambda *_: None)

    assert lettering.drawable("’Tis “quoted” – or not…") == '\'Tis "quoted" - or not...'
    assert lettering.drawable("Größe") == ""
    assert len(colours_of(drawn(LinkCard("Titles", "Club", "4b4fcc", None, "")))) > 5


def test_long_titles_stay_on_the_card() -> None:
    font, lines = link_card._fitted(LONG, 1040, 360)

    assert len(lines) <= link_card.MAX_LINES
    assert lines[-1].endswith("...")
    assert max(font.getlength(line) for line in lines) <= 1040


@pytest.mark.django_db
def test_a_card_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    address = opened(Caller())
    drawings: list[LinkCard] = []
    draw = link_card._png

    def noted(card: LinkCard) -> bytes:
        drawings.append(card)
        return draw(card)

    monkeypatch.setattr(link_card, "_png", noted)
    link_card.png.cache_clear()

    for _ in range(3):
        assert Client().get(f"{address}/card.png").status_code == 200

    assert len(drawings) == 1


@pytest.mark.django_db
def test_only_pages_that_anybody_may_open_have_a_picture() -> None:
    """Rule 6.199."""
    caller = Caller()
    made = caller.make_open(TEXT)
    address = f"/s/{Project.objects.get(pk=made['id']).slug}"

    assert "og:image" not in head(address)
    assert Client().get(f"{address}/card.png").status_code == 404
    assert Client().get("/s/nothing/card.png").status_code == 404
    assert "og:image" not in head(opened(caller), embed="1")


@pytest.mark.django_db
def test_a_page_has_a_picture_from_its_opening_on() -> None:
    """Rule 6.199."""
    caller = Caller()
    made = caller.make(TEXT, **OPEN_WEB)
    address = f"/s/{Project.objects.get(pk=made['id']).slug}"
    Project.objects.update(indexed=True)

    def listing() -> tuple[bool, bool, int]:
        meta = head(address)
        return (
            "og:image" in meta,
            meta.get("robots") != "noindex",
            Client().get(f"{address}/card.png").status_code,
        )

    assert listing() == (False, False, 404)
    assert "og:title" not in head(address)
    caller.post(f"/projects/{made['id']}/open")
    assert listing() == (True, True, 200)
    caller.post(f"/projects/{made['id']}/close")
    assert listing() == (True, True, 200)


@pytest.mark.django_db
def test_the_page_of_a_personal_link_has_no_preview() -> None:
    """Rule 6.199."""
    caller = Caller()
    made = caller.make_open(TEXT, **OPEN_WEB)
    member = MemberFactory.create(community=caller.community)
    sent: Any = caller.post(f"/projects/{made['id']}/links", {"member_id": str(member.pk)})
    assert sent.status_code == 201, sent.content
    url = urlsplit(sent.json()["url"])

    page = Client().get(f"{url.path}?{url.query}", follow=True).content.decode()

    assert "og:" not in page
    assert "noindex" in page


# --- Icons --------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_icon_is_a_square_logo_or_has_the_accent() -> None:
    """Rule 6.199."""
    caller = Caller()
    square, wide = "https://club.example/square.png", "https://club.example/wide.png"
    copy = copied(caller.community.pk, square, width=90, height=80)
    copied(caller.community.pk, wide, width=400, height=80)

    def icon(**brand: str) -> str:
        page = Client().get(opened(caller, **brand)).content.decode()
        return re.findall(r'<link rel="icon" href="([^"]+)"', page)[0]

    assert icon().endswith("icon.svg")
    assert icon(logo_url=square, accent_color="C2185B") == f"/pictures/{copy.name}"
    assert icon(logo_url=wide, accent_color="C2185B") == "/brands/c2185b.svg"
    served = Client().get("/brands/c2185b.svg")
    assert served["Content-Type"] == "image/svg+xml"
    assert b'fill="#c2185b"' in served.content
    assert Client().get("/brands/red.svg").status_code == 404
    assert Community.objects.count() == 1
