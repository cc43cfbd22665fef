"""Badges drawn for achievements that have no picture of their own: the same number, the same badge.

Eight colours, seven signs and three mounts have no common divisor, so neighbours differ in everything that
they can and 168 numbers pass before a badge comes again.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import cos, pi, sin

SIZE = 128


@dataclass(frozen=True, slots=True)
class Tint:
    """Three shades of a colour: the face that the sign stands on, the rim, and what lies behind."""

    face: str
    rim: str
    behind: str


SIGN = "#fffaf0"
TINTS = (
    Tint("#4347b8", "#2b2e86", "#9aa0f5"),  # indigo
    Tint("#0f6e6e", "#084848", "#6cc7c2"),  # teal
    Tint("#a83a1e", "#742410", "#f0a384"),  # brick
    Tint("#7a3aa0", "#53236f", "#c99be6"),  # violet
    Tint("#2c6b2f", "#1a471c", "#8dc98b"),  # green
    Tint("#a62a5c", "#731a3e", "#f094b8"),  # raspberry
    Tint("#1d5f99", "#103f69", "#85bdea"),  # blue
    Tint("#85560b", "#5a3904", "#e5b95e"),  # bronze
)


def _points(*points: tuple[float, float]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _star(points: int, outer: float, inner: float) -> str:
    """The corners of a star around (0, 0), the first on top."""
    corners = ((n * pi / points - pi / 2, inner if n % 2 else outer) for n in range(2 * points))
    return _points(*((radius * cos(angle), radius * sin(angle)) for angle, radius in corners))


# Drawn around (0, 0), some 44 wide.
SIGNS = (
    f'<polygon points="{_star(5, 24, 10)}"/>',
    # A crown.
    '<path d="M-21 -11l10.5 9L0 -19l10.5 17L21 -11l-4 24h-34z"/>'
    '<rect x="-17" y="16" width="34" height="4" rx="2"/>',
    # A flash.
    '<path d="M5 -24L-15 4h12l-5 20L15 -6H3z"/>',
    # A heart.
    '<path d="M0 21C-30 1 -22 -19 -10 -19C-5 -19 -1.5 -16 0 -12C1.5 -16 5 -19 10 -19C22 -19 30 1 0 21z"/>',
    # A tick.
    '<path d="M-20 1l6.5 -6.5L-5 3L14.5 -16.5L21 -10L-5 16z"/>',
    # A gem.
    '<path d="M-12 -17h24l10 13L0 21L-22 -4z"/>',
    # A cup.
    '<path fill-rule="evenodd" d="M-13 -20h26v5h8c0 10 -4 16 -11 17c-2 3 -4 5 -7 6v6h7v6h-20v-6h7v-6'
    "c-3 -1 -5 -3 -7 -6c-7 -1 -11 -7 -11 -17h8zM-13 -11h-4c.5 5 2 7.5 5 8.5c-.7 -2.5 -1 -5.5 -1 -8.5z"
    'M13 -11h4c-.5 5 -2 7.5 -5 8.5c.7 -2.5 1 -5.5 1 -8.5z"/>',
)


def _medal(tint: Tint) -> str:
    """Two ribbons hang from it."""
    return (
        f'<path fill="{tint.behind}" d="M38 74L24 122l17 -7l10 13L66 84z"/>'
        f'<path fill="{tint.behind}" d="M90 74l14 48l-17 -7l-10 13L62 84z"/>'
    )


def _laurel(tint: Tint) -> str:
    """Leaves grow up both sides of it."""
    leaves = []
    for angle in range(14, 141, 21):  # degrees from the foot
        for side in (-1, 1):
            x = 64 + side * 53 * sin(angle * pi / 180)
            y = 60 + 53 * cos(angle * pi / 180)
            turned = f'transform="rotate({side * (62 - angle)} {x:.1f} {y:.1f})"'
            leaves.append(f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="11" ry="5" {turned}/>')
    return f'<g fill="{tint.behind}">{"".join(leaves)}</g>'


def _rays(tint: Tint) -> str:
    """It shines."""
    return f'<polygon transform="translate(64 60)" fill="{tint.behind}" points="{_star(24, 60, 50)}"/>'


MOUNTS = (_medal, _laurel, _rays)


def svg(number: int, name: str | None = None) -> str:
    """The badge of an achievement's number, as an SVG document; `name` is what a screen reader says."""
    tint = TINTS[number % len(TINTS)]
    title = "".join(sign for sign in name or f"Achievement {number}" if sign.isprintable())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}"'
        f' role="img"><title>{escape(title)}</title>'
        f"{MOUNTS[number % len(MOUNTS)](tint)}"
        f'<circle cx="64" cy="60" r="46" fill="{tint.rim}"/>'
        f'<circle cx="64" cy="60" r="40" fill="{tint.face}" stroke="{tint.behind}" stroke-width="2"/>'
        f'<g transform="translate(64 60)" fill="{SIGN}" stroke="{SIGN}" stroke-width="2"'
        f' stroke-linejoin="round">{SIGNS[number % len(SIGNS)]}</g></svg>'
    )
