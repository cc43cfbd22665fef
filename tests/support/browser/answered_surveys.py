"""Projects with many answers, written straight into the tables, to look at their results in a browser."""

from __future__ import annotations

from datetime import timedelta
from itertools import cycle, islice
from typing import Any

from surveys.engine.script import Scale
from surveys.models import Answer, Conversation, Project, Tally
from tests.support.moments import LUNCHTIME
from tests.support.surveys import plain_counts, scenario

QUESTIONS: list[dict[str, Any]] = [
    {"type": "content_block", "prompt": "Hello!"},
    {
        "type": "single_punch",
        "prompt": "How did you first hear about the chess club?",
        "options": [
            {"value": "friend", "label": "From a friend", "emoji": "🤝"},
            {"value": "street", "label": "I walked past it"},
            {"value": "web", "label": "On the web, in a search or in a post that somebody had shared there"},
            {"value": "press", "label": "In the newspaper"},
        ],
    },
    {"type": "multi_punch", "prompt": "Where do you play?", "options": ["Club", "Online", "Park", "At home"]},
    {"type": "rating", "prompt": "How are the club evenings?"},
    {
        "type": "opinion_scale",
        "prompt": "The rules of our tournaments are clear to me.",
        "min": 1,
        "max": 5,
        "options": [
            {"value": "1", "label": "Strongly disagree"},
            {"value": "2", "label": "Disagree"},
            {"value": "3", "label": "Neither agree nor disagree"},
            {"value": "4", "label": "Agree"},
            {"value": "5", "label": "Strongly agree"},
        ],
    },
    {
        "type": "nps",
        "prompt": "How likely are you to recommend us to a friend?",
        "scale": Scale(),
    },
    {"type": "open_numeric", "prompt": "How many games do you play in a month?"},
    {
        "type": "ranking",
        "prompt": "Put these in order of what you would like to learn next.",
        "options": ["Openings", "Tactics", "Endgames", "Clock handling"],
        "rank_top_n": 2,
    },
    {"type": "open_text", "prompt": "What should we do differently?"},
]
# The answers to each question, repeated in this order.
SAID: list[list[Any]] = [
    [],
    [0, 0, 1, 0, 2, 1, 0],
    [[0, 1], [1], [0, 1, 2], [1, 2]],
    [5, 4, 4, 3, 5, 2, 4, 5],
    [4, 4, 5, 2, 3, 4],
    [10, 9, 7, 3, 10, 8, 9, 6, 10],
    [4, 12, 30, 2.5, 8],
    [[1, 0], [1, 2], [0, 1], [2, 1]],
    ["More lessons.", "Longer evenings, please.", "The coffee is cold."],
]


def answered(people: int = 40, *, stopping: int = 6, **fields: Any) -> Project:
    """A survey of every kind of question with `people` responses; the last `stopping` are partial."""
    made = scenario.project(*QUESTIONS, **{"name": "How do you like our chess club?", **fields})
    fill(made, SAID, people, stopping=stopping)
    return made


def fill(made: Project, said: list[list[Any]], people: int, *, stopping: int = 0) -> None:
    blocks = scenario.script(made).blocks
    conversations, answers = [], []
    for n in range(people):
        is_done = n < people - stopping
        length = len(blocks) if is_done else 2 + n % (len(blocks) - 2)
        moment = LUNCHTIME + timedelta(days=n % 30)
        conversation = Conversation(
            project=made,
            seed=n,
            is_listed=True,
            started_at=moment,
            updated_at=moment,
            completed_at=moment if is_done else None,
            state={"at": length, "revision": made.revision},
        )
        conversations.append(conversation)
        for block, sayings in list(zip(blocks, said, strict=True))[:length]:
            if sayings:
                answers += _rows(conversation, block, next(islice(cycle(sayings), n, None)))
    Conversation.objects.bulk_create(conversations)
    Answer.objects.bulk_create(answers)
    plain_counts.pack_answer_rows()
    Tally.objects.create(
        project=made,
        slot=0,
        answered=sum(not answer.ordinal for answer in answers),
        completed=people - stopping,
        listed=people,
        changes=people,
    )


def _rows(conversation: Conversation, block: Any, said: Any) -> list[Answer]:
    def row(ordinal: int, value: object, number: float | None = None, option: Any = None) -> Answer:
        option_id = option and option.id
        return Answer(
            conversation=conversation,
            block_id=block.id,
            ordinal=ordinal,
            option_id=option_id,
            value=str(value),
            number=number,
        )

    if block.type == "ranking":
        return [row(n, n + 1, n + 1, block.options[each]) for n, each in enumerate(said)]
    if block.type in ("single_punch", "multi_punch"):
        places = said if isinstance(said, list) else [said]
        return [row(n, block.options[each].value, None, block.options[each]) for n, each in enumerate(places)]
    return [row(0, said, None if isinstance(said, str) else float(said))]
