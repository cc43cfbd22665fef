"""The drawing of a flow: valid XML, no styles or scripts, links to blocks, and an equivalent list."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from surveys.engine.flow import drawing, endings, graph
from tests.support.engine import script_builder

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script> & \x00\x0b\ud800 [x] \'" onload=x'
SCRIPT = script_builder.script(
    {
        "type": "single_punch",
        "name": "game",
        "prompt": "Which?",
        "options": ["chess", "go"],
        "required": True,
    },
    {"type": "open_text", "name": "why", "prompt": "Why?", "precondition": 'NOT((game = "chess"))'},
    {"type": "nps", "name": "never", "prompt": HOSTILE, "precondition": 'game != "chess" OR game != "go"'},
    {"type": "content_block", "name": "bye", "prompt": "棋" * 60},
)
KEYS = ["1", "new 2", '"><x', "b/4"]


def drawn(script: Any = SCRIPT, keys: list[str] = KEYS) -> ET.Element:
    return ET.fromstring(drawing.svg(graph.of_script(script), keys=keys))


def test_each_block_is_a_link_with_a_title() -> None:
    links = drawn().findall(f"{NS}a")

    assert [link.get("href") for link in links] == [
        "#block-1",
        "#block-new%202",
        "#block-%22%3E%3Cx",
        "#block-b%2F4",
    ]
    assert [link.get("data-key") for link in links] == KEYS
    assert links[1].findtext(f"{NS}title") == "2 · why, Text, when game is chess, Why?"
    assert links[1].get("aria-label") == links[1].findtext(f"{NS}title")


def test_a_block_that_is_never_reached_says_so() -> None:
    never = drawn().findall(f"{NS}a")[2]

    assert "flow-never" in (never.get("class") or "").split()
    assert "never reached" in [text.text for text in never.findall(f"{NS}text")]


def test_ways_past_blocks_carry_their_conditions() -> None:
    past = drawn().findall(f"{NS}g[@class='flow-past']")

    assert [way.findtext(f"{NS}title") for way in past] == ["unless game is chess", "always"]
    assert [way.findtext(f"{NS}text") for way in past] == ["unless game is chess", "always"]


def test_long_texts_are_shortened() -> None:
    prompt = drawn().findall(f"{NS}a")[3].find(f"{NS}text[@class='flow-prompt']")

    assert prompt is not None
    assert prompt.text == "棋" * 20 + "…"


def test_the_list_says_where_each_block_leads() -> None:
    first, second, third, last = drawing.steps(graph.of_script(SCRIPT), keys=KEYS)

    assert first["next"] == [
        {"number": 2, "title": "why", "words": "when game is chess"},
        {"number": 4, "title": "bye", "words": "unless game is chess"},
    ]
    assert (second["key"], second["number"], second["shown"]) == ("new 2", 2, "when game is chess")
    assert third["shown"] == "never reached: skipped when game is not chess or game is not go"
    assert third["next"] == []
    assert last["next"] == [{"number": None, "title": "End", "words": None}]


texts = st.text(max_size=60)


@given(st.lists(st.tuples(texts, texts), max_size=5), texts)
def test_no_text_breaks_out_of_the_drawing(blocks: list[tuple[str, str]], key: str) -> None:
    """Names and values are those of any draft, including faulty ones."""
    script = script_builder.script(
        *(
            {"type": "open_text", "name": name, "prompt": prompt, "precondition": f'q1 = "{prompt}"'}
            for name, prompt in blocks
        )
    )

    root = drawn(script, [key] * len(blocks))

    tags = {element.tag.removeprefix(NS) for element in root.iter()}
    assert tags <= {"svg", "g", "a", "rect", "path", "text", "title"}
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name == "style" or name.startswith("on")]
    assert len(root.findall(f"{NS}a")) == len(blocks)


def test_two_hundred_blocks_are_drawn_below_each_other() -> None:
    blocks = [{"type": "rating", "name": f"r{n}", "precondition": f"r{n - 1} > 3"} for n in range(200)]

    root = drawn(script_builder.script(*blocks), [str(n) for n in range(200)])

    tops = [int(box.get("y", "")) for box in root.findall(f"{NS}a/{NS}rect")]
    assert len(tops) == 200
    assert all(below - above > 56 for above, below in pairwise(tops))
    assert re.fullmatch(r"0 0 640 \d+", root.get("viewBox", ""))


ENDS = [
    {"where": 'game = "go"', "message": "Not **this** time.", "screen_out": True},
    {"where": 'field.x = "1"', "url": "https://example.com", "redirect": True},
    {"where": 'why = "go" AND never = 3', "screen_out": True},
]


def test_ends_are_told_in_words_with_the_block_that_screens_out() -> None:
    """Rule 6.418."""
    found = endings.of(SCRIPT, ENDS, {"url": "https://example.com/?a=1", "label": None, "redirect": False})
    flow = graph.of_script(SCRIPT)

    told = drawing.ends(flow, found)
    steps = drawing.steps(flow, keys=KEYS, ends=found)
    svg = ET.fromstring(drawing.svg(flow, keys=KEYS, ends=found))

    assert [(each["words"], each["shows"], each["after"]) for each in told] == [
        ("when game is go", "“Not this time.”", 1),
        ("when field “x” is 1", "the thanks, and leads to https://example.com", None),
        ("when why is go and never is 3", "the thanks", 3),
        (None, "the thanks, with a button to https://example.com/?a=1", None),
    ]
    leads: Any = steps[0]["next"]
    assert leads[0] == {"number": None, "title": "Screened out", "words": "when game is go"}
    assert [each.findtext(f"{NS}title") for each in svg.findall(f"{NS}g[@class='flow-out']")] == [
        "Screened out when game is go",
        "Screened out when why is go and never is 3",
    ]
    assert endings.of(SCRIPT, [], None) == ()


def test_an_end_by_a_score_or_after_one_screens_out_at_the_end_alone() -> None:
    """Rules 6.411 and 6.418."""
    by_score = {"where": "score > 1"}
    late = {"where": 'game = "go"', "screen_out": True}
    early = {"where": "field.age < 18", "screen_out": True}

    found = endings.of(SCRIPT, [early, by_score, late], None)

    assert [each.after for each in found] == [-1, None, None, None]
    assert drawing.ends(graph.of_script(SCRIPT), found)[0]["is_first"] is True
