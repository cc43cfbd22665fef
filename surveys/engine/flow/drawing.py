"""The drawing of a flow as SVG, down the page.

The drawing has classes and no styles: a style sheet defines its look.

    svg = drawing.svg(flow, keys=["a1", "b2"])    each block is a link to #block-<key>
    steps(flow, keys=...)                         the same as a list, for those who do not see it
    ends(flow, endings)                           the ends, in their order

Blocks are drawn below each other; a path that skips blocks is an arc on their right, with its condition above
it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from surveys.engine.flow.endings import Ending
from surveys.engine.flow.graph import END, NEVER_REACHED, Edge, Flow, Node, Run
from surveys.engine.flow.wording import MAX_WORDS

WIDTH = 640
_LEFT, _BOX_WIDTH, _BOX_HEIGHT = 20, 300, 56
_RIGHT = _LEFT + _BOX_WIDTH
_CENTER = _LEFT + _BOX_WIDTH // 2
_LANE = _RIGHT + 24  # the arcs' x
_GAP = 52  # between two boxes
_JOIN = 10  # below a box: where an arc that ends joins the line
_PART = 34  # below a box: where an arc begins, with its words above it
_STEP = _BOX_HEIGHT + _GAP
_TOP = 44  # the lower edge of the start
_HEAD = 5  # half the width of an arrow's head
_NAME_COLUMNS, _PROMPT_COLUMNS, _ARC_COLUMNS = 26, 42, 56

TYPES = {
    "single_punch": "One choice",
    "multi_punch": "Several choices",
    "open_text": "Text",
    "open_numeric": "Number",
    "rating": "Rating",
    "opinion_scale": "Opinion scale",
    "nps": "Net Promoter Score",
    "ranking": "Ranking",
    "content_block": "Statement",
    "action_block": "Action",
    "calculated_block": "Calculation",
}
_START = "Start"
OUT = "Screened out"
_EXIT, _EXIT_STEP, _EXIT_COLUMNS = _LANE + 26, 20, 40


def svg(flow: Flow, *, keys: Sequence[str], ends: Sequence[Ending] = ()) -> str:
    """The drawing; `keys` are the keys of the nodes, in order. Texts are shortened and escaped."""
    height = _top(len(flow.nodes)) + _BOX_HEIGHT + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="group" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" aria-label="The flow of the script">',
        _round(_START, _TOP - 22, "flow-start"),
        *(_ways(flow)),
        *(_box(node, n, key) for n, (node, key) in enumerate(zip(flow.nodes, keys, strict=True))),
        _round(END, _top(len(flow.nodes)), "flow-end"),
        *_exits(ends),
        "</svg>",
    ]
    return "".join(parts)


def steps(flow: Flow, *, keys: Sequence[str], ends: Sequence[Ending] = ()) -> list[dict[str, object]]:
    """The flow as a list: each block with its number, its key, its type, and its next blocks in words."""
    return [
        {
            "key": key,
            "number": n + 1,
            "title": node.title,
            "type": TYPES[node.type],
            "reach": node.reach,
            "shown": _shown(node),
            "next": [
                *(_leads_out(each) for each in ends if each.after == n),
                *(_leads(edge, flow) for edge in flow.edges_from(n) if node.reach != "never"),
            ],
        }
        for n, (node, key) in enumerate(zip(flow.nodes, keys, strict=True))
    ]


def ends(flow: Flow, endings: Sequence[Ending]) -> list[dict[str, object]]:
    """Each end with its condition in words, what it shows, and where it screens out."""
    return [
        {
            "words": None if each.words is None else _cut(each.words),
            "shows": each.shows,
            "screens_out": each.screens_out,
            "after": None if each.after is None or each.after < 0 else each.after + 1,
            "title": flow.nodes[each.after].title if each.after is not None and each.after >= 0 else None,
            "is_first": each.after == -1,
        }
        for each in endings
    ]


def _leads_out(end: Ending) -> dict[str, object]:
    return {"number": None, "title": OUT, "words": _cut(end.words or "")}


def _exits(ends: Sequence[Ending]) -> Iterator[str]:
    """The ends that screen out before the last block, on the right of the block that decides them."""
    of_blocks: dict[int, int] = {}
    for each in ends:
        if each.after is None:
            continue
        row = of_blocks[each.after] = of_blocks.get(each.after, -1) + 1
        y = (_top(each.after) + 16 if each.after >= 0 else _TOP - 16) + row * _EXIT_STEP
        begin = _RIGHT if each.after >= 0 else _CENTER + 45
        words = f"{OUT} {each.words}"
        yield (
            f'<g class="flow-out"><title>{_escaped(_cut(words))}</title>'
            f"{_line(f'M{begin} {y}H{_EXIT - 6}', 'flow-arc')}{_right_head(_EXIT - 6, y)}"
            f"{_text(words, _EXIT, y + 4, 'flow-words', _EXIT_COLUMNS)}</g>"
        )


def _shown(node: Node) -> str | None:
    """When a block is shown, or that it never is."""
    if node.reach == "never":
        return f"{NEVER_REACHED}: skipped {_cut(node.skipped or 'always')}"
    return _cut(node.shown) if node.shown is not None else None


def _leads(edge: Edge, flow: Flow) -> dict[str, object]:
    """The target of an edge: the number and title of a block, or the end."""
    is_end = edge.target == len(flow.nodes)
    return {
        "number": None if is_end else edge.target + 1,
        "title": END if is_end else flow.nodes[edge.target].title,
        "words": _cut(edge.words) if edge.words is not None else None,
    }


# --- Ways -------------------------------------------------------------------------------------------


def _ways(flow: Flow) -> list[str]:
    """The line from each block to the next, except into blocks that are never reached, and the arcs."""
    never = {n for run in flow.runs if run.reach == "never" for n in range(run.first, run.last + 1)}
    lines = []
    for n in range(len(flow.nodes) + 1):
        above = _top(n) - _GAP
        begin = above + _JOIN if n - 1 in never else above
        if n not in never:
            lines += [_line(f"M{_CENTER} {begin}V{_top(n)}", "flow-way"), _head(_CENTER, _top(n))]
        elif n - 1 not in never:
            lines.append(_line(f"M{_CENTER} {begin}V{above + _PART}", "flow-way"))
    return lines + [_arc(run) for run in flow.runs if run.reach != "always"]


def _arc(run: Run) -> str:
    """The arc that skips a run, from above its first block to below its last one."""
    part = _top(run.first) - _GAP + _PART
    join = _top(run.last) + _BOX_HEIGHT + _JOIN
    words = "always" if run.reach == "never" else run.skipped or ""
    path = _line(f"M{_CENTER} {part}H{_LANE}V{join}H{_CENTER}", "flow-arc")
    label = _text(words, _CENTER + 10, part - 5, "flow-words", _ARC_COLUMNS)
    title = f"<title>{_escaped(_cut(words))}</title>"
    return f'<g class="flow-past">{title}{path}{_left_head(_CENTER, join)}{label}</g>'


def _line(path: str, css_class: str) -> str:
    return f'<path class="{css_class}" d="{path}"/>'


def _head(x: int, y: int) -> str:
    return f'<path class="flow-head" d="M{x - _HEAD} {y - _HEAD - 2}L{x} {y}L{x + _HEAD} {y - _HEAD - 2}"/>'


def _right_head(x: int, y: int) -> str:
    return f'<path class="flow-head" d="M{x - _HEAD - 2} {y - _HEAD}L{x} {y}L{x - _HEAD - 2} {y + _HEAD}"/>'


def _left_head(x: int, y: int) -> str:
    return f'<path class="flow-head" d="M{x + _HEAD + 2} {y - _HEAD}L{x} {y}L{x + _HEAD + 2} {y + _HEAD}"/>'


# --- Boxes ------------------------------------------------------------------------------------------


def _top(n: int) -> int:
    """The upper edge of the n-th box."""
    return _TOP + _GAP + n * _STEP


def _round(text: str, y: int, css_class: str) -> str:
    """The start or the end."""
    box = f'<rect x="{_CENTER - 45}" y="{y}" width="90" height="22" rx="11"/>'
    words = f'<text x="{_CENTER}" y="{y + 15}" text-anchor="middle">{text}</text>'
    return f'<g class="{css_class}">{box}{words}</g>'


def _box(node: Node, n: int, key: str) -> str:
    """One block, as a link to its position in the editor."""
    y = _top(n)
    name = f"{n + 1} · {node.title}" if node.is_named else f"Block {n + 1}"
    kind = TYPES[node.type]
    is_never = node.reach == "never"
    css_class = f"flow-block flow-{node.section}{' flow-never' if is_never else ''}"
    label = ", ".join(filter(None, [name, kind, _shown(node), _cut(node.prompt)]))
    note = NEVER_REACHED if is_never else kind
    return (
        f"<a class={quoteattr(css_class)} href={quoteattr('#block-' + quote(key, safe=''))} "
        f"data-key={quoteattr(_clean(key))} aria-label={quoteattr(_clean(label))}>"
        f"<title>{_escaped(label)}</title>"
        f'<rect x="{_LEFT}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="8"/>'
        + _text(name, _LEFT + 12, y + 22, "flow-name", _NAME_COLUMNS)
        + _text(note, _RIGHT - 12, y + 22, "flow-type", _NAME_COLUMNS, anchor=' text-anchor="end"')
        + _text(node.prompt, _LEFT + 12, y + 43, "flow-prompt", _PROMPT_COLUMNS)
        + "</a>"
    )


# --- Texts ------------------------------------------------------------------------------------------


def _text(text: str, x: int, y: int, css_class: str, columns: int, *, anchor: str = "") -> str:
    return f'<text class="{css_class}" x="{x}" y="{y}"{anchor}>{_escaped(_fitted(text, columns))}</text>'


def _fitted(text: str, columns: int) -> str:
    """The beginning of a text that fits; East Asian characters and emojis are two columns wide."""
    used = 0
    for at, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns:
            return text[: max(at - 1, 0)].rstrip() + "…"
    return text


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1].rstrip() + "…"


def _escaped(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """The text without characters that XML does not allow."""
    return "".join(character if _is_allowed(character) else " " for character in text)


def _is_allowed(character: str) -> bool:
    return character >= " " and not "\ud800" <= character <= "\udfff" and character not in "\ufffe\uffff"
