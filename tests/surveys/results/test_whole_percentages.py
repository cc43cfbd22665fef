"""Whole percentages of one whole add up to 100 wherever they are shown (rule 6.56)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from surveys.chat import reports
from surveys.chat import results as chat_results
from surveys.drawing.bars import draw_results
from surveys.drawing.figures import charts, crossing, fields, scores, segments
from surveys.engine.script import Block, Option, Script
from surveys.services.results.crossing import CrossTable
from surveys.services.results.figures import Figures
from surveys.services.results.poll import PollResults
from tests.support import our_code
from tests.support.cases import try_each

# Percentages that are not parts of a whole, or that overlap because a person may count in several.
ALONE = {
    ("surveys/admin/header.py", "completion_rate"),  # of those who began
    ("surveys/admin/jobs.py", "_state"),  # how far a job has come
    ("surveys/chat/results.py", "with_percents"),  # several choices
    ("surveys/drawing/bars.py", "_bar"),  # several choices; `_adding_up` writes the others
    ("surveys/drawing/figures/charts.py", "_bar"),  # several choices; `with_shares` writes the others
    ("surveys/drawing/figures/crossing.py", "_of_all"),  # several rows; `percents` writes the others
    ("surveys/drawing/figures/crossing.py", "_shares"),  # the same
    ("surveys/drawing/figures/overview.py", "facts_of"),  # completed, of those who began
    ("surveys/drawing/figures/overview.py", "funnel_of"),  # who remains after each question
    ("surveys/drawing/figures/texts.py", "text_analysis"),  # an answer may have several themes
    ("surveys/drawing/figures/texts.py", "theme_bars"),
}
BLOCK = Block("single_punch", options=tuple(Option(value, n) for n, value in enumerate("abc", start=1)))
SCALE = Block("rating", min=1, max=3)
THIRDS = ["34%", "33%", "33%"]


def calls() -> Iterator[tuple[str, str]]:
    """The functions that format a percentage on their own: by `percent`, or by a format."""
    for module in our_code.modules("percent(", ":.0%", ":.0f}%", apps=("communities", "surveys", "xp")):
        for function, text in module.functions():
            if re.search(r"\bpercent\(|:\.0%|:\.0f\}%", text):
                yield module.path, function.name


def test_no_other_place_rounds_a_percentage_by_itself() -> None:
    assert set(calls()) - {("communities/ground/words.py", "percent")} == ALONE


def entry(type: str, **figures: Any) -> dict[str, Any]:
    known = {"block_id": 1, "block_type": type, "prompt": "P?", "response_count": 3, "is_archived": False}
    return {**known, "distribution": None, "stats": None, "nps": None, "ranking": None, **figures}


def one_each(*keys: Any, of_option: bool) -> list[dict[str, Any]]:
    return [
        {
            "option_id": n if of_option else None,
            "value": key,
            "label": None,
            "from": None,
            "to": None,
            "count": 1,
            "percentage": 33.33,
        }
        for n, key in enumerate(keys, start=1)
    ]


def shares_of_choices() -> list[str]:
    choice = entry("single_punch", distribution=one_each(*"abc", of_option=True))
    return [bar.share for bar in charts.draw_card(choice, BLOCK, script=Script(()), number=1).bars]


def shares_of_a_scale() -> list[str]:
    stats = {"count": 3, "mean": 2.0, "min": 1, "max": 3}
    scale = entry("rating", distribution=one_each("1", "2", "3", of_option=False), stats=stats)
    return [column.share for column in charts.draw_card(scale, SCALE, script=Script(()), number=1).columns]


def shares_of_a_promoter_score() -> list[str]:
    return [part.share for part in charts.nps_parts({"detractors": 1, "passives": 1, "promoters": 1})]


def shares_of_numbers() -> list[str]:
    stats = dict.fromkeys(("min", "lower_quartile", "median", "upper_quartile", "max"), 2)
    ranges = [{"from": n, "to": n + 1, "count": 1, "percentage": 33.33} for n in (1, 2, 3)]
    numbers = entry(
        "open_numeric",
        stats={"count": 3, "mean": 2.0, **stats, "standard_deviation": 1.0},
        histogram={"width": 1, "is_whole": True, "ranges": ranges},
    )
    return [each.share for each in charts.draw_card(numbers, None, script=Script(()), number=1).columns]


def shares_of_segments() -> list[str]:
    part = {**entry("single_punch", distribution=one_each(*"abc", of_option=True)), "count": 3}
    legend = [segments.Series("A", "All", 3, 3, "s1")]
    compared = segments.compare({**part, "segments": [part]}, BLOCK, legend)
    assert compared is not None
    return [group.bars[0].bar.share for group in compared.groups]


def shares_of_a_field() -> list[str]:
    field = {"name": "team", "count": 3, "other_values": 1, "other_count": 1}
    counted = Figures(**figures(fields=[{**field, "distribution": one_each(*"ab", of_option=False)}]))
    [card] = fields.field_cards(counted, is_filtered=False)
    return [bar.share for bar in card.bars]


def shares_of_scores() -> list[str]:
    facts = {"mean": 2.0, "min": 1, "max": 3, "max_score": 3, "score_correct": None}
    score = {"name": "Score", "count": 3, "distribution": one_each(1, 2, 3, of_option=False), **facts}
    [card] = scores.score_cards(Figures(**figures(scores=[score])), is_filtered=False)
    return [column.share for column in card.columns]


def figures(**known: Any) -> dict[str, Any]:
    counts = {"conversation_count": 3, "completion_count": 3, "response_count": 3, "blocks": []}
    return {**counts, **known}


def shares_on_the_page_of_a_poll() -> list[str]:
    votes = PollResults({1: 1, 2: 1, 3: 1}, {}, 3)
    return [bar.share for bar in draw_results(BLOCK, votes, own=None, is_over=False).bars]


def shares_on_the_page_of_a_poll_with_a_scale() -> list[str]:
    votes = PollResults({}, {1: 1, 2: 1, 3: 1}, 3)
    return [bar.share for bar in draw_results(SCALE, votes, own=None, is_over=False).bars]


def shares_in_chat() -> list[str]:
    votes = PollResults({1: 1, 2: 1, 3: 1}, {}, 3)
    return [tally.percent for tally in chat_results.tallies(BLOCK, votes)]


def shares_in_a_report() -> list[str]:
    choice = entry("single_punch", distribution=one_each(*"abc", of_option=True))
    return [tally.percent for tally in reports.panel(choice).tallies]


def shares_of_a_row_of_a_cross_table() -> list[str]:
    division = {"title": "T", "prompt": None, "is_multiple": False}
    one = {"label": None, "value": "a", "percentage": 33.33, "count": 1}
    cell = {"count": 1, "differs": None, **dict.fromkeys(crossing._KEYS.values(), 33.33)}
    rows, columns = ({**division, "segments": [{**one, "count": n}] * m} for n, m in ((3, 1), (1, 3)))
    table = CrossTable(rows, columns, 3, [[cell] * 3], None, 0, [])
    [line] = crossing.draw(table, SimpleNamespace(shared="row"), noun="vote").lines  # type: ignore[arg-type]
    return [each.share for each in line.cells]


@try_each(
    "shares",
    [
        shares_of_a_row_of_a_cross_table,
        shares_of_choices,
        shares_of_a_scale,
        shares_of_numbers,
        shares_of_a_promoter_score,
        shares_of_segments,
        shares_of_a_field,
        shares_of_scores,
        shares_on_the_page_of_a_poll,
        shares_on_the_page_of_a_poll_with_a_scale,
        shares_in_chat,
        shares_in_a_report,
    ],
)
def test_thirds_add_up_to_100(shares: Any) -> None:
    assert shares() == THIRDS


def test_several_choices_of_one_person_need_not_add_up() -> None:
    several = Block("multi_punch", options=BLOCK.options)
    votes = PollResults({1: 3, 2: 1, 3: 1}, {}, 3)

    assert [bar.share for bar in draw_results(several, votes, own=None, is_over=False).bars] == [
        "100%",
        "33%",
        "33%",
    ]
    assert [tally.percent for tally in chat_results.tallies(several, votes)] == ["100%", "33%", "33%"]


@try_each(
    ("votes", "is_over", "summary"),
    [
        (PollResults({}, {}, 0, least_answers=5), False, "Shown once there are 5 votes"),
        (
            PollResults({}, {}, 0, least_answers=5),
            True,
            "Fewer than 5 people voted, so no votes are shown",
        ),
        (PollResults({}, {}, 0), False, "No votes yet"),
        (PollResults({}, {}, 0), True, "Nobody voted"),
    ],
)
def test_votes_that_are_not_shown_are_no_votes_for_nothing(
    votes: PollResults, is_over: bool, summary: str
) -> None:
    drawn = draw_results(BLOCK, votes, own=None, is_over=is_over)

    assert drawn.summary == summary
    assert len(drawn.bars) == (0 if votes.least_answers else 3)
