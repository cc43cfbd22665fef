"""The ways through a script: which block leads where, when, and past what."""

from __future__ import annotations

from typing import Any

from surveys.engine.flow import graph
from surveys.engine.flow.graph import Edge
from tests.support.engine import script_builder

CHOICE = {"type": "single_punch", "name": "game", "options": ["chess", "go"], "required": True}
IF_CHESS = 'NOT((game = "chess"))'


def text(name: str, precondition: str | None = None) -> dict[str, Any]:
    return {"type": "open_text", "name": name, "precondition": precondition}


def edges(*blocks: dict[str, Any]) -> list[Edge]:
    return list(graph.of_script(script_builder.script(*blocks)).edges)


def test_a_script_without_conditions_is_a_line() -> None:
    assert edges(text("a"), text("b")) == [Edge(-1, 0), Edge(0, 1), Edge(1, 2)]


def test_blocks_with_one_condition_are_skipped_together() -> None:
    found = edges(CHOICE, text("a", IF_CHESS), text("b", IF_CHESS), text("c"))

    assert found == [
        Edge(-1, 0),
        Edge(0, 1, "when game is chess"),
        Edge(0, 3, "unless game is chess", (1, 2)),
        Edge(1, 2),
        Edge(2, 3),
        Edge(3, 4),
    ]


def test_blocks_with_a_condition_on_the_latest_answer_are_not_skipped_together() -> None:
    same = 'answer = "x"'

    found = edges(text("a"), text("b", same), text("c", same))

    assert Edge(0, 2, "when the latest answer is x", (1,)) in found
    assert Edge(1, 3, "when the latest answer is x", (2,)) in found


def test_a_condition_at_the_end_leads_to_the_end() -> None:
    assert edges(CHOICE, text("a", 'game = "go"'))[1:] == [
        Edge(0, 1, "unless game is go"),
        Edge(0, 2, "when game is go", (1,)),
        Edge(1, 2),
    ]


def test_a_block_that_is_never_reached_has_no_ways() -> None:
    script = script_builder.script(CHOICE, text("a", 'game != "chess" OR game != "go"'), text("b"))

    flow = graph.of_script(script)

    assert flow.edges == (Edge(-1, 0), Edge(0, 2, None, (1,)), Edge(2, 3))
    assert flow.edges_from(1) == ()
    assert [node.reach for node in flow.nodes] == ["always", "never", "always"]
    assert flow.nodes[1].skipped == "when game is not chess or game is not go"


def test_a_condition_that_cannot_be_read_is_told_as_such() -> None:
    node = graph.of_script(script_builder.script(CHOICE, text("a", "game ="))).nodes[1]

    assert (node.reach, node.shown) == ("sometimes", graph.FAULT)
