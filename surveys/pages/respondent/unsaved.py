"""The answer in a form that was not taken, because the conversation had moved on: it is shown in words."""

from __future__ import annotations

from dataclasses import replace

from communities.ground.sent_text import sent_text
from surveys.drawing import forms
from surveys.drawing.screens import Screen
from surveys.engine.script import Block
from surveys.engine.walk import answers
from surveys.pages.respondent.page_request import PageRequest, posted_block
from surveys.services.conversations.view import ConversationView


def text_of(page_request: PageRequest, view: ConversationView) -> str:
    """The answer in the form; empty if the conversation holds the same."""
    block, sent = posted_block(page_request), page_request.request.POST
    if sent.get("do", "answer") != "answer":
        return ""
    text = sent_text(forms.in_words(block, sent))
    is_held = block is not None and block.id in view.state.path and _answer(view, block) == text
    return "" if is_held else text


def _answer(view: ConversationView, block: Block) -> str:
    return answers.display_text(block, view.state.replies.get(block.id or 0))


def shown(screen: Screen, text: str) -> Screen:
    """The screen with the text beside its question or its end."""
    if screen.ending is not None:
        return replace(screen, ending=replace(screen.ending, kept=text))
    return replace(screen, unsaved=text)
