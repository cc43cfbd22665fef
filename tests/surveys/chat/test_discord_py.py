"""A client library that others wrote reads what we draw."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.support.concurrency import run_coroutine

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports a module that later versions of Python lack
    import discord
    from discord.state import ConnectionState

pytestmark = pytest.mark.django_db

BLOCKS: list[dict[str, Any]] = [
    {
        "name": "a",
        "type": "single_punch",
        "prompt": "One?",
        "options": [{"value": "x", "emoji": "🎲"}, {"value": "y"}],
    },
    {"name": "b", "type": "multi_punch", "prompt": "Some?", "options": [{"value": "x"}, {"value": "y"}]},
    {
        "name": "c",
        "type": "single_punch",
        "prompt": "Menu?",
        "answer_style": "select_menu",
        "options": [{"value": "m"}],
    },
    {"name": "d", "type": "nps", "prompt": "How likely?"},
    {"name": "e", "type": "ranking", "prompt": "Order?", "options": [{"value": "p"}, {"value": "q"}]},
    {"name": "f", "type": "open_text", "prompt": "Why?"},
]


def read(raw: dict[str, Any]) -> discord.Message:
    """The message as discord.py reads it. The library refuses content that it does not understand."""
    state = MagicMock(spec=ConnectionState)
    state._messages, state.application_id, state.member_cache_flags = None, 1, SimpleNamespace(joined=False)
    state.store_user = lambda data, cache=True: discord.User(state=state, data=data)
    channel = SimpleNamespace(id=int(raw["channel_id"]), guild=None, type=discord.ChannelType.text)
    return discord.Message(state=state, channel=channel, data=raw)  # type: ignore[arg-type]


def controls(message: discord.Message) -> list[str]:
    """The labels of buttons and options in the view that discord.py makes of a message."""

    async def view() -> discord.ui.View:
        return discord.ui.View.from_message(message)

    labels: list[str] = []
    for item in run_coroutine(view()).children:
        if isinstance(item, discord.ui.Button):
            labels.append(item.label or str(item.emoji))
        elif isinstance(item, discord.ui.Select):
            labels += [option.label for option in item.options]
    return labels


def test_every_kind_of_question_is_read_as_it_was_meant(chat):
    chat.open(*BLOCKS)
    marit = chat.agent()
    assert controls(read(chat.message())) == ["Answer"]

    seen = []
    marit.press("Answer", message=chat.message())
    for _ in BLOCKS:
        message = read(marit.screen)
        assert message.flags.ephemeral
        assert message.embeds[-1].author.name == "Mila"
        seen.append(controls(message))
        marit.press("Skip")
    assert seen[0] == ["x", "y", "Skip"]
    assert seen[1] == ["x", "y", "Submit (0)", "Back", "Skip"]
    assert seen[2] == ["m", "Back", "Skip"]
    assert seen[3] == [*map(str, range(11)), "Back", "Skip"]
    assert seen[4] == ["p", "q", "Back", "Skip"]
    assert seen[5] == ["Write answer", "Back", "Skip"]


def test_a_poll_with_its_results_is_read_as_it_was_meant(chat):
    options = [{"value": "White"}, {"value": "Black"}]
    chat.open(
        {"name": "a", "type": "single_punch", "prompt": "Which?", "options": options},
        type="poll",
        settings={"poll_results_mode": "public"},
    )

    message = read(chat.message())
    assert controls(message) == ["White", "Black"]
    assert [embed.title for embed in message.embeds] == [None, "Results"]
