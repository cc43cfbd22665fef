"""The window in which a person types a text or a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from communities.chat_platform import limits
from communities.chat_platform.references import Op
from communities.ground import privacy_words
from surveys.chat import words
from surveys.chat.controls import References
from surveys.chat.messages import FIELD_ID, Window
from surveys.engine.intake.fields import MAX_OTHER_TEXT
from surveys.engine.script import Block, Option
from surveys.engine.walk import defaults, formats
from surveys.services.conversations import unsent_answers
from surveys.services.conversations.view import ConversationView

_LABELS = {
    "open_numeric": "Your number",
    "name": "Your name",
    "email": "Your e-mail address",
    "url": "Your link",
    "phone": "Your telephone number",
    "date": "Your date",
}
_LONGEST_NUMBER = 120  # digits, with decimals (rule 6.25) and some room for mistakes


def draw(view: ConversationView, *, platform_id: str) -> Window:
    """The window of the current question, with the text that was typed before.

    It says if an AI may ask about the text, because that may have changed since the conversation began.
    """
    step = replace(view, escape=words.escape).step
    assert step is not None
    block = step.block
    to = References(view.conversation.pk, platform_id, block.id or 0, view.state.place)
    is_number = block.type == "open_numeric"
    asks = view.asks_further and block.follow_ups and not step.follow_up
    notice = f"-# {privacy_words.AI_ASKS}\n\n" if asks else ""  # first, as a long text is clipped
    return Window(
        custom_id=to.to(Op.WRITTEN),
        title="Your answer",
        label=_LABELS.get(block.format or block.type, "Your answer"),
        text=notice + words.marked(block.words),
        value=unsent_answers.of(view).text,
        hint=defaults.help_of(block),
        placeholder=formats.example_of(block.format),
        is_long=not (is_number or block.format),
        is_required=bool(block.required),
        longest=_LONGEST_NUMBER if is_number else limits.INPUT,
    )


def for_option(block: Block, option: Option, custom_id: str, *, value: str = "") -> Window:
    """The window for the text of an option with `is_other`, with the text that was written before."""
    return Window(
        custom_id=custom_id,
        title="Your answer",
        label=option.display_text,
        text=block.prompt,
        value=value,
        is_long=False,
        longest=MAX_OTHER_TEXT,
    )


def written(fields: Mapping[str, str]) -> str:
    """The text typed in the window, without characters that are not allowed in texts."""
    return fields.get(FIELD_ID, "").replace("\x00", "")
