"""SVG badges for achievements without their own picture. A number always gives the same badge.

The counts of colours (8), symbols (7) and frames (3) have no common divisor. So consecutive numbers differ in
all three, and a badge repeats only after 168 numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import cos, pi, sin

SIZE = 128


@dataclass(frozen=True, slots=True)
class Tint:
    """Three shades of one colour: the face below the symbol, the rim around it, and the frame behind both."""

    face: str
    rim: str
    frame: str


SYMBOL_COLOUR = "#fffaf0"
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
    """The corners of a star around (0, 0), starting at the top."""
    corners = ((n * pi / points - pi / 2, inner if n % 2 else outer) for n in range(2 * points))
    return _points(*((radius * cos(angle), radius * sin(angle)) for angle, radius in corners))


# Centred on (0, 0), about 44 units wide.
SYMBOLS = (
    f'<polygon points="{_star(5, 24, 10)}"/>',
    # A crown.
    '<path d="M-21 -11l10.5 9L0 -19l10.5 17L21 -11l-4 24h-34z"/>'
    '<rect x="-17" y="16" width="34" height="4" rx="2"/>',
    # A lightning bolt.
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
    """Two ribbons below the badge."""
    return (
        f'<path fill="{tint.frame}" d="M38 74L24 122l17 -7l10 13L66 84z"/>'
        f'<path fill="{tint.frame}" d="M90 74l14 48l-17 -7l-10 13L62 84z"/>'
    )


def _laurel(tint: Tint) -> str:
    """Leaves on both sides of the badge."""
    leaves = []
    for angle in range(14, 141, 21):  # The angles are degrees from the bottom.
        for side in (-1, 1):
            x = 64 + side * 53 * sin(angle * pi / 180)
            y = 60 + 53 * cos(angle * pi / 180)
            rotation = f'transform="rotate({side * (62 - angle)} {x:.1f} {y:.1f})"'
            leaves.append(f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="11" ry="5" {rotation}/>')
    return f'<g fill="{tint.frame}">{"".join(leaves)}</g>'


def _rays(tint: Tint) -> str:
    """Rays around the badge."""
    return f'<polygon transform="translate(64 60)" fill="{tint.frame}" points="{_star(24, 60, 50)}"/>'


FRAMES = (_medal, _laurel, _rays)


def svg(number: int, name: str | None = None) -> str:
    """The badge for an achievement's number, as SVG. `name` becomes its title for screen readers."""
    tint = TINTS[number % len(TINTS)]
    title = "".join(letter for letter in name or f"Achievement {number}" if letter.isprintable())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}"'
        f' role="img"><title>{escape(title)}</title>'
        f"{FRAMES[number % len(FRAMES)](tint)}"
        f'<circle cx="64" cy="60" r="46" fill="{tint.rim}"/>'
        f'<circle cx="64" cy="60" r="40" fill="{tint.face}" stroke="{tint.frame}" stroke-width="2"/>'
        f'<g transform="translate(64 60)" fill="{SYMBOL_COLOUR}" stroke="{SYMBOL_COLOUR}" stroke-width="2"'
        f' stroke-linejoin="round">{SYMBOLS[number % len(SYMBOLS)]}</g></svg>'
    )
