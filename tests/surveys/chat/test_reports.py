"""The picture of results holds as many panels as can be read."""

import io

import pytest
from PIL import Image

from surveys.chat import charts
from surveys.chat.reports import MOST_PANELS, MOST_QUESTIONS, Panel
from surveys.chat.results import Tally
from tests.support.chat.agent import labels_of
from tests.support.chat.community import ChatCommunity


def panel(rows: int) -> Panel:
    return Panel("Which?", "3 answers", [Tally(str(n), 1, 1 / rows) for n in range(rows)])


def height(*panels: Panel) -> int:
    return Image.open(io.BytesIO(charts.draw("Name", panels))).height


def test_nothing_to_show_is_no_picture() -> None:
    assert charts.draw("Name", []) == b""


def test_panels_are_drawn_up_to_the_most_rows_and_always_one() -> None:
    half = charts.MOST_ROWS // 2

    assert height(panel(half), panel(half)) > height(panel(half))
    assert height(panel(half), panel(half + 1)) == height(panel(half))
    assert height(panel(charts.MOST_ROWS + 1)) > height(panel(charts.MOST_ROWS))


def test_a_title_without_a_letter_of_the_font_gives_way_to_the_name() -> None:
    assert charts.draw("Name", [Panel("🍕", "1 answer", panel(2).tallies)]) == charts.draw(
        "Name", [Panel("Name", "1 answer", panel(2).tallies)]
    )


def test_a_server_emoji_is_drawn_by_its_name() -> None:
    code, name = "<:rook:123456789012345678>", ":rook:"

    drawn = [charts.draw("Name", [Panel(each, "1 answer", [Tally(each, 1, 1.0)])]) for each in (code, name)]
    assert drawn[0] == drawn[1]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("count", "shares", "rest"),
    [
        (MOST_QUESTIONS + 1, False, "_The results of 1 more question are not shown here._"),
        (MOST_QUESTIONS + 2, True, "_The results of 2 more questions are under “See all results”._"),
    ],
)
def test_a_summary_names_so_many_questions_and_says_where_the_rest_is(
    chat: ChatCommunity, count: int, shares: bool, rest: str
) -> None:
    blocks = [
        {
            "type": "single_punch",
            "name": f"q{n}",
            "prompt": f"Question {n}?",
            "options": [{"value": "Yes"}, {"value": "No"}],
        }
        for n in range(count)
    ]
    project = chat.open(*blocks, settings={"reveal_results": True, "share_results": shares})
    agent = chat.agent()
    agent.press("Answer", message=chat.message())
    for _ in range(count):
        agent.press("Yes")
    chat.close(project)

    summary = chat.message()
    told = summary["embeds"][0]["description"]
    assert told.count("Question ") == min(count, MOST_QUESTIONS)
    assert (told.endswith(rest), "more question" in told) == (True, bool(rest))
    assert ("See all results" in labels_of(summary)) is shares
    assert summary["attachments"][0]["description"].count("Question ") == min(count, MOST_PANELS)


@pytest.mark.django_db
@pytest.mark.parametrize(("people", "is_shown"), [(4, False), (5, True)])
def test_an_anonymous_survey_needs_five_answers(chat: ChatCommunity, people: int, is_shown: bool) -> None:
    block = {"type": "single_punch", "prompt": "Tea?", "options": [{"value": "Yes"}, {"value": "No"}]}
    project = chat.open(block, settings={"reveal_results": True, "privacy_mode": "anonymous"})
    for n in range(people):
        agent = chat.agent(f"Person {n}")
        agent.press("Answer", message=chat.message())
        agent.press("Yes")
    chat.close(project)

    summary = chat.message()
    assert ("Yes 100%" in str(summary)) is is_shown
    assert ("Results are shown once 5 people have answered." in str(summary)) is not is_shown
    assert bool(summary["attachments"]) is is_shown
