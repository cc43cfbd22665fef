"""Badges: one picture for each number, with enough contrast, served publicly."""

from xml.etree import ElementTree

from django.test import Client

from tests.support.cases import try_each
from xp import badges

SVG = "{http://www.w3.org/2000/svg}"


def title(picture: str) -> str | None:
    return ElementTree.fromstring(picture).findtext(f"{SVG}title")


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_each_number_has_its_own_picture_up_to_168() -> None:
    pictures = {badges.svg(number, "Same") for number in range(1, 169)}

    assert len(pictures) == 168
    assert badges.svg(7) == badges.svg(7)
    assert badges.svg(169, "Same") == badges.svg(1, "Same")


@try_each("number", [1, 2, 3, 4, 5, 6, 7, 8, 2**63 - 1])
def test_a_picture_is_valid_svg_with_a_title(number: int) -> None:
    assert title(badges.svg(number)) == f"Achievement {number}"


@try_each(
    ("name", "expected"),
    [
        ("Marathon", "Marathon"),
        ("<script>&\"'", "<script>&\"'"),
        ("Bell\x07 \x00rung", "Bell rung"),
        ("", "Achievement 5"),
    ],
)
def test_the_title_is_the_escaped_name(name: str, expected: str) -> None:
    assert title(badges.svg(5, name)) == expected


@try_each("tint", badges.TINTS)
def test_symbols_and_rims_have_enough_contrast(tint: badges.Tint) -> None:
    assert contrast(badges.SYMBOL_COLOUR, tint.face) >= 4.5
    assert contrast(tint.frame, tint.rim) >= 3


def test_a_badge_is_public_and_cacheable(client: Client) -> None:
    response = client.get("/badges/12.svg")

    assert response.status_code == 200
    assert response.content.decode() == badges.svg(12)
    assert response["Content-Type"] == "image/svg+xml"
    assert "public" in response["Cache-Control"]
    assert "max-age=604800" in response["Cache-Control"]
    assert not response.has_header("Vary")
    assert not response.cookies
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"].startswith("default-src 'self'")
