"""Row 22: an answer and a vote in chat, against the same over the interface."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from nacl.signing import SigningKey

from communities.chat_platform.references import Op, of_project
from surveys.chat.controls import References
from surveys.models import Project
from tests.bench.client import Client
from tests.bench.rows import Bench, Result, answer_block, begin_talk, cost
from tests.bench.servers import CHAT_SEED
from tests.support.chat.agent import Agent, parts
from tests.support.chat.server import Platform
from tests.support.chat.world import World

GOAL = 1.3
PATH = "/chat/interactions"


def answers_in_chat(bench: Bench) -> list[Result]:
    """All conversations advance together: one step of all of them is one measurement."""
    people = max(50, bench.repetitions // 10)
    world = World(guild_id=str(bench.world.community_id))
    world.key = SigningKey(CHAT_SEED)
    platform, client = Platform(world), bench.colloquy.client()
    channel = world.add_channel("measured")
    survey, poll = bench.world.survey, bench.world.poll
    of_both = Project.objects.filter(pk__in=[survey.pk, poll.pk])
    of_both.update(response_channel="chat")
    begin = _message(channel.id, References(of_project(survey.pk), None).to(Op.ANSWER))
    agents = [_agent(platform, client, number) for number in range(people)]
    for agent in agents:
        agent.press("Go", message=begin)
    chat = [
        cost(bench.colloquy, [partial(_answer, agent) for agent in agents]) for _ in bench.world.question_ids
    ]
    talks = [begin_talk(bench, client) for _ in range(people)]
    plain = [
        cost(bench.colloquy, [partial(answer_block, bench, client, talk, block) for talk in talks])
        for block in bench.world.question_ids
    ]
    block = poll.blocks.get(type="single_punch")
    option = block.options.first()
    assert option is not None
    to = References(of_project(poll.pk), None, block.pk)
    ballot = _message(channel.id, to.to(Op.VOTE, option.pk))
    voted = cost(bench.colloquy, [partial(agent.press, "Go", message=ballot) for agent in agents])
    of_both.update(response_channel="web")  # as other rows of the table find them
    answered, beside = statistics.fmean(chat), statistics.fmean(plain)
    return [
        Result("22", "answer in chat", answered, beside, 30, note="beside: over the interface"),
        Result("22", "the same, against the interface", answered / beside, None, GOAL, unit="times"),
        Result("22", "vote in chat", voted, None, 30, note="goal: CPU of one interaction"),
    ]


def _agent(platform: Platform, client: Client, number: int) -> Agent:
    def send(body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        reply = client.call("POST", PATH, body, headers={**headers, "Content-Type": "application/json"})
        return reply.status, reply.body

    return Agent(platform, platform.world.add_person(f"Person {number}"), send)


def _answer(agent: Agent) -> None:
    buttons = [part for part in parts(agent.screen or {}) if part["type"] == 2]
    agent.press_button(next((each for each in buttons if each.get("label") == "3"), buttons[0]))


def _message(channel_id: str, custom_id: str) -> dict[str, Any]:
    button = {"type": 2, "style": 1, "label": "Go", "custom_id": custom_id}
    row = {"type": 1, "components": [button]}
    return {"id": "1", "channel_id": channel_id, "flags": 0, "components": [row]}
