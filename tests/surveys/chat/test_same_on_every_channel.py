"""The same script and the same answers give the same path, responses and scores on every channel (rule 6.15).

Rule 6.15.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surveys.models import Answer, Conversation, Project
from surveys.services.conversations import admission, moves
from surveys.services.conversations import service as conversations
from surveys.services.projects import opening
from tests.support.chat.community import message_of
from tests.support.effort import examples

pytestmark = pytest.mark.django_db

OPTIONS = ("red", "green", "blue")
BLOCKS: list[dict[str, Any]] = [
    {"name": "Pick", "type": "single_punch", "prompt": "Pick one.", "required": True},
    {"name": "Some", "type": "multi_punch", "prompt": "After [Pick], some more.", "min": 1, "max": 2},
    {"name": "Order", "type": "ranking", "prompt": "Order.", "rank_top_n": 2},
    {"name": "Stars", "type": "rating", "prompt": "How many?"},
    {
        "name": "Likely",
        "type": "nps",
        "prompt": "How likely?",
        "show_when": {"block": "Stars", "op": "gte", "value": 3},
    },
    {"name": "Why", "type": "open_text", "prompt": "Why, at score [score]?"},
    {"name": "Age", "type": "open_numeric", "prompt": "How old?", "min": 0, "max": 150},
    {"name": "Note", "type": "content_block", "prompt": "You said [Why]."},
    {
        "name": "Last",
        "type": "opinion_scale",
        "prompt": "Agreed?",
        "hide_when": {"block": "Pick", "op": "eq", "value": "red"},
    },
]


def script() -> list[dict[str, Any]]:
    blocks = []
    for block in BLOCKS:
        block = dict(block)
        if block["type"] in ("single_punch", "multi_punch", "ranking"):
            block["options"] = [{"value": each} for each in OPTIONS]
        if block["type"] == "single_punch":
            for n, option in enumerate(block["options"]):
                option["score_values"] = {"score": n}
        blocks.append(block)
    return blocks


answers = st.fixed_dictionaries(
    {
        "Pick": st.sampled_from(OPTIONS),
        "Some": st.none() | st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=2, unique=True),
        "Order": st.none() | st.permutations(OPTIONS).map(lambda order: list(order[:2])),
        "Stars": st.none() | st.integers(1, 5),
        "Likely": st.none() | st.integers(0, 10),
        "Why": st.none() | st.text("ab *_[]<>@", min_size=1, max_size=20).filter(lambda text: text.strip()),
        "Age": st.none() | st.integers(0, 150),
        "Last": st.none() | st.integers(0, 10),
    }
)


def in_chat(chat, project: Project, given_answers: dict[str, Any]) -> None:
    agent = chat.agent()
    chat.work()
    agent.press("Answer", message=message_of(chat, project))
    for _ in range(len(BLOCKS)):
        if Conversation.objects.get(project=project).completed_at:
            return
        name = waiting(project)
        answer = given_answers.get(name)
        if name == "Note":
            agent.press("Okay")
        elif answer is None:
            agent.press("Skip")
        elif name in ("Some", "Order"):
            for each in answer:
                agent.press(each)
            agent.press("Submit") if name == "Order" else agent.press(f"Submit ({len(answer)})")
        elif name in ("Why", "Age"):
            agent.press("✏️")
            agent.write(str(answer))
        else:
            agent.press(str(answer))


def on_page(project: Project, given_answers: dict[str, Any]) -> None:
    browser = Client()
    address = f"/s/{project.slug}"
    for _ in range(len(BLOCKS) + 1):
        conversation = Conversation.objects.filter(project=project).first()
        if conversation is not None and conversation.completed_at:
            return
        name = waiting(project) if conversation else "Pick"
        block = next(each for each in blocks_of(project) if each.name == name)
        answer, form = given_answers.get(name), {"block": str(block.pk)}
        ids = {option.value: str(option.pk) for option in block.options.all()}
        if name == "Note":
            form["do"] = "go"
        elif answer is None:
            form["do"] = "skip"
        else:
            form["do"] = "answer"
            match name:
                case "Pick":
                    form["option"] = ids[answer]
                case "Some":
                    form["option"] = [ids[each] for each in answer]  # type: ignore[assignment]
                case "Order":
                    form |= {f"rank-{ids[each]}": str(n) for n, each in enumerate(answer, start=1)}
                case _:
                    form["value"] = str(answer)
        page = browser.get(address)
        browser.post(address, form | hidden(page.content.decode()))


def over_api(project: Project, given_answers: dict[str, Any]) -> None:
    view = conversations.begin(project_id=project.pk, respondent=admission.NAMELESS, at=timezone.now())
    while view.step is not None:
        block = view.step.block
        answer = given_answers.get(str(block.name))
        raw: dict[str, Any] = {"block_id": block.id}
        by_value = {option.value: option.id for option in block.options}
        at = timezone.now()
        if block.name == "Note":
            view = moves.go_on(conversation_id=view.conversation.pk, at=at)
            continue
        if answer is None:
            raw["skip"] = True
        elif block.name == "Pick":
            raw["option_id"] = by_value[answer]
        elif block.name == "Some":
            raw["option_ids"] = [by_value[each] for each in answer]
        elif block.name == "Order":
            raw["ranking"] = [by_value[each] for each in answer]
        else:
            raw["value"] = answer
        view = moves.answer(conversation_id=view.conversation.pk, raw=raw, at=at)


def hidden(page: str) -> dict[str, str]:
    import re  # noqa: PLC0415

    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: value for name, value in fields if name not in ("block", "do")}


def blocks_of(project: Project):
    from surveys.models import Block  # noqa: PLC0415

    return Block.objects.filter(project=project).prefetch_related("options")


def waiting(project: Project) -> str:
    conversation = Conversation.objects.get(project=project)
    view = conversations.get(conversation_id=conversation.pk, at=timezone.now())
    return str(view.step.block.name) if view.step else ""


def outcome(project: Project) -> dict[str, Any]:
    conversation = Conversation.objects.get(project=project)
    view = conversations.get(conversation_id=conversation.pk, at=timezone.now())
    by_id = {block.id: block.name for block in view.script.blocks}
    rows = Answer.objects.filter(conversation=conversation).select_related("block", "option")
    return {
        "path": [by_id[each] for each in view.state.path],
        "answers": sorted(
            (row.block.name, row.ordinal, row.value, row.option and row.option.value) for row in rows
        ),
        "score": view._filled(None, "[score] of [max_score]"),
        "is_completed": conversation.completed_at is not None,
    }


@pytest.mark.long
@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_answers=answers)
def test_the_same_answers_give_the_same_response_on_every_channel(chat, in_no_hurry, given_answers):
    made = {}
    for channel in ("chat", "web", "api"):
        project = chat.create(*script(), scoring_enabled=True, scoring={"buckets": [{"name": "Score"}]})
        delivery = {"audience": {"response_channel": "chat" if channel == "chat" else "web"}}
        if channel != "chat":
            delivery["audience"]["participation"] = "open_web"
        opening.open_project(
            actor=chat.actor, project_id=project.pk, fields={"delivery": delivery}, at=timezone.now()
        )
        made[channel] = Project.objects.get(pk=project.pk)

    in_chat(chat, made["chat"], given_answers)
    on_page(made["web"], given_answers)
    over_api(made["api"], given_answers)
    told = {channel: outcome(project) for channel, project in made.items()}

    assert json.dumps(told["chat"]) == json.dumps(told["api"])
    assert json.dumps(told["web"]) == json.dumps(told["api"])
    assert told["api"]["is_completed"]
