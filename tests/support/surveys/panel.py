"""A scored project with a question of each kind that divides responses, and people who answered at random."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.support.caller import Caller
from tests.support.instruments.blocks import computes, option
from tests.support.surveys.imports import past, send
from tests.support.surveys.results import OPEN_WEB

COLOURS = ("red", "green", "blue")
TOOLS = ("saw", "axe", "file")
POINTS = {"red": 3, "green": 1.5, "blue": 0}


def _options(values: tuple[str, ...], **more: Any) -> list[dict[str, Any]]:
    return [{"value": value, **more} for value in values]


BLOCKS: list[dict[str, Any]] = [
    {
        "name": "colour",
        "type": "single_punch",
        "prompt": "Which colour?",
        "options": [option(each, {"score": POINTS[each]}) for each in COLOURS],
    },
    {"name": "tools", "type": "multi_punch", "prompt": "Which tools?", "options": _options(TOOLS)},
    {"name": "order", "type": "ranking", "prompt": "Which order?", "options": _options(TOOLS)},
    {"name": "stars", "type": "rating", "prompt": "How good?"},
    {"name": "recommend", "type": "nps", "prompt": "Would you recommend it?"},
    {"name": "age", "type": "open_numeric", "prompt": "How old?"},
    computes("doubled", "[age] * 2"),
]


@dataclass(frozen=True, slots=True)
class Person:
    """The answers of one respondent; None was skipped."""

    campaign: str
    colour: str | None
    tools: tuple[str, ...]
    order: tuple[str, ...]
    stars: int | None
    recommend: int | None
    age: float | None
    is_completed: bool
    weight: str = ""


def people(count: int, seed: int) -> list[Person]:
    chosen = random.Random(seed)

    def maybe(value: Any, none: Any = None) -> Any:
        return none if chosen.random() < 0.15 else value

    return [
        Person(
            chosen.choice(["mail", "poster", ""]),
            maybe(chosen.choice(COLOURS)),
            maybe(tuple(each for each in TOOLS if chosen.random() < 0.5), ()),
            maybe(tuple(chosen.sample(TOOLS, 3)), ()),
            maybe(chosen.randint(1, 5)),
            maybe(chosen.randint(0, 10)),
            maybe(chosen.choice([chosen.randint(-5, 90), chosen.randint(150, 700) / 10])),
            chosen.random() < 0.8,
        )
        for _ in range(count)
    ]


def panel(caller: Caller, answering: list[Person], **settings: Any) -> dict[str, Any]:
    """The project with the responses of these people; those who have not completed it left out the age."""
    blocks = [each if each["type"] == "calculated_block" else {**each, "required": False} for each in BLOCKS]
    project = caller.make_open(
        *blocks,
        scoring_enabled=True,
        delivery=OPEN_WEB,
        settings={"hidden_fields": {"campaign": ["mail", "poster"]}, **settings},
    )
    sent = send(caller, project, *map(_response, answering))
    assert sent.status_code == 201, sent.content
    return project


def _response(person: Person) -> dict[str, Any]:
    ranked = [
        {"block_name": "order", "value": n, "label": each} for n, each in enumerate(person.order, start=1)
    ]
    given: dict[str, Any] = {"colour": person.colour, "stars": person.stars, "recommend": person.recommend}
    if person.is_completed:
        given["age"] = person.age
    answers = [(name, value) for name, value in given.items() if value is not None]
    answers += [("tools", each) for each in person.tools]
    return past(
        *answers,
        *ranked,
        metadata={name: value for name in ("campaign", "weight") if (value := getattr(person, name))},
        **({} if person.is_completed else {"submitted_at": None}),
    )
