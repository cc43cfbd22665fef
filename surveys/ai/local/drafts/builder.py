"""Scripts built from templates: with the topic, the options and the number of questions that are wanted.

    draft_for_intent(request)   from the template that matches the intent best
    neutral_draft(template)     from a template as it is, without a topic
    fallback_draft(request)     from a general template, with nothing taken from the intent

Parts that only the author can know, such as the facts of a quiz, become placeholders. They work, and their
texts say that they are to be replaced.
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
from surveys.ai.local.drafts.length import MutableBlock, PlaceholderFactory, resize
from surveys.ai.local.drafts.library import RawBlock, Template
from surveys.ai.local.drafts.matching import best_match, topic_for
from surveys.ai.local.drafts.wishes import apply_wishes, read_wishes
from surveys.ai.local.english import capitalize, truncate
from surveys.ai.provider import ProposedScript, ProviderError, ScriptRequest
from surveys.engine.intake.emojis import count_renderable
from surveys.engine.rules.option import CHAT_BUTTON, CHAT_OPTIONS
from surveys.engine.script import QUESTIONS, Bucket

_MAX_RANKED = 20
_DEFAULT_OPTIONS = 4  # of a placeholder
_SURE_POINTS = 10.0  # of a match: a decisive phrase and a word beside it
_ONLY_WITH_TOPIC = re.compile(r"<<(.*?)>>")
_TOPIC = re.compile(r"\{(topic|Topic)\}")
WELCOME = "Hello! A few short questions. There are no wrong answers."
UNWRITTEN = (
    "Without a model, scripts can be written in English, French, German, Portuguese and Spanish only. Write "
    "the intent in one of them, or write the script by hand."
)
_TEXT_FIELDS = ("prompt", "when_correct", "when_incorrect")


def draft_for_intent(request: ScriptRequest) -> ProposedScript:
    """Build a script from the template that matches the intent best, in the language of the intent.

    Its wishes besides the subject are met in the script, or named in `unmet`. Raises ProviderError for a
    language that the library does not have: a script in English would be wrong.
    """
    wishes = read_wishes(request.intent)
    intent = read_intent(replace(request, intent=wishes.text))
    write = _english_blocks if _written_language(intent) == languages.ENGLISH else _foreign_blocks
    match = best_match(intent)
    is_scored = match.template.scoring_enabled if request.scoring is None else request.scoring
    kept, understood, unmet = apply_wishes(
        write(match.template, intent, request, is_scored=is_scored),
        wishes,
    )
    return ProposedScript(
        kept,
        scoring_enabled=is_scored,
        understood=(f"Template: {match.template.name}.", *understood),
        unmet=unmet,
        confidence=round(min(1.0, match.word_points / _SURE_POINTS), 2),
        wishes=wishes.settings,
    )


def _english_blocks(
    template: Template, intent: Intent, request: ScriptRequest, *, is_scored: bool
) -> list[MutableBlock]:
    topic = topic_for(intent, template)
    blocks = [_with_topic(block, topic, template) for block in _adapted_blocks(template, intent, request)]
    if intent.question:
        blocks = [_with_question(block, intent.question, template) for block in blocks]
    return blocks if is_scored else scoring.without_points(blocks)


def _foreign_blocks(
    template: Template, intent: Intent, request: ScriptRequest, *, is_scored: bool
) -> list[MutableBlock]:
    """The blocks in another language: the template is adapted in English, and then translated.

    The options and the question of the intent are in its language already and stay as they are.
    """
    words = languages.catalog(intent.language)
    topic = next(iter(intent.topics), None)
    blocks = _adapted_blocks(template, intent, request)
    if not is_scored:
        blocks = scoring.without_points(blocks)
    if request.bucket_names:  # the project's buckets keep their names
        texts = {key: text for key, text in words.texts.items() if key not in template.buckets}
        words = replace(words, texts=texts)
    if template.id == library.GENERAL_SURVEY and not topic:
        blocks = [block | {"prompt": WELCOME} if block["name"] == "welcome" else block for block in blocks]
    translated = [_translated(block, words, topic, template) for block in blocks]
    if intent.question:
        translated = [_with_question(block, intent.question, template) for block in translated]
    return translated


def _translated(block: RawBlock, words: Catalog, topic: str | None, template: Template) -> MutableBlock:
    block = languages.in_language(block, words)
    subject = words.text(template.subject)
    texts = {
        key: _fill_in(block[key], topic, subject, words.language) for key in _TEXT_FIELDS if key in block
    }
    return block | texts


def _written_language(intent: Intent) -> str:
    """The language of an intent. Raises ProviderError if the library does not have it."""
    if intent.language not in languages.written_languages():
        raise ProviderError(UNWRITTEN)
    return intent.language


def neutral_draft(template: Template, *, language: str = languages.ENGLISH) -> ProposedScript:
    """Build the script of a template as it is, without a topic, in one of the languages of the library."""
    if language == languages.ENGLISH:
        blocks = [_with_topic(dict(block), None, template) for block in template.blocks]
    else:
        words = languages.catalog(language)
        blocks = [_translated(block, words, None, template) for block in template.blocks]
    return ProposedScript(blocks, scoring_enabled=template.scoring_enabled)


def fallback_draft(request: ScriptRequest) -> ProposedScript:
    """Build the script of a general template. It takes nothing from the intent that could break a rule."""
    template_id = library.OPINION_POLL if request.type == "poll" else library.GENERAL_SURVEY
    draft = neutral_draft(library.require(template_id), language=_written_language(read_intent(request)))
    return ProposedScript(draft.blocks, scoring_enabled=bool(request.scoring))


def _adapted_blocks(template: Template, intent: Intent, request: ScriptRequest) -> list[MutableBlock]:
    """The blocks of a template with the options, outcomes and number of questions that are wanted."""
    blocks = [dict(block) for block in template.blocks]
    options = intent.option_count.nearest(_DEFAULT_OPTIONS) if intent.option_count else _DEFAULT_OPTIONS
    placeholder: PlaceholderFactory = _text_placeholder
    if template.result_of:
        outcomes, blocks = _with_outcomes(blocks, template, intent, request)
        if outcomes:
            placeholder = partial(scoring.personality_placeholder, outcomes=outcomes)
    elif template.scoring_enabled:
        placeholder = partial(scoring.quiz_placeholder, options=options)
    if template.needs_topic:
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


def _text_placeholder(number: int) -> MutableBlock:
    """An open question, for the author to write."""
    prompt = f"Question {number} about {{topic}} (replace this text)"
    return {"name": f"question_{number}", "type": "open_text", "prompt": prompt}


def _replaced_by_placeholder(block: MutableBlock, placeholder: PlaceholderFactory) -> MutableBlock:
    """Replace a block that is named `question_1` or the like by a placeholder; return others as they are."""
    number = block["name"].removeprefix("question_")
    return placeholder(int(number)) if number.isdecimal() else block


# --- Outcomes and options --------------------------------------------------------------------------


def _with_outcomes(
    blocks: list[MutableBlock], template: Template, intent: Intent, request: ScriptRequest
) -> tuple[tuple[str, ...], list[MutableBlock]]:
    """Return the outcomes of a personality quiz, and its blocks adapted to them.

    The outcomes are the project's buckets, or those that the intent lists, or those of the template.
    """
    declared = request.bucket_names[:CHAT_OPTIONS]
    if declared and set(template.buckets) <= set(declared):
        return template.buckets, blocks
    outcomes = scoring.usable_outcomes(intent.listed_options, declared=declared)
    if outcomes and template.result_of:
        return outcomes, scoring.with_outcomes(blocks, outcomes, result=template.result_of)
    return ((), scoring.without_points(blocks)) if declared else (template.buckets, blocks)


def _with_options(block: MutableBlock, intent: Intent, request: ScriptRequest) -> MutableBlock:
    """The block with the options that the intent lists, or with as many options as it asks for."""
    limit = _MAX_RANKED if block["type"] == "ranking" else CHAT_OPTIONS
    listed = _presentable(intent.listed_options, for_chat=request.for_chat)[:limit]
    options = block["options"]
    if len(listed) > 1:
        options = [{"value": value} for value in listed]
    elif intent.option_count:
        count = min(intent.option_count.nearest(len(options)), limit)
        added = [{"value": f"Option {n}"} for n in range(len(options) + 1, count + 1)]
        options = [*options[:count], *added]
    bounds = {key: min(block[key], len(options)) for key in ("min", "max", "rank_top_n") if key in block}
    return block | {"options": options} | bounds


def _presentable(options: Iterable[str], *, for_chat: bool) -> list[str]:
    """The options as they can be shown, without duplicates. In chat each has one emoji at most."""
    if not for_chat:
        return list(options)
    with_one_emoji = (
        option if count_renderable(option) < 2 else emoji.replace_emoji(option, "").strip()
        for option in options
    )
    shown = {truncate(option, length=CHAT_BUTTON): None for option in with_one_emoji if option}
    return [option for option in shown if count_renderable(option) < 2]


# --- Texts ------------------------------------------------------------------------------------------


def _with_topic(block: MutableBlock, topic: str | None, template: Template) -> MutableBlock:
    texts = {key: _fill_in(block[key], topic, template.subject) for key in _TEXT_FIELDS if key in block}
    return block | texts


def _fill_in(text: str, topic: str | None, subject: str, language: str = languages.ENGLISH) -> str:
    """Put the topic into a text in one pass, so that nothing inside the topic is taken for a placeholder."""
    phrase = topic or subject
    text = _ONLY_WITH_TOPIC.sub(r"\1" if topic else "", text)
    replacements = {"topic": phrase, "Topic": capitalize(phrase)}
    filled, end = "", 0
    for match in _TOPIC.finditer(text):
        filled = languages.contracted(filled + text[end : match.start()], replacements[match[1]], language)
        end = match.end()
    filled += text[end:]
    return filled if text.startswith("{") else capitalize(filled)


def _with_question(block: MutableBlock, question: str, template: Template) -> MutableBlock:
    """Use the intent's own question in a poll, if the options suit any question, or an opinion."""
    is_suitable = template.choices_of is not None or asks_for_opinion(question)
    return block | {"prompt": question} if is_suitable and block["type"] in QUESTIONS else block
