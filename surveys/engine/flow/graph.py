"""The flow of a script: its blocks in order, and which block leads where, with conditions in words.

    flow = graph.of_script(script)

Respondents move forward, so the flow is a line, and conditions lead past some blocks. Consecutive blocks with
the same condition are skipped together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from surveys.engine.flow import reach, titles
from surveys.engine.flow.reach import Reach
from surveys.engine.flow.wording import Wording
from surveys.engine.language import expressions, markup, references
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.logic_tree import Negation
from surveys.engine.language.piping import Authored
from surveys.engine.script import Block, Script

FAULT = "its condition is not valid"
NEVER_REACHED = "never reached"
END = "End"


@dataclass(frozen=True, slots=True)
class Node:
    """A block.

    `shown` is its condition in words, such as `when membership is Member`, if it has one. Words are cut after
    `wording.MAX_WORDS` characters. `title` is its chosen name, or else the beginning of its text.
    """

    title: str
    is_named: bool
    type: str
    section: str
    prompt: str
    reach: Reach
    shown: str | None = None
    skipped: str | None = None  # the opposite of the same condition: `unless membership is Member`


@dataclass(frozen=True, slots=True)
class Edge:
    """A path from one block to a later one, by their indexes; the start is -1, the end the number of blocks.

    `words` are its condition; None means always. `skips` are the skipped blocks. If the target block has a
    condition, that condition decides next.
    """

    source: int
    target: int
    words: str | None = None
    skips: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive blocks that are shown or skipped together, by the indexes of the first and the last."""

    first: int
    last: int
    reach: Reach
    shown: str | None
    skipped: str | None


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks that respondents walk, then the blocks of the outro, and the edges between them."""

    nodes: tuple[Node, ...]
    runs: tuple[Run, ...]
    edges: tuple[Edge, ...]

    def edges_from(self, index: int) -> tuple[Edge, ...]:
        """The edges that leave a block; -1 is the start."""
        return tuple(edge for edge in self.edges if edge.source == index)


def of_script(script: Script) -> Flow:
    """The flow of a script whose blocks are in order and have names. Conditions with faults are marked."""
    reached: tuple[Reach, ...] = reach.of_blocks(script)
    wording = Wording(script)
    outro: list[Reach] = ["always" for _ in script.outro]
    nodes = tuple(
        _node(block, how, n, wording)
        for n, (block, how) in enumerate(
            zip((*script.blocks, *script.outro), (*reached, *outro), strict=True), start=1
        )
    )
    together = [
        _together(block, how, n, script)
        for n, (block, how) in enumerate(zip(script.blocks, reached, strict=True))
    ]
    together += [("outro",)] * len(script.outro)
    runs = _runs(nodes, together)
    return Flow(nodes, runs, _edges(runs, end=len(nodes)))


def _node(block: Block, how: Reach, number: int, wording: Wording) -> Node:
    shown, skipped = _conditions(block.precondition, wording)
    return Node(
        title=titles.of_block(block, number),
        is_named=titles.is_chosen(block.name),
        type=block.type,
        section=block.section,
        prompt=" ".join(markup.plain(Authored(block.prompt)).split()),
        reach=how,
        shown=shown,
        skipped=skipped,
    )


def _conditions(text: str | None, wording: Wording) -> tuple[str | None, str | None]:
    """When a block is shown and when it is skipped, in words."""
    if text is None:
        return None, None
    try:
        tree = expressions.parse(text).tree
    except ParseError:
        return FAULT, FAULT
    if isinstance(tree, Negation):
        condition = wording.words(tree.part)
        return f"when {condition}", f"unless {condition}"
    condition = wording.words(tree)
    return f"unless {condition}", f"when {condition}"


def _together(block: Block, how: Reach, n: int, script: Script) -> tuple[object, ...]:
    """The properties that all blocks of one run share.

    A condition on a variable may change at the next block, because the latest answer and scores change.
    """
    if how != "sometimes" or block.precondition is None:
        return (how,)
    try:
        mentions = expressions.parse(block.precondition).mentions
    except ParseError:
        return how, n
    varies = any(isinstance(references.resolve(mention.name, script), str) for mention in mentions)
    return how, n if varies else block.precondition


def _runs(nodes: Sequence[Node], together: Sequence[tuple[object, ...]]) -> tuple[Run, ...]:
    runs = []
    for _, indexes in groupby(range(len(nodes)), key=together.__getitem__):
        first, *others = indexes
        node = nodes[first]
        runs.append(Run(first, others[-1] if others else first, node.reach, node.shown, node.skipped))
    return tuple(runs)


def _edges(runs: Sequence[Run], *, end: int) -> tuple[Edge, ...]:
    """The edges within the runs that can be reached, into them, and past them."""
    edges: list[Edge] = []
    source = -1
    reached = [run for run in runs if run.reach != "never"]
    for n, run in enumerate(reached):
        is_skippable = run.reach == "sometimes"
        edges.append(_edge(source, run.first, run.shown if is_skippable else None))
        if is_skippable:
            after = reached[n + 1].first if n + 1 < len(reached) else end
            edges.append(_edge(source, after, run.skipped))
        edges += [Edge(n, n + 1) for n in range(run.first, run.last)]
        source = run.last
    return (*edges, _edge(source, end, None))


def _edge(source: int, target: int, words: str | None) -> Edge:
    return Edge(source, target, words, tuple(range(source + 1, target)))
