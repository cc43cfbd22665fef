"""One response for readers: the steps through the script, the answers in words, scores, and effects.

This module returns no more than the interface returns to readers of the response. On anonymous projects the
respondent of a running conversation stays sealed, and the effects of a response are not stored with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.errors import NotFound
from surveys.engine.flow.wording import heading
from surveys.engine.language import markup
from surveys.engine.language.values import day_in_words, number_text
from surveys.engine.script import Block
from surveys.engine.walk import answers, follow_ups, runner
from surveys.models import Conversation, Project, Reading
from surveys.services.conversations import repository
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.view import ConversationView, Exchange, of_conversation
from surveys.services.ground import access, metadata
from surveys.services.representations.response import theme_titles
from surveys.services.responses.service import NO_RESPONSE
from surveys.services.scripts import cache as script_cache
from xp.services import achievements

MAX_DIGITS = 5
# A part has at most this many characters, so that its page is smaller than 1 MB (rule 6.40).
MAX_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """The reading of an answer: titles of themes by id, and the sentiment. The sentiment is None for an
    answer that was not judged.

    `is_corrected` is True if staff have corrected the reading.
    """

    themes: Mapping[int, str]
    sentiment: str | None
    is_corrected: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One block of the script in this response.

    `kind` is `answered`, `skipped`, `shown` (asks nothing), `hidden` (its condition skipped the block),
    `calculated` or `waiting` (the current block of an unfinished response). `answers` are in words; the
    answers of a ranking start with the best. `is_right` is None for blocks that are not graded. `follow_ups`
    are the further questions about the answer, each with its answer, or with None for a skipped question.
    """

    kind: str
    block: Block
    prompt: str
    answers: Sequence[str] = ()
    is_right: bool | None = None
    reading: AnswerReading | None = None
    follow_ups: Sequence[Mapping[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class LooseAnswer:
    """An answer that belongs to no step: the answer to a removed question, or to a question that a step back
    has passed over.
    """

    prompt: str
    answers: Sequence[str]
    is_removed: bool
    reading: AnswerReading | None = None
    follow_ups: Sequence[Mapping[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """The points in one bucket, or in all buckets, and the highest possible points, as text."""

    name: str
    points: str
    most: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a response. `next` is the start of the following part; None for the last part."""

    steps: Sequence[Step]
    loose: Sequence[LooseAnswer]
    next: int | None


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """A response as the admin and pages show it. `fields` are its metadata; `consent` is the text that the
    respondent agreed to, and the moment; `gifts` is None if the effects may not be shown.

    `answered` is the number of answered questions in all parts.
    """

    conversation: Conversation
    fields: Mapping[str, str]
    part: Part
    answered: int
    scores: Sequence[Score]
    gifts: Sequence[str] | None
    consent: Mapping[str, str]
    language: str


def read(
    *, response_id: uuid.UUID, project: Project, actor: Actor, at: datetime, start: int = 0
) -> ReadResponse:
    """A response of a project, with the part that starts at `start`.

    Raises NotFound and Forbidden as `service.get` does.
    """
    conversation = repository.find(conversation_id=response_id)
    if conversation is None or not conversation.is_response or conversation.project_id != project.pk:
        raise NotFound(NO_RESPONSE)
    access.require_responses_reader(actor=actor, project=project, at=at, missing=NO_RESPONSE)
    # The value is removed so that no code below unseals the respondent.
    conversation.sealed_respondent = None
    view = of_conversation(LoadedConversation.of(conversation), at)
    knows_solutions = access.may_read_solutions(actor=actor, project=project)
    answered = _answered(view)
    readings = {
        block_id: each
        for (_, block_id), each in answer_readings(project=project, response_ids=[response_id]).items()
    }
    loose = _loose(view, answered, readings)
    steps = (
        (n, replace(step, reading=readings.get(step.block.id or 0)))
        for n, step in _steps(view, start, knows_solutions)
    )
    if not knows_solutions:
        steps = ((n, step) for n, step in steps if step.kind != "calculated")
    return ReadResponse(
        conversation,
        _fields(view),
        _part(view, start, steps, loose),
        len(answered) + len(loose),
        _scores(view) if knows_solutions else (),
        _gifts(view) if access.may_own(actor=actor, project=project) else None,
        view.state.consent,
        metadata.language_name(view.state.language),
    )


def answer_readings(
    *, project: Project, response_ids: Sequence[uuid.UUID]
) -> Mapping[tuple[uuid.UUID, int], AnswerReading]:
    """The readings of answers in some responses, by response and block."""
    rows = list(Reading.objects.filter(conversation_id__in=response_ids))
    titles = theme_titles(project.pk) if rows else {}
    return {
        (row.conversation_id, row.block_id): AnswerReading(
            {key: titles[key] for key in row.themes if key in titles}, row.sentiment, row.is_corrected
        )
        for row in rows
    }


def part_for_respondent(view: ConversationView, *, start: int) -> Part:
    """The steps of a response as its respondent may see them: without solutions and hidden blocks."""
    steps = _steps(view, start, knows_solutions=False)
    known = ((n, step) for n, step in steps if step.kind in ("answered", "skipped", "shown"))
    return _part(view, start, known, ())


def place_in(text: str) -> int:
    """The start of a part from the text in an address; 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else 0


def neighbours(
    *, rows: QuerySet[Conversation], response_id: uuid.UUID
) -> tuple[uuid.UUID | None, uuid.UUID | None]:
    """The responses before and after this one among `rows`, in the order of ids."""
    before = rows.filter(pk__lt=response_id).order_by("-pk").values_list("pk", flat=True).first()
    after = rows.filter(pk__gt=response_id).order_by("pk").values_list("pk", flat=True).first()
    return before, after


def _fields(view: ConversationView) -> Mapping[str, str]:
    """The metadata of a response: declared fields in their order, then others by name."""
    sent, declared = view.state.fields, list(view.project.hidden_fields)
    names = [name for name in declared if name in sent] + sorted(sent.keys() - set(declared))
    return {name: sent[name] for name in names}


def _part(
    view: ConversationView, start: int, steps: Iterable[tuple[int, Step]], loose: Sequence[LooseAnswer]
) -> Part:
    """The part that starts at `start`, with at most MAX_CHARACTERS or a single step: first steps, then
    `loose`.

    The positions of `loose` answers follow the positions of the steps. Steps after the part are not filled
    in.
    """
    shown: list[Step] = []
    shown_loose: list[LooseAnswer] = []
    length, first_loose = 0, len(view.script.blocks) + 1
    for n, step in steps:
        length += len(step.prompt) + sum(map(len, step.answers)) + _size_of(step.follow_ups)
        if shown and length > MAX_CHARACTERS:
            return Part(shown, (), n)
        shown.append(step)
    begin = max(0, start - first_loose)
    for n, answer in enumerate(loose[begin:], start=first_loose + begin):
        length += len(answer.prompt) + sum(map(len, answer.answers)) + _size_of(answer.follow_ups)
        if (shown or shown_loose) and length > MAX_CHARACTERS:
            return Part(shown, shown_loose, n)
        shown_loose.append(answer)
    return Part(shown, shown_loose, None)


def _size_of(exchanges: Sequence[Mapping[str, str | None]]) -> int:
    return sum(len(text or "") for each in exchanges for text in each.values())


def _steps(view: ConversationView, start: int, knows_solutions: bool) -> Iterator[tuple[int, Step]]:
    """The blocks of the script from a position up to the current block of the response, with their
    positions.
    """
    view = replace(view, escape=markup.escape)
    script, state = view.script, view.state
    seen = {block_id: step for step, block_id in enumerate(state.path)}
    at = state.at
    if view.conversation.is_screened_out:  # perhaps before the last block
        at = max((script.index_by_id[block_id] + 1 for block_id in state.path), default=0)
    for n, block in enumerate(script.blocks[start:at], start=start):
        block_id = block.id or 0
        if block_id in seen:
            yield n, _passed(block, view.exchange(seen[block_id]), knows_solutions)
        elif block_id in state.results:
            result = _result(block, state.results[block_id])
            yield n, Step("calculated", block, heading(block.prompt, view.script), [result])
        else:
            yield n, Step("hidden", block, heading(block.prompt, view.script))
    if view.step is not None and start <= state.at:
        yield state.at, Step("waiting", view.step.block, markup.plain(view.step.block.prompt))


def _answered(view: ConversationView) -> set[int | None]:
    """The blocks that a step shows as answered."""
    state, path = view.state, set(view.state.path)
    return {
        block.id
        for block in view.script.blocks[: state.at]
        if block.id in path and block.asks and answers.is_answer(state.replies.get(block.id or 0))
    }


def _passed(block: Block, exchange: Exchange, knows_solutions: bool) -> Step:
    prompt = markup.plain(exchange.block.prompt)
    if not block.asks:
        return Step("shown", block, prompt)
    if not answers.is_answer(exchange.reply) or exchange.reply is None:
        return Step("skipped", block, prompt)
    is_right = answers.is_correct(block, exchange.reply) if knows_solutions else None
    words = _in_words(block, exchange.reply)
    return Step("answered", block, prompt, words, is_right, follow_ups=exchange.follow_ups)


def _in_words(block: Block, reply: answers.Reply) -> Sequence[str]:
    if "option_ids" not in reply:
        text = answers.display_text(block, reply)
        text = day_in_words(text) if block.format == "date" else text
        number = str(reply.get("number", ""))
        return [text if number in text.split() else f"{number} ({text})" if number else text]
    ids = reply["option_ids"]
    assert isinstance(ids, list)
    chosen = ids if block.type == "ranking" else [key for key in block.option_by_id if key in ids]
    other_id, other_text = answers.other_of(reply) or (None, "")
    return [
        f"{block.option_by_id[key].display_text}: {other_text}"
        if key == other_id
        else block.option_by_id[key].display_text
        for key in chosen
        if key in block.option_by_id
    ]


def _result(block: Block, result: answers.Reply) -> str:
    if "number" in result:
        value = answers.value(block, result)
        return number_text(value) if value is not None else ""  # type: ignore[arg-type]
    return str(result.get("text", ""))


def _loose(
    view: ConversationView, answered: set[int | None], readings: Mapping[int, AnswerReading]
) -> list[LooseAnswer]:
    """Stored answers to blocks that no step shows as answered."""
    project = view.project
    catalogue = script_cache.of(project).catalogue
    texts_by_id: dict[int, list[str]] = {}
    rows = view.conversation.answers.order_by("block_id", "ordinal").values_list(
        "block_id", "option_id", "value"
    )
    for block_id, option_id, value in rows:
        if block_id not in answered:
            words = catalogue.words(block_id, option_id, value)
            other = answers.other_of(view.state.replies.get(block_id))
            if other is not None and other[0] == option_id:
                words = f"{words}: {other[1]}"
            texts_by_id.setdefault(block_id, []).append(words)
    walked = view.script.index_by_id
    return [
        LooseAnswer(
            heading(catalogue.blocks[block_id].prompt, view.script),
            texts,
            block_id not in walked,
            readings.get(block_id),
            follow_ups.of(view.state.replies.get(block_id)),
        )
        for block_id, texts in sorted(texts_by_id.items(), key=lambda each: catalogue.rank.get(each[0], 0))
        if block_id in catalogue.blocks
    ]


def _scores(view: ConversationView) -> list[Score]:
    script = view.script
    if not (script.scoring_enabled and script.is_scored):
        return []
    values = runner.score_variables(script, view.state)

    def score(name: str, suffix: str) -> Score:
        return Score(name, number_text(values[f"score{suffix}"]), number_text(values[f"max_score{suffix}"]))

    scores = [score(bucket.name, f"_{bucket.key}") for bucket in script.buckets]
    if len(scores) != 1:
        scores.append(score("All", ""))
    if values["max_correct_answers"]:
        right, graded = (number_text(values[name]) for name in ("correct_answers", "max_correct_answers"))
        scores.append(Score("Right answers", right, graded))
    return scores


def _gifts(view: ConversationView) -> list[str] | None:
    """The effects of the response, in words; None on anonymous projects, which do not store them."""
    if view.project.is_anonymous:
        return None
    fired = view.state.fired
    script = view.script
    blocks = {block.id: block for block in (*script.blocks, *script.outro)}
    xp_name = communities.get_settings(community_id=view.project.community_id).name_of_xp
    described = _achievements(view, [blocks[key] for key in fired if key in blocks])
    return [
        text
        for block_id, amount in fired.items()
        if (text := _gift(blocks.get(block_id), amount, xp_name, described))
    ]


def _achievements(view: ConversationView, blocks: Sequence[Block]) -> Mapping[int, Any]:
    numbers = [
        block.action_config.xp_role_id
        for block in blocks
        if block.action_kind == "give_achievement" and block.action_config and block.action_config.xp_role_id
    ]
    return achievements.by_number(community_id=view.project.community_id, numbers=numbers) if numbers else {}


def _gift(block: Block | None, amount: int, xp_name: str, described: Mapping[int, Any]) -> str:
    """The text for one effect; empty if the effect gave nothing."""
    if block is None:
        return f"{amount:+,} {xp_name}, by a block that was removed since" if amount else ""
    config = block.action_config
    if block.action_kind == "give_achievement" and config:
        known = described.get(config.xp_role_id or 0)
        return f"Achievement: {known.name if known else config.xp_role_id}"
    if block.action_kind == "give_role" and config:
        return f"Role: {config.role_id}"
    if not amount:
        return ""
    cause = "for the vote" if block.asks else "at the end" if block.section == "outro" else f"by {block.name}"
    return f"{amount:+,} {xp_name} {cause}"
