"""How many questions are ahead of a respondent: a range, as long as later answers decide on some of them."""

from __future__ import annotations

from surveys.engine.language import expressions, names
from surveys.engine.script import Script
from surveys.engine.walk import runner
from surveys.engine.walk.path_values import PathValues
from surveys.engine.walk.runner import State


def questions_ahead(script: Script, state: State) -> tuple[int, int]:
    """The fewest and the most questions from the present block on, the present one included.

    A condition over earlier blocks alone is decided: its block is counted or left out. A condition over
    anything to come counts towards the most, also if it excludes another.
    """
    known = runner.path_values(script, state)
    decided = set(range(state.at))  # the blocks whose values do not change any more
    fewest = most = 0
    for index in range(state.at, len(script.blocks)):
        block = script.blocks[index]
        if index == state.at or block.precondition is None:
            fewest += block.asks
        elif not _is_decided(block.precondition, known, decided):
            pass
        elif runner.is_hidden(block, known):
            decided.add(index)
            continue
        else:
            fewest += block.asks
        most += block.asks
    return fewest, most


def _is_decided(condition: str, known: PathValues, decided: set[int]) -> bool:
    meanings = (known.meaning(each.name) for each in expressions.parse(condition).mentions)
    return all(
        meaning in decided if isinstance(meaning, int) else meaning is None or names.field_key(meaning)
        for meaning in meanings
    )
