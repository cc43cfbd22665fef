"""A template made into a script: as long as is wanted, about the topic, with the options that were listed.

    draft(request)     of the template that suits the intent best
    neutral(template)  of a template as it is
    plain(request)     of a general template, with nothing of the intent in it

What only its author can know, such as the facts of a quiz, is made as a frame that works, and says in its
texts that they are to be replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

import emoji

from surveys.ai.local import choosing, library, points, sizing, wishes
from surveys.ai.local.counting import MAX_OPTIONS
from surveys.ai.local.library import Template
from surveys.ai.local.phrasing import shortened
from surveys.ai.local.sizing import Block
from surveys.ai.local.wishes import Wish
from surveys.ai.provider import ScriptDraft, ScriptRequest
from surveys.engine.intake.emojis import count_renderable
from surveys.engine.rules.option import CHAT_BUTTON
from surveys.engine.script import QUESTIONS, Bucket

_MAX_RANKED = 20
_OPTIONS = 4  # of a question to be written by its author
_PART = re.compile(r"<<(.*?)>>")
_TOPIC = re.compile(r"\{(topic|Topic)\}")
_TEXTS = ("prompt", "when_correct", "when_incorrect")


def draft(request: ScriptRequest) -> ScriptDraft:
    """The script of the best template for an intent, whatever the intent says."""
    wish = wishes.read(request)
    template = choosing.choose(wish).template
    blocks = _settled(template, wish, request)
    blocks = [_with_topic(block, choosing.topic_for(wish, template), template) for block in blocks]
    if wish.question:
        blocks = [_asking(block, wish.question, template) for block in blocks]
    is_scored = template.scoring_enabled if request.scoring is None else request.scoring
    return ScriptDraft(blocks if is_scored else points.without_points(blocks), scoring_enabled=is_scored)


def neutral(template: Template) -> ScriptDraft:
    """The script of a template without a topic of its own."""
    blocks = [_with_topic(dict(block), None, template) for block in template.blocks]
    return ScriptDraft(blocks, scoring_enabled=template.scoring_enabled)


def plain(request: ScriptRequest) -> ScriptDraft:
    """A general template as it is: nothing of the intent is in it, so nothing of the intent can be wrong."""
    general = library.OPINION_POLL if request.type == "poll" else library.GENERAL_SURVEY
    template = library.get(general)
    assert template is not None
    return ScriptDraft(neutral(template).blocks, scoring_enabled=bool(request.scoring))


def _settled(template: Template, wish: Wish, request: ScriptRequest) -> list[Block]:
    """The blocks of a template, as many as are wanted, with the wanted options and outcomes."""
    blocks = [dict(block) for block in template.blocks]
    options = wish.options.nearest(_OPTIONS) if wish.options else _OPTIONS
    frame: sizing.Frame = _frame
    if template.result_of:
        outcomes, blocks = _with_outcomes(blocks, template, wish, request)
        frame = partial(points.weighed, outcomes=outcomes) if outcomes else _frame
    elif template.scoring_enabled:
        frame = partial(points.graded, options=options)
    blocks = [_framed(block, frame) if template.needs_topic else block for block in blocks]
    blocks = [
        _with_options(block, wish, request) if _takes_options(block, template) else block for block in blocks
    ]
    if wish.questions and wish.type != "poll":
        count = wish.questions.nearest(template.question_count)
        blocks = sizing.resized(blocks, count, template, frame=frame)
    if request.bucket_names:
        blocks = points.with_points_of(blocks, {Bucket(name).key for name in request.bucket_names})
    return blocks


def _frame(number: int) -> Block:
    """A question that its author has to write, where the library has no more of them."""
    prompt = f"Question {number} about {{topic}} (replace this text)"
    return {"name": f"question_{number}", "type": "open_text", "prompt": prompt}


def _framed(block: Block, frame: sizing.Frame) -> Block:
    number = block["name"].removeprefix("question_")
    return frame(int(number)) if number.isdecimal() else block


# --- Outcomes and options --------------------------------------------------------------------------


def _with_outcomes(
    blocks: list[Block], template: Template, wish: Wish, request: ScriptRequest
) -> tuple[tuple[str, ...], list[Block]]:
    """What a personality quiz can come to: the project's buckets, what the intent lists, or its own types."""
    declared = request.bucket_names[:MAX_OPTIONS]
    if declared and set(template.buckets) <= set(declared):
        return template.buckets, blocks
    outcomes = points.usable_outcomes(wish.choices, declared=declared)
    if outcomes and template.result_of:
        return outcomes, points.with_outcomes(blocks, outcomes, result=template.result_of)
    return ((), points.without_points(blocks)) if declared else (template.buckets, blocks)


def _takes_options(block: Block, template: Template) -> bool:
    return bool(block["name"] == template.choices_of)


def _with_options(block: Block, wish: Wish, request: ScriptRequest) -> Block:
    """The block with the options that the intent lists, or with as many as it wants."""
    room = _MAX_RANKED if block["type"] == "ranking" else MAX_OPTIONS
    listed = _fitting(wish.choices, for_chat=request.for_chat)[:room]
    options = block["options"]
    if len(listed) > 1:
        options = [{"value": value} for value in listed]
    elif wish.options:
        count = min(wish.options.nearest(len(options)), room)
        more = [{"value": f"Option {n}"} for n in range(len(options) + 1, count + 1)]
        options = [*options[:count], *more]
    bounds = {key: min(block[key], len(options)) for key in ("min", "max", "rank_top_n") if key in block}
    return block | {"options": options} | bounds


def _fitting(choices: Iterable[str], *, for_chat: bool) -> list[str]:
    """Options as they can be shown, each once."""
    if not for_chat:
        return list(choices)
    fitting = (
        each if count_renderable(each) < 2 else emoji.replace_emoji(each, "").strip() for each in choices
    )
    shown = {shortened(each, length=CHAT_BUTTON): None for each in fitting if each}
    return [each for each in shown if count_renderable(each) < 2]


# --- Texts ------------------------------------------------------------------------------------------


def _with_topic(block: Block, topic: str | None, template: Template) -> Block:
    filled = {key: _filled(block[key], topic, template.subject) for key in _TEXTS if key in block}
    return block | filled


def _filled(text: str, topic: str | None, subject: str) -> str:
    """A text with its topic, in one pass: what the topic holds is never looked at again."""
    phrase = topic or subject
    text = _PART.sub(r"\1" if topic else "", text)
    begins_a_sentence = {"topic": phrase, "Topic": _with_capital(phrase)}
    filled = _TOPIC.sub(lambda found: begins_a_sentence[found[1]], text)
    return filled if text.startswith("{") else _with_capital(filled)


def _with_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _asking(block: Block, question: str, template: Template) -> Block:
    """A poll's question in the words of the intent, where the answers suit any question or an opinion."""
    suits = template.choices_of is not None or wishes.asks_for_opinion(question)
    return block | {"prompt": question} if suits and block["type"] in QUESTIONS else block
