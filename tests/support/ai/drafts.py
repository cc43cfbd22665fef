"""Drafts of the local provider, checked against the rules and run through the real engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from itertools import count
from typing import Any

from surveys.ai.local import LocalProvider
from surveys.ai.local.drafts.library import Template
from surveys.ai.provider import ProposedScript, ScriptRequest
from surveys.engine.rules import warnings
from surveys.engine.script import QUESTIONS, Block, Script
from surveys.engine.walk import answers, formats, runner
from surveys.services.scripts import planning

Respond = Callable[[Block], Mapping[str, object]]
SKIP = {"skip": True}


def each(templates: Iterable[Template]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each `template` as one test, because so many would take longer than what they do."""

    def loop(check: Callable[..., None]) -> Callable[..., None]:
        @wraps(check)
        def test(**others: object) -> None:
            for template in templates:
                try:
                    check(template=template, **others)
                except Exception as failure:
                    failure.add_note(f"The template was {template.id}.")
                    raise

        told = signature(check)
        others = [each for name, each in told.parameters.items() if name != "template"]
        test.__signature__ = told.replace(parameters=others)  # type: ignore[attr-defined]
        return test

    return loop


@dataclass(frozen=True)
class CheckedDraft:
    """A draft as a script, with its `problems`: violations, warnings and unknown fields."""

    script: Script
    problems: list[object]


def check_draft(
    draft: ProposedScript, type: str, *, bucket_names: Iterable[str] = (), for_chat: bool = False
) -> CheckedDraft:
    """Check a draft against the rules for scripts written by hand."""
    new, violations = planning.read_new(
        {"blocks": [dict(block) for block in draft.blocks]},
        is_poll=type == "poll",
        scoring_enabled=draft.scoring_enabled,
        bucket_names=tuple(bucket_names),
        chat=for_chat,
        xp_limit=None,
    )
    hints = warnings.warnings(new.script, uses_xp=False, is_anonymous=True, known_achievements=None)
    return CheckedDraft(new.script, [*violations, *hints, *new.ignored])


def draft_from(intent: str, type: str = "convo", **fields: Any) -> ProposedScript:
    """Return the local provider's draft for an intent, after checking that it breaks no rule."""
    request = ScriptRequest(intent=intent, type=type, **fields)
    draft = LocalProvider().draft_script(request)
    checked = check_draft(draft, type, bucket_names=request.bucket_names, for_chat=request.for_chat)
    assert checked.problems == []
    return draft


def questions(draft: ProposedScript) -> list[Any]:
    return [block for block in draft.blocks if block["type"] in QUESTIONS]


def prompts(draft: ProposedScript) -> list[str]:
    return [str(block["prompt"]) for block in draft.blocks]


def option_values(block: Mapping[str, Any]) -> list[str]:
    return [option["value"] for option in block["options"]]


# --- Running --------------------------------------------------------------------------------------


@dataclass
class Run:
    """The texts that a respondent read: the prompts by the names of their blocks, and the feedback."""

    prompts: dict[str, str]
    feedback: list[str]
    is_complete: bool


def first_option(block: Block) -> Mapping[str, object]:
    """Answer with the first option, or the lowest point."""
    return _answer(block, 0)


def last_option(block: Block) -> Mapping[str, object]:
    """Answer with the last option, or the highest point."""
    return _answer(block, -1)


def required_only(block: Block) -> Mapping[str, object]:
    """Skip every question that may be skipped."""
    return first_option(block) if block.required else SKIP


def run(script: Script, respond: Respond) -> Run:
    """Run a script from the first block to the end. Fails if it shows a block twice."""
    script = with_ids(script)
    result = Run({}, [], is_complete=False)
    turn = runner.begin(script)
    while (block := turn.show) is not None:
        assert block.name is not None
        assert block.name not in result.prompts, "A block is shown twice."
        result.prompts[block.name] = runner.fill(script, turn.state, block.prompt, {})
        if block.asks:
            turn = runner.answer(script, turn.state, answers.parse(block, respond(block)))
            if turn.feedback:
                result.feedback.append(turn.feedback)
        else:
            turn = runner.proceed(script, turn.state)
    result.is_complete = True
    return result


def with_ids(script: Script) -> Script:
    """Give every block and option an id, as if the script were stored, and name correct answers by id."""
    numbers = count(1)
    return replace(script, blocks=tuple(_with_ids(block, numbers) for block in script.blocks))


def _with_ids(block: Block, numbers: count[int]) -> Block:
    options = tuple(replace(option, id=next(numbers)) for option in block.options)
    index = block.correct_answer_index
    correct = None if index is None else (options[index].id or 0,)
    return replace(block, id=next(numbers), options=options, correct_answer_ids=correct)


def _answer(block: Block, position: int) -> Mapping[str, object]:
    ids = [option.id for option in block.options]
    if block.type == "single_punch":
        return {"option_id": ids[position]}
    if block.type == "multi_punch":
        return {"option_ids": [ids[position]]}
    if block.type == "ranking":
        return {"ranking": (ids if position == 0 else ids[::-1])[: block.rank_top_n]}
    if block.type == "open_numeric":
        return {"value": 5}
    if block.type == "open_text":
        return {"value": formats.example_of(block.format) or "Because."}
    return {"value": block.points[position]}
