"""Draws a conversation as one message for its respondent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from communities import services as communities
from communities.chat_platform import limits, references
from communities.chat_platform.references import Op, Reference, of_project
from communities.ground import privacy_words
from communities.ground.tiers import TIERS
from communities.models import Community
from surveys.chat import controls, results, words
from surveys.chat.controls import References
from surveys.chat.messages import DANGER, PRIMARY, SECONDARY, Button, Embed, Message, Row
from surveys.drawing import theme
from surveys.engine.intake import videos
from surveys.engine.script import Block
from surveys.engine.walk import answers, runner
from surveys.models import Project
from surveys.services.conversations import admission, unsent_answers
from surveys.services.conversations.unsent_answers import UnsentValue
from surveys.services.conversations.view import ConversationView
from surveys.services.results import poll as poll_results
from surveys.services.scripts import cache as script_cache
from xp import levels

DEFAULT_COLOUR, RIGHT, WRONG, PROBLEM = 0x5B6CFF, 0x2E9E5B, 0xC9473D, 0xD98E04
MOST_EMBEDS = 5  # for the texts around a question; each block may add two
_HEX = re.compile(r"[0-9A-Fa-f]{6}")


def draw(
    view: ConversationView,
    *,
    platform_id: str,
    note: str = "",
    error: str = "",
) -> Message:
    """The conversation at its present step: the current question, or the end."""
    view = replace(view, escape=words.escape)
    if view.project.is_poll and view.is_completed:
        return _voted(view, platform_id=platform_id, note=note, error=error)
    if view.is_completed or view.step is None:
        return _end(view, platform_id=platform_id, note=note, error=error)
    return _step(view, platform_id=platform_id, note=note, error=error)


def notice(text: str, *, rows: Sequence[Row] = (), colour: int = PROBLEM) -> Message:
    """A text in place of a question."""
    return Message([Embed(text, colour=colour)], rows)


def consent(project: Project, *, platform_id: str) -> Message:
    """The text that somebody agrees to before they begin, with the button to agree."""
    text = project.consent or ""
    button = Button(words.AGREE, _agreement(project, text, platform_id), PRIMARY)
    script = script_cache.script_of(project)
    told = f"-# {privacy_in_words(project, asks_further=admission.asks_further(project, script))}"
    embed = Embed(f"{text}\n\n{told}", colour=colour_of(project))
    return Message([embed], [[button]])


def _agreement(project: Project, text: str, platform_id: str) -> str:
    subject, mark = of_project(project.pk), admission.consent_mark(text)
    return references.seal(Reference(Op.AGREE, subject, arg=mark), platform_id=platform_id)


def may_change_vote(view: ConversationView) -> bool:
    """Whether there is a vote for the poll's present question that may be changed."""
    block, _ = _question(view)
    is_same = (block.id or 0) in view.state.path
    return view.is_completed and view.is_open and bool(view.project.change_poll) and is_same


def change_vote(view: ConversationView, *, platform_id: str, error: str = "") -> Message:
    """A poll's question again, with the earlier vote."""
    view = replace(view, escape=words.escape)
    block, reply = _question(view)
    shown = view.present(runner.state_at_step(view.script, view.state, _step_of(view, block)), block)
    ids = (reply or {}).get("option_ids")
    draft = unsent_answers.UnsentValue(tuple(ids) if isinstance(ids, list) else ())
    step = view.state.place
    control = controls.draw(
        shown, draft, reply, References(view.conversation.pk, platform_id, block.id or 0, step)
    )
    if block.type == "multi_punch":  # ticks are stored only for the current question, which this is not
        to = References(view.conversation.pk, platform_id, block.id or 0, step)
        control = controls.draw(replace(shown, answer_style="select_menu"), draft, reply, to)
    colour = _colour_of_block(shown, view.project) or colour_of(view.project)
    embeds = [*_alerts(error), *_picture_above(shown, colour)]
    embeds.append(_question_embed(view, shown, control.text, colour))
    return Message(embeds, control.rows)


def colour_of(project: Project) -> int:
    """A project's colour, from its invitation."""
    invitation = (project.delivery or {}).get("invitation") or {}
    return _colour(invitation.get("border_color")) or DEFAULT_COLOUR


def picture(address: str | None) -> str:
    """The address of a picture if the platform can load it; else empty."""
    return address if address and address.startswith(("https://", "http://")) else ""


def _colour(text: object) -> int | None:
    return int(text, 16) if isinstance(text, str) and _HEX.fullmatch(text) else None


def _colour_of_block(block: Block, project: Project) -> int | None:
    """A block's own colour, if the community's tier allows one (rule 1.46)."""
    colour = _colour(block.color)
    if colour is None:
        return None
    tier = Community.objects.values_list("tier", flat=True).get(pk=project.community_id)
    return colour if TIERS[tier].has_premium_features else None


def looks_own(block: Block, project: Project) -> bool:
    """Whether a block has a picture or a colour of its own."""
    has_picture = picture(block.image_url) or picture(block.thumbnail_url)
    return bool(has_picture) or _colour_of_block(block, project) is not None


def _picture_above(block: Block, colour: int) -> list[Embed]:
    """The picture of a block, above its text."""
    address = picture(block.image_url)
    return [Embed(colour=colour, picture=address)] if address else []


def embeds_of(
    blocks: Iterable[Block], project: Project, *, before: str = "", closed: int | None = None
) -> list[Embed]:
    """Blocks with their texts, pictures and colours, below the text `before`.

    `closed` is a colour that replaces all others. A text without picture and colour shares an embed with the
    texts above it, because a message has few embeds. After MOST_EMBEDS embeds, only texts are shown.
    """
    usual = closed if closed is not None else colour_of(project)
    embeds = [Embed(before, colour=usual)] if before else []
    for block in blocks:
        colour = usual if closed is not None else _colour_of_block(block, project) or usual
        above, thumbnail = _picture_above(block, colour), picture(block.thumbnail_url)
        is_full = len(embeds) >= MOST_EMBEDS
        embeds += [] if is_full else above
        last = embeds[-1] if embeds and (is_full or not above) else None
        if last is None or (not is_full and (thumbnail or last.thumbnail or last.colour != colour)):
            embeds.append(Embed(text_of(block), colour=colour, thumbnail=thumbnail))
        else:
            embeds[-1] = replace(last, text="\n\n".join(filter(None, [last.text, text_of(block)])))
    return [embed for embed in embeds if not embed.is_empty]


def text_of(block: Block) -> str:
    """The texts of a block, with a link to its video."""
    return "\n\n".join(filter(None, [words.marked(block.words), videos.link(block.video_url)]))


def _followed(embeds: Sequence[Embed], text: str, colour: int) -> list[Embed]:
    """The embeds followed by a text, which joins the last embed if both look the same."""
    if embeds and (not text or embeds[-1].colour == colour):
        last = embeds[-1]
        return [*embeds[:-1], replace(last, text="\n\n".join(filter(None, [last.text, text])))]
    return [*embeds, Embed(text, colour=colour)]


def _step(view: ConversationView, *, platform_id: str, note: str, error: str) -> Message:
    step = view.step
    assert step is not None
    block = step.block
    draft = unsent_answers.of(view) if block.asks else UnsentValue()
    to = References(view.conversation.pk, platform_id, block.id or 0, view.state.place)
    control = (
        controls.locked(block, step.reply, to)
        if step.is_locked
        else controls.draw(block, draft, step.reply, to)
    )
    last = list(control.advance)
    if step.can_go_back:
        last.append(Button(words.BACK, to.to(Op.BACK), SECONDARY, "↩️"))
    if block.asks and not block.required and not step.is_locked:
        last.append(Button(words.SKIP, to.to(Op.SKIP)))
    colour = _colour_of_block(block, view.project) or colour_of(view.project)
    given = f"**{_amount(step.given, view.context.xp_name)}**" if step.given else ""
    mark = words.ASKED_BY_AI if step.follow_up and block.asks else ""
    block = replace(block, prompt=f"-# {words.shown(step.group)}\n{block.prompt}") if step.group else block
    text = "\n\n".join(filter(None, [mark, given, control.text]))
    embeds = [*_verdict(view), *_alerts(error, note)]
    embeds += _picture_above(block, colour)
    question = _question_embed(view, block, text, colour)
    footer = f"Question {view.question_number}" if block.asks else ""
    return Message([*embeds, replace(question, footer=footer)], [*control.rows, *([last] if last else [])])


def _question_embed(view: ConversationView, block: Block, text: str, colour: int) -> Embed:
    parts = [text_of(block), text]
    if not view.state.path and not view.is_completed:
        parts.append(f"-# {privacy_in_words(view.project, asks_further=view.asks_further)}")
    return Embed(
        "\n\n".join(filter(None, parts)),
        colour=colour,
        author=theme.interviewer_of(view.project.presentation).name,
        thumbnail=picture(block.thumbnail_url),
    )


def privacy_in_words(project: Project, *, asks_further: bool) -> str:
    """A text about who can read the answers, whether an AI may ask about them, and how they are handled."""
    is_open = project.privacy_mode == Project.PrivacyMode.TRANSPARENT
    sentences = (
        [words.ANONYMOUS] if project.is_anonymous else [words.MEMBERS_READ if is_open else words.TEAM_READS]
    )
    if asks_further and not project.is_anonymous:
        sentences.append(privacy_words.AI_ASKS)
    return " ".join([*sentences, *handling_of(project)])


def handling_of(project: Project) -> list[str]:
    """When answers are deleted, and a link to the community's privacy text."""
    address = communities.get_settings(community_id=project.community_id).privacy_url
    link = f"[{privacy_words.ADDRESS}]({address})" if address else ""
    return [each for each in (privacy_words.deleted_after(project.keep_responses_days), link) if each]


def _end(view: ConversationView, *, platform_id: str, note: str, error: str) -> Message:
    again = _again(view, platform_id)
    told = [earned_in_words(view), words.ANSWER_ADDS if again else ""]
    rows = [*_links(view), *again]
    texts = embeds_of(view.outro, view.project)
    if not any(block.prompt for block in view.outro):
        told.insert(0, "Thank you! That was the last question.")
    embeds = _followed(texts, "\n\n".join(filter(None, told)), colour_of(view.project))
    embeds[0] = replace(embeds[0], author=theme.interviewer_of(view.project.presentation).name)
    return Message([*_verdict(view), *_alerts(error, note), *embeds], rows)


def _links(view: ConversationView) -> Sequence[Row]:
    """The button of the end, if the platform takes its address."""
    end = view.end
    return [[Button(end.label, address=end.url)]] if end and 0 < len(end.url) <= limits.LINK else ()


def _again(view: ConversationView, platform_id: str) -> Sequence[Row]:
    project = view.project
    most, number = project.max_completes_per_user, view.session_number
    if not view.is_open or (most is not None and (number or 1) >= most):
        return ()
    to = References(of_project(project.pk), platform_id)
    return [[Button(words.AGAIN, to.to(Op.AGAIN))]]


def _voted(view: ConversationView, *, platform_id: str, note: str, error: str) -> Message:
    block, reply = _question(view)
    vote = controls.said(block, reply)
    colour = colour_of(view.project)
    confirmed = f"You voted **{words.shown(vote)}**." if vote else ""
    texts = embeds_of([*view.outro, *view.texts_ahead()], view.project, before=confirmed)
    embeds = [*_verdict(view), *_alerts(error, note), *_followed(texts, earned_in_words(view), colour)]
    if poll_results.may_be_seen(project=view.project, has_voted=True, at=view.at):
        votes = poll_results.count(project=view.project, block=block, at=view.at)
        text = results.as_text(view.project, block, votes, own=reply)
        title = "Results so far" if view.is_open else "Results"
        embeds.append(Embed(text, title=title, colour=colour_of(view.project)))
    elif view.is_open:
        embeds[-1] = replace(embeds[-1], footer=words.RESULTS_LATER)
    if not (view.is_open and view.project.change_poll):
        return Message(embeds, _links(view))
    to = References(view.conversation.pk, platform_id, block.id or 0, view.state.place)
    change = Button(words.CHANGE, to.to(Op.CHANGE), PRIMARY)
    return Message(embeds, [[change, Button(words.RETRACT, to.to(Op.RETRACT), DANGER)], *_links(view)])


def _question(view: ConversationView) -> tuple[Block, answers.Reply | None]:
    block = next(block for block in view.script.blocks if block.asks)
    return block, view.state.replies.get(block.id or 0)


def _step_of(view: ConversationView, block: Block) -> int:
    return view.state.path.index(block.id or 0)


def earned_in_words(view: ConversationView) -> str:
    """The XP of a conversation, the member's level, and the time of a later award; empty without XP."""
    xp, name, later = view.earned_xp, view.context.xp_name, f"-# {view.deferral}" if view.deferral else ""
    if not xp:
        return later if any(block.action_kind for block in view.outro) else ""
    given = view.context.given
    is_told = any(given.get(block.id or 0) == xp for block in view.outro if block.action_kind == "give_xp")
    parts = [] if is_told else [f"**{_amount(xp, name)}**"]
    if (standing := view.totals) is not None:
        level, missing = levels.level_of(standing.total), levels.to_next(standing.total)
        parts.append(f"Level {level}, {missing:,} {words.shown(name)} to level {level + 1}")
    return "\n".join(filter(None, [" · ".join(parts), later]))


def _amount(xp: int, name: str) -> str:
    sign = "+" if xp > 0 else "\N{MINUS SIGN}"
    return f"{sign}{abs(xp):,} {words.shown(name)}"


def _verdict(view: ConversationView) -> list[Embed]:
    """The feedback on the previous answer, if it was graded."""
    text = view.last_feedback()
    if not text or not view.script.scoring_enabled:
        return []
    latest = runner.latest_reply(view.script, view.state)
    is_right = latest is not None and bool(answers.is_correct(*latest))
    verdict = words.RIGHT if is_right else words.NOT_RIGHT
    return [Embed(f"**{verdict}**\n{words.marked(text)}", colour=RIGHT if is_right else WRONG)]


def _alerts(error: str, note: str = "") -> list[Embed]:
    alerts = [Embed(f"⚠️ **{words.escape(error)}**", colour=PROBLEM)] if error else []
    return alerts + ([Embed(note, colour=DEFAULT_COLOUR)] if note else [])
