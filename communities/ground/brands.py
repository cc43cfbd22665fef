"""The brand of a page: colours with enough contrast, a font, corners and a picture, as a style sheet.

A style sheet depends only on its address, which contains the whole `Look`. Colours that people could not read
or see are made darker or lighter, in small steps and with their hue; `corrections` describes the changes. The
contrast follows WCAG 2.2 AA.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

# Fonts that computers and phones already have, so no font is loaded.
FONTS = {
    "sans": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    "serif": 'ui-serif, "Iowan Old Style", Charter, Cambria, Georgia, "Noto Serif", "DejaVu Serif", serif',
    "rounded": 'ui-rounded, "SF Pro Rounded", "Hiragino Maru Gothic ProN", Nunito, Quicksand, Comfortaa, '
    '"Arial Rounded MT Bold", "Varela Round", system-ui, sans-serif',
}
CORNERS = {"round": "20px", "soft": "12px", "square": "0px"}
FIELDS = ("logo_url", "accent_color", "background_color", "background_url", "font", "corners")
"""The fields of a brand, in a community's settings and in a project's presentation."""

TEXT, LARGE = 4.5, 3.0
# The limits of a page's colour in relative luminance. On a page that is lighter than the first limit, black
# text is readable; on a page that is darker than the second, white text is. The same is true on cards and
# bubbles.
LIGHT, DARK = 0.30, 0.03
_NONE = "-"
_COLOUR = re.compile("[0-9a-f]{6}")
_PICTURE = re.compile("[A-Za-z0-9_-]{8,32}")
_STEP = 0.01

_SQUARE = ".bubble, .bubble img, .row .option, .cells .option, .entry, kbd { border-radius: 0 !important; }\n"
_ON_A_DARK_PAGE = """\
:root { color-scheme: dark; }
.logo { padding: .25rem; background: #fff; }
"""
# Texts outside of cards and bubbles get a background.
_ON_A_PICTURE = """\
.answers-as, .foot, .back .button, .placeholder, .lead, .aside, .pages, .unsaved label {
  padding: .5rem .75rem !important; border-radius: var(--round); background: var(--page) !important;
}
.foot { inline-size: fit-content; margin: 1rem auto; }
.foot:empty, .top::after { display: none !important; }
@media (forced-colors: active), (prefers-contrast: more), print { html { background-image: none; } }
"""

Palette = Mapping[str, str]
"""The custom properties of a style sheet, without their dashes."""


@dataclass(frozen=True, slots=True)
class Look:
    """The values that a style sheet shows. Colours have six digits, and `picture` is the name of a copy.

    None means the value of the theme.
    """

    accent: str | None = None
    background: str | None = None
    font: str | None = None
    corners: str | None = None
    picture: str | None = None

    @property
    def name(self) -> str:
        """The look in an address."""
        parts = (self.accent, self.background, self.font, self.corners, self.picture)
        return ".".join(part or _NONE for part in parts)


def look_of(name: str) -> Look | None:
    """The look with this name; None for a name that no look has."""
    parts = [None if part == _NONE else part for part in name.split(".")]
    if len(parts) != 5:
        return None
    accent, background, font, corners, picture = parts
    is_known = (
        all(colour is None or _COLOUR.fullmatch(colour) for colour in (accent, background))
        and (background is None or accent is not None)
        and (font is None or font in FONTS)
        and (corners is None or corners in CORNERS)
        and (picture is None or _PICTURE.fullmatch(picture))
    )
    return Look(accent, background, font, corners, picture) if is_known else None


def is_colour(text: str) -> bool:
    """Return whether a text is a colour in the form of looks: six hexadecimal digits in lower case."""
    return _COLOUR.fullmatch(text) is not None


def of(settings: object) -> dict[str, str | None]:
    """The brand in the settings of a community."""
    return {name: getattr(settings, name) for name in FIELDS}


def style_sheet(look: Look, *, picture: str = "") -> str:
    """The style sheet of a look. `picture` is the address of its picture."""
    root = []
    if look.corners:
        root.append(f"--round: {CORNERS[look.corners]};")
    sheet = "".join(_rules(look, picture))
    if look.accent:
        light, dark = (palette(look, scheme) for scheme in ("light", "dark"))
        root.append(_properties(light))
        sheet += f"@media (prefers-color-scheme: dark) {{ :root {{ {_properties(dark)} }} }}\n"
    return (f":root {{ {' '.join(root)} }}\n" if root else "") + sheet


def _rules(look: Look, picture: str) -> Iterator[str]:
    if look.font:
        yield f"html, kbd, .amount {{ font-family: {FONTS[look.font]}; }}\n"
    if look.corners == "square":
        yield _SQUARE
    if look.background and _is_dark_page(look.background):
        yield _ON_A_DARK_PAGE
    if picture:
        yield f'html {{ background: var(--page) url("{picture}") center / cover no-repeat fixed; }}\n'
        yield _ON_A_PICTURE


def _properties(colours: Palette) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


# --- Palettes ---------------------------------------------------------------------------------------


def palette(look: Look, scheme: str) -> Palette:
    """All colours of a page with this accent, and with this background if there is one."""
    assert look.accent
    page = background_in(look.background, scheme) if look.background else None
    is_dark = scheme == "dark" or (page is not None and luminance(page) <= DARK)
    return (_dark if is_dark else _light)(f"#{look.accent}", page)


def _light(accent: str, page: str | None) -> Palette:
    _, chroma, hue = _oklch(accent)
    tone = min(chroma, 0.06)

    def grey(lightness: float, share: float = 0.15) -> str:
        return _hex(lightness, tone * share, hue)

    page = page or grey(0.972, 0.12)
    card, bubble, tint = "#ffffff", grey(0.935), _hex(0.955, min(chroma, 0.025), hue)
    own_bubble = _hex(0.895, min(chroma, 0.055), hue)
    grounds = (page, card, tint, bubble, own_bubble)
    accent_used = _enough(accent, (page, card, bubble), LARGE, towards=-1)
    return {
        "page": page,
        "card": card,
        "hairline": grey(0.9),
        "line": _enough(grey(0.61), (page, card, bubble), LARGE, towards=-1),
        "ink": _enough(grey(0.22, 0.3), grounds, TEXT, towards=-1),
        "soft": _enough(grey(0.47, 0.3), grounds, TEXT, towards=-1),
        "accent": accent_used,
        "on-accent": _on(accent_used),
        "accent-ink": _enough(accent_used, (page, card, tint), TEXT, towards=-1),
        "tint": tint,
        "bubble": bubble,
        "own-bubble": own_bubble,
        "bad": _enough("#b3261e", (page, card), TEXT, towards=-1),
        "good": _enough("#1a6b3c", (page, card), TEXT, towards=-1),
        "star": "#a96b00",
    }


def _dark(accent: str, page: str | None) -> Palette:
    _, chroma, hue = _oklch(accent)
    page = page or _hex(0.17, min(chroma, 0.012), hue)
    lightness, own, own_hue = _oklch(page)
    start = max(lightness, 0.13)  # Below this lightness, steps are too small to be seen.
    own = min(own, 0.05)
    if own < 0.005:
        own, own_hue = min(chroma, 0.012), hue

    def above(step: float) -> str:
        return _hex(start + step, own, own_hue)

    card, bubble = above(0.045), above(0.095)
    tint = _hex(start + 0.11, min(chroma, 0.04), hue)
    own_bubble = _hex(start + 0.16, min(chroma, 0.06), hue)
    grounds = (page, card, tint, bubble, own_bubble)
    accent_used = _enough(accent, (page, card, bubble), LARGE, towards=1)
    return {
        "page": page,
        "card": card,
        "hairline": above(0.14),
        "line": _enough(above(0.4), (page, card, bubble), LARGE, towards=1),
        "ink": _enough(_hex(0.95, min(chroma, 0.008), hue), grounds, TEXT, towards=1),
        "soft": _enough(_hex(0.74, min(chroma, 0.015), hue), grounds, TEXT, towards=1),
        "accent": accent_used,
        "on-accent": _on(accent_used),
        "accent-ink": _enough(accent_used, (page, card, tint), TEXT, towards=1),
        "tint": tint,
        "bubble": bubble,
        "own-bubble": own_bubble,
        "bad": _enough("#ffb4ab", (page, card), TEXT, towards=1),
        "good": _enough("#7fd6a0", (page, card), TEXT, towards=1),
        "star": _enough("#edb345", (card,), LARGE, towards=1),
    }


def background_in(background: str, scheme: str) -> str:
    """Return the colour of the page for a background: the background itself if texts are readable on it, else
    the nearest readable colour.

    In the dark scheme, a light background becomes a dark background of the same hue.
    """
    colour = f"#{background}"
    lightness, chroma, hue = _oklch(colour)
    if scheme == "dark":
        return colour if luminance(colour) <= DARK else _hex(0.17, min(chroma, 0.03), hue)
    if luminance(colour) <= DARK or luminance(colour) >= LIGHT:
        return colour
    lighter, darker = _moved(colour, 1), _moved(colour, -1)
    to_lighter, to_darker = _oklch(lighter)[0] - lightness, lightness - _oklch(darker)[0]
    return lighter if to_lighter <= to_darker else darker


def _moved(colour: str, towards: int) -> str:
    """Return the nearest colour that a page may have. The colour is lighter or darker by the sign of
    `towards`.
    """
    lightness, chroma, hue = _oklch(colour)
    while DARK < luminance(colour) < LIGHT:
        lightness += towards * _STEP
        colour = _hex(lightness, chroma, hue)
    return colour


def _is_dark_page(background: str) -> bool:
    return luminance(background_in(background, "light")) <= DARK


def corrections(accent: str | None, background: str | None) -> Iterator[str]:
    """Yield sentences about the colours that a page shows instead of the chosen ones, if people see a
    difference.
    """
    if background:
        chosen, used = f"#{background.lower()}", background_in(background.lower(), "light")
        if used != chosen:
            yield f"{chosen} leaves too little contrast as a background; {used} is used."
    if not accent:
        return
    look = Look(accent.lower(), background.lower() if background else None)
    chosen = f"#{look.accent}"
    light, dark = (palette(look, scheme) for scheme in ("light", "dark"))
    if _differ(light["accent"], chosen):
        is_darker = luminance(light["accent"]) < luminance(chosen)
        yield f"{chosen} is too {'light' if is_darker else 'dark'} for this page; {light['accent']} is used."
    if _differ(dark["accent"], chosen) and _differ(dark["accent"], light["accent"]):
        yield f"{chosen} is too dark for the dark scheme; {dark['accent']} is used there."
    if _differ(light["accent-ink"], light["accent"]):
        yield f"Links and other texts in this colour are {light['accent-ink']}, so that they can be read."


def _differ(one: str, other: str) -> bool:
    """Return whether people who look closely see which of two colours of one hue is lighter."""
    return abs(_oklch(one)[0] - _oklch(other)[0]) > 4 * _STEP


# --- Colours ----------------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of a colour such as `#4b4fcc`."""
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _enough(colour: str, grounds: Iterable[str], least: float, *, towards: int) -> str:
    """Return the nearest colour, darker or lighter, that has this contrast on all grounds."""
    grounds = tuple(grounds)
    lightness, chroma, hue = _oklch(colour)
    end = 1.0 if towards > 0 else 0.0
    while min(contrast(colour, ground) for ground in grounds) < least and lightness != end:
        lightness = min(max(lightness + towards * _STEP, 0.0), 1.0)
        colour = _hex(lightness, chroma, hue)
    return colour


def _on(colour: str) -> str:
    """Return the colour of texts on a colour: white if it has enough contrast, else black."""
    return "#ffffff" if contrast("#ffffff", colour) >= TEXT else "#000000"


def _linear(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    return _decoded(red), _decoded(green), _decoded(blue)


def _decoded(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _encoded(part: float) -> float:
    return part * 12.92 if part <= 0.0031308 else float(1.055 * part ** (1 / 2.4) - 0.055)


def _oklch(colour: str) -> tuple[float, float, float]:
    """Lightness, chroma and hue as eyes see them (Oklab, B. Ottosson)."""
    red, green, blue = _linear(colour)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    lightness = 0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return lightness, math.hypot(a, b), math.atan2(b, a)


def _hex(lightness: float, chroma: float, hue: float) -> str:
    """Return the colour in hexadecimal digits, with less chroma if screens cannot show so much."""
    while True:
        parts = _rgb(lightness, chroma, hue)
        if chroma < 0.001 or all(-0.0005 <= part <= 1.0005 for part in parts):
            return "#" + "".join(f"{round(_encoded(min(max(part, 0), 1)) * 255):02x}" for part in parts)
        chroma *= 0.9


def _rgb(lightness: float, chroma: float, hue: float) -> tuple[float, float, float]:
    a, b = chroma * math.cos(hue), chroma * math.sin(hue)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
