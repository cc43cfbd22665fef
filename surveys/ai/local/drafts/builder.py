"""Scripts of templates, adapted to the topic, the options and the number of questions of an intent.

    adapted_blocks(template, …)   with the options and the number of questions of an intent
    foreign_blocks(blocks, …)     in another language
    neutral_draft(template)       as it is, without a topic
    fallback_draft(request)       a general one, with nothing taken from the intent

Parts that only the author can know, such as the facts of a quiz, become placeholders, between ⟦ and ⟧.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import emoji

from surveys.ai.local.drafts import languages, library, scoring
from surveys.ai.local.drafts.intent import Intent, asks_for_opinion, read_intent
from surveys.ai.local.drafts.languages import Catalog
from surveys.ai.local.drafts.length import (
    MutableBlock,
    PlaceholderFactory,
    resize,
)
from surveys.ai.local.drafts.library import RawBlock, Template
from surveys.ai.local.drafts.wishes import Wishes, read_wishes
from surveys.ai.local.english import capitalize, truncate
from surveys.ai.provider import ProposedScript, ScriptRequest, UnwrittenLanguage
from surveys.engine.intake.emojis import count_renderable
from surveys.engine.rules.option import CHAT_BUTTON, CHAT_OPTIONS
from surveys.engine.script import QUESTIONS, Bucket

_MAX_RANKED = 20
_DEFAULT_OPTIONS = 4  # A placeholder question has this many options.
_ONLY_WITH_TOPIC = re.compile(r"<<([^<>]*)>>")
_TOPIC = re.compile(r"\{(topic|Topic)\}")
WELCOME = "Hello! A few short questions. There are no wrong answers."
FORM_WELCOME = "Hello! Please answer these few questions."
UNWRITTEN = (
    "Without a model, scripts can be written in English, French, German, Portuguese and Spanish only. Write "
    "the intent in one of them, or write the script by hand."
)
_TEXT_FIELDS = ("prompt", "description", "when_correct", "when_incorrect")


def foreign_blocks(
    blocks: list[MutableBlock],
    template: Template,
    topic: str | None,
    request: ScriptRequest,
    language: str,
    *,
    is_scored: bool,
) -> list[MutableBlock]:
    """The blocks in another language: the template is adapted in English, and then translated.

    The options and the question of the intent are already in its language, and remain unchanged.
    """
    words = languages.catalog(language)
    if not is_scored:
        blocks = scoring.without_points(blocks)
    if request.bucket_names:  # The project's buckets keep their names.
        texts = {key: text for key, text in words.texts.items() if key not in template.buckets}
        words = replace(words, texts=texts)
    if template.id == library.GENERAL_SURVEY and not topic:
        blocks = [block | {"prompt": WELCOME} if block["name"] == "welcome" else block for block in blocks]
    return [_translated(block, words, topic, template) for block in blocks]


def _translated(block: RawBlock, words: Catalog, topic: str | None, template: Template) -> MutableBlock:
    block = languages.in_language(block, words)
    subject = words.text(template.subject)
    texts = {
        key: _fill_in(block[key], topic, subject, words.language) for key in _TEXT_FIELDS if key in block
    }
    return block | texts


def written_language(intent: Intent, wishes: Wishes) -> str:
    """The language to write in. Raises UnwrittenLanguage if the library does not have it."""
    language = wishes.language or intent.language
    if language not in languages.written_languages():
        raise UnwrittenLanguage(UNWRITTEN)
    return language


def neutral_draft(template: Template, *, language: str = languages.ENGLISH) -> ProposedScript:
    """Build the script of an unchanged template, without a topic, in one of the languages of the library."""
    if language == languages.ENGLISH:
        blocks = [with_topic(dict(block), None, template) for block in template.blocks]
    else:
        words = languages.catalog(language)
        blocks = [_translated(block, words, None, template) for block in template.blocks]
    return ProposedScript(blocks, scoring_enabled=template.scoring_enabled)


def fallback_draft(request: ScriptRequest) -> ProposedScript:
    """Build the script of a general template. It contains no text of the intent, since such a text could
    break a rule.
    """
    template_id = library.OPINION_POLL if request.type == "poll" else library.GENERAL_SURVEY
    draft = neutral_draft(
        library.require(template_id),
        language=written_language(read_intent(request), read_wishes(request.intent)),
    )
    return ProposedScript(draft.blocks, scoring_enabled=bool(request.scoring))


def adapted_blocks(template: Template, intent: Intent, request: ScriptRequest) -> list[MutableBlock]:
    """The blocks of a template with the options, outcomes and number of questions that are wanted."""
    blocks = [dict(block) for block in template.blocks]
    options = intent.option_count.nearest(_DEFAULT_OPTIONS) if intent.option_count else _DEFAULT_OPTIONS
    placeholder: PlaceholderFactory | None = None
    if template.result_of:
        outcomes, blocks = _with_outcomes(blocks, template, intent, request)
        if outcomes:
            placeholder = partial(scoring.personality_placeholder, outcomes=outcomes)
    elif template.scoring_enabled:
        placeholder = partial(scoring.quiz_placeholder, options=options)
    if template.needs_topic and placeholder:
        blocks = [_replaced_by_placeholder(block, placeholder) for block in blocks]
    blocks = [
        _with_options(block, intent, request) if block["name"] == template.choices_of else block
        for block in blocks
    ]
    if intent.question_count and intent.type != "poll":
        count = intent.question_count.nearest(template.question_count)
        blocks = resize(blocks, count, template, placeholder=placeholder)
    if request.bucket_names:
        blocks = scoring.with_points_for(blocks, {Bucket(name).key for name in request.bucket_names})
    return blocks


def _replaced_by_placeholder(block: MutableBlock, placeholder: PlaceholderFactory) -> MutableBlock:
    """Replace a block that is named `question_1` or the like by a placeholder; return others as they are."""
    number = block["name"].removeprefix("question_")
    return placeholder(int(number)) if number.isdecimal() else block


# --- Outcomes and options --------------------------------------------------------------------------


def _with_outcomes(
    blocks: list[MutableBlock], template: Template, intent: Intent, request: ScriptRequest
) -> tuple[tuple[str, ...], list[MutableBlock]]:
    """Return the outcomes of a personality quiz, and its blocks adapted to them.

    The outcomes are the project's buckets, or else those that the intent lists, or else those of the
    template.
    """
    declared = request.bucket_names[:CHAT_OPTIONS]
    if declared and set(template.buckets) <= set(declared):
        return template.buckets, blocks
    outcomes = scoring.usable_outcomes(intent.listed_options, declared=declared)
    if outcomes and template.result_of:
        return outcomes, scoring.with_outcomes(blocks, outcomes, result=template.result_of)
    return ((), scoring.without_points(blocks)) if declared else (template.buckets, blocks)


def _with_options(block: MutableBlock, intent: Intent, request: ScriptRequest) -> MutableBlock:
    """Return the block with the options that the intent lists, or with the number of options that the intent
    wants.
    """
    limit = _MAX_RANKED if block["type"] == "ranking" else CHAT_OPTIONS
    listed = presentable(intent.listed_options, for_chat=request.for_chat)[:limit]
    options = block["options"]
    if len(listed) > 1:
        options = [{"value": value} for value in listed]
    elif intent.option_count:
        count = min(intent.option_count.nearest(len(options)), limit)
        added = [{"value": f"⟦Option {n}⟧"} for n in range(len(options) + 1, count + 1)]
        options = [*options[:count], *added]
    bounds = {key: min(block[key], len(options)) for key in ("min", "max", "rank_top_n") if key in block}
    return block | {"options": options} | bounds


def presentable(options: Iterable[str], *, for_chat: bool) -> list[str]:
    """Return the options in a form that can be shown, without duplicates. In chat each has one
    emoji at most.
    """
    if not for_chat:
        return list(options)
    with_one_emoji = (
        option if count_renderable(option) < 2 else emoji.replace_emoji(option, "").strip()
        for option in options
    )
    shown = {truncate(option, length=CHAT_BUTTON): None for option in with_one_emoji if option}
    return [option for option in shown if count_renderable(option) < 2]


# --- Texts ------------------------------------------------------------------------------------------


def with_topic(block: MutableBlock, topic: str | None, template: Template) -> MutableBlock:
    """Return the block with the topic in its texts, or with the subject of the template if there is
    no topic.
    """
    texts = {key: _fill_in(block[key], topic, template.subject) for key in _TEXT_FIELDS if key in block}
    return block | texts


def _fill_in(text: str, topic: str | None, subject: str, language: str = languages.ENGLISH) -> str:
    """Put the topic into a text in one pass, so that a placeholder inside the topic remains text."""
    phrase = topic or subject
    text = _ONLY_WITH_TOPIC.sub(r"\1" if topic else "", text)
    replacements = {"topic": phrase, "Topic": capitalize(phrase)}
    filled, end = "", 0
    for match in _TOPIC.finditer(text):
        filled = languages.contracted(filled + text[end : match.start()], replacements[match[1]], language)
        end = match.end()
    filled += text[end:]
    if text.startswith("{"):
        return filled
    opening = len(filled) - len(filled.lstrip("¿¡"))
    return filled[:opening] + capitalize(filled[opening:])


def with_question(block: MutableBlock, question: str, template: Template) -> MutableBlock:
    """Use the intent's own question in a poll, if the options suit any question, or an opinion."""
    is_suitable = template.choices_of is not None or asks_for_opinion(question)
    return block | {"prompt": question} if is_suitable and block["type"] in QUESTIONS else block
