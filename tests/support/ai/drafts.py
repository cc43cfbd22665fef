"""Drafts held against the rules of any script, and walked through by the real engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from surveys.ai.local import LocalProvider
from surveys.ai.provider import ScriptDraft, ScriptRequest
from surveys.engine.rules import warnings
from surveys.engine.script import QUESTIONS, Block, Script
from surveys.engine.walk import answers, runner
from surveys.services.scripts import editing as scripts

Say = Callable[[Block], Mapping[str, object]]
SKIP = {"skip": True}


@dataclass(frozen=True)
class Judged:
    """What the rules say of a draft. `faults` are violations, warnings and fields that nobody knows."""

    script: Script
    faults: list[object]


def judge(
    drafted: ScriptDraft, type: str, *, bucket_names: Iterable[str] = (), for_chat: bool = False
) -> Judged:
    new, violations = scripts.read_new(
        {"blocks": [dict(block) for block in drafted.blocks]},
        is_poll=type == "poll",
        scoring_enabled=drafted.scoring_enabled,
        bucket_names=tuple(bucket_names),
        chat=for_chat,
    )
    told = warnings.warnings(new.script, uses_xp=False, is_anonymous=True, known_achievements=None)
    return Judged(new.script, [*violations, *told, *new.ignored])


def drafted(intent: str, type: str = "convo", **wanted: Any) -> ScriptDraft:
    """The local provider's draft, which is held to the rules at once."""
    request = ScriptRequest(intent=intent, type=type, **wanted)
    draft = LocalProvider().draft_script(request)
    judged = judge(draft, type, bucket_names=request.bucket_names, for_chat=request.for_chat)
    assert judged.faults == []
    return draft


def questions(draft: ScriptDraft) -> list[Any]:
    return [block for block in draft.blocks if block["type"] in QUESTIONS]


def prompts(draft: ScriptDraft) -> list[str]:
    return [str(block["prompt"]) for block in draft.blocks]


def values(block: Mapping[str, Any]) -> list[str]:
    return [option["value"] for option in block["options"]]


# --- Walking --------------------------------------------------------------------------------------


@dataclass
class Walked:
    """What a respondent was told, by block, tokens filled in, and what was said to their answers."""

    told: dict[str, str]
    feedback: list[str]
    has_ended: bool


def first(block: Block) -> Mapping[str, object]:
    """The first option, or the lowest point."""
    return _answer(block, 0)


def last(block: Block) -> Mapping[str, object]:
    return _answer(block, -1)


def as_little_as_possible(block: Block) -> Mapping[str, object]:
    return first(block) if block.required else SKIP


def walk(script: Script, say: Say) -> Walked:
    """From the first block to the end, through the engine; fails where it does not come to an end."""
    script = with_ids(script)
    walked = Walked({}, [], has_ended=False)
    turn = runner.begin(script)
    while (block := turn.show) is not None:
        assert block.name is not None
        assert block.name not in walked.told, "A block is shown twice."
        walked.told[block.name] = runner.fill(script, turn.state, block.prompt, {})
        if block.asks:
            turn = runner.answer(script, turn.state, answers.parse(block, say(block)))
            if turn.feedback:
                walked.feedback.append(turn.feedback)
        else:
            turn = runner.proceed(script, turn.state)
    walked.has_ended = True
    return walked


def with_ids(script: Script) -> Script:
    """As it would be stored: every block and option with an id, and correct answers named by it."""
    numbers = count(1)
    return replace(script, blocks=tuple(_with_ids(block, numbers) for block in script.blocks))


def _with_ids(block: Block, numbers: count[int]) -> Block:
    options = tuple(replace(option, id=next(numbers)) for option in block.options)
    index = block.correct_answer_index
    correct = None if index is None else (options[index].id or 0,)
    return replace(block, id=next(numbers), options=options, correct_answer_ids=correct)


def _answer(block: Block, at: int) -> Mapping[str, object]:
    ids = [option.id for option in block.options]
    if block.type == "single_punch":
        return {"option_id": ids[at]}
    if block.type == "multi_punch":
        return {"option_ids": [ids[at]]}
    if block.type == "ranking":
        return {"ranking": (ids if at == 0 else ids[::-1])[: block.rank_top_n]}
    if block.type == "open_numeric":
        return {"value": 5}
    return {"value": "Because."} if block.type == "open_text" else {"value": block.points[at]}
