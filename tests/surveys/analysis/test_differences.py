"""A reported difference is beyond chance, large enough to matter, and shown with its test (rule 10.28)."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from scipy.stats import chi2_contingency

from surveys.ai.numbers import unfounded
from surveys.models import Analysis
from surveys.services.ai_work.analysis import differences
from surveys.services.ai_work.analysis.differences import _sentences, _Table
from surveys.services.ai_work.analysis.texts import WRITTEN_BY_US, well_founded
from tests.support.caller import CHOICE, TEXT
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    Reads,
    analysed,
    connecting,  # noqa: F401
    rich,
    survey,
    texts_of,
    wrote,
)

MAY = datetime(2026, 5, 12, tzinfo=UTC)


def table(*rows: list[int], text: str = "Found") -> _Table:
    return _Table(rows, lambda n, m: f"{text} {n} {m}")


def choice(*counts: int, block_id: int = 1, values: str = "abc") -> dict[str, Any]:
    return {
        "block_id": block_id,
        "block_type": "single_punch",
        "prompt": "Which?",
        "is_archived": False,
        "distribution": [
            {"option_id": n + 1, "value": value, "label": None, "count": count}
            for n, (value, count) in enumerate(zip(values, counts, strict=False))
        ],
    }


def analysed_then(*blocks: dict[str, Any]) -> Analysis:
    return Analysis(completed_at=MAY, blocks_as_json=orjson.dumps(blocks).decode())


@try_each("rows", [([30, 20], [15, 35]), ([12, 30, 18], [40, 22, 9], [20, 20, 20])])
def test_the_test_is_pearsons(rows: tuple[list[int], ...]) -> None:
    expected = chi2_contingency(rows, correction=False)

    p, effect = table(*rows).test()

    assert p == pytest.approx(expected.pvalue)
    assert 0 < effect < 1


@try_each("rows", [([3, 2], [2, 3]), ([50, 0], [50, 1]), ([0, 0], [0, 0])])
def test_small_tables_are_not_tested(rows: tuple[list[int], ...]) -> None:
    assert table(*rows).test() == (1.0, 0.0)


def test_noise_is_rarely_told_however_many_questions_there_are() -> None:
    alarms = 0
    for seed in range(200):
        drawn = random.Random(seed)
        tables = []
        for _ in range(20):
            rows = [[0, 0, 0], [0, 0, 0]]
            for _ in range(120):
                rows[drawn.randrange(2)][drawn.randrange(3)] += 1
            tables.append(table(*rows))
        alarms += bool(_sentences(tables))

    assert alarms <= 18  # 5 % of 200, and three standard deviations


def test_a_small_difference_among_many_is_not_told() -> None:
    rows = ([50_000, 50_000], [51_000, 49_000])

    assert table(*rows).test()[0] < 0.001
    assert _sentences([table(*rows)]) == []


def test_the_clearest_come_first_with_their_test() -> None:
    weak, strong = table([40, 60], [65, 35], text="Weak"), table([90, 10], [10, 90], text="Strong")

    told = _sentences([weak, strong, table([50, 50], [52, 48])])

    assert told[0] == "Strong 0 0 (chi-squared test, p < 0.001)."
    assert told[1].startswith("Weak")
    assert len(told) == 2


def test_answers_since_an_analysis_are_held_against_those_before() -> None:
    then, now = choice(40, 40), choice(45, 85)

    (told,) = differences.since(analysed_then(then), [now])

    assert told == (
        "Since 12 May 2026, 90% of 50 answers to “Which?” were “b”, and 50% of the 80 before "
        "(chi-squared test, p < 0.001)."
    )


@try_each(("since", "is_told"), [(9, False), (10, True)])
def test_fewer_than_ten_answers_since_are_too_few(since: int, is_told: bool) -> None:
    told = differences.since(analysed_then(choice(105, 95)), [choice(105, 95 + since)])

    assert bool(told) == is_told


@try_each(("text", "is_founded"), [("41 %", True), ("42 %", False), ("41.3 %", True)])
def test_a_number_may_be_rounded_and_not_changed(text: str, is_founded: bool) -> None:
    assert (unfounded(text, ["41.29 %"]) == []) == is_founded


def test_a_question_of_which_answers_were_deleted_is_left_out() -> None:
    assert differences.since(analysed_then(choice(60, 40)), [choice(40, 120)]) == []


@pytest.mark.django_db
def test_a_summary_tells_which_groups_differ(connect: Any) -> None:
    caller = rich()
    project = survey(caller, CHOICE, {**CHOICE, "prompt": "Which shape?", "name": "shape"})
    for n in range(40):
        scenario.say(scenario.begin(project), n % 2, n % 2 if n < 36 else 1 - n % 2)

    told = analysed(caller, project)

    assert "Of those who answered" in told["summary"]
    assert "(chi-squared test, p < 0.001)" in told["summary"]


@pytest.mark.django_db
def test_a_summary_tells_which_groups_mention_a_theme(connect: Any) -> None:
    """Rule 10.105. Groups of fewer than ten answers that were read are left out."""
    provider = connect(Reads())
    caller = rich()
    project = survey(caller, CHOICE, {**TEXT, "prompt": "What else?"})
    red, green = [(0, "#slow")] * 12 + [(0, "fine")] * 4, [(1, "#slow")] * 3 + [(1, "fine")] * 13
    said = [*red, *green, *[(2, "#slow")] * 9]
    for colour, text in said:
        scenario.say(scenario.begin(project), colour, text)

    analysed(caller, project)

    (overview,) = provider.overviews
    assert overview.differences == [
        "Of the answers to “What else?” by those who answered “red” to “Which colour?”, 75% mention “Slow”, "
        "and 46.9% of all groups together (chi-squared test, p = 0.001)."
    ]


@pytest.mark.django_db
def test_a_summary_with_a_number_that_no_figure_holds_is_written_again_or_by_us(connect: Any) -> None:
    """Rule 10.29."""
    provider = connect(Reads())
    said = iter(["Of 77 people, all wrote.", "1 answer was read."])
    provider.summarize_texts = lambda _figures: next(said)
    provider.summarize_analysis = lambda _overview: "99 % are happy."
    caller = rich()
    project = survey(caller)
    wrote(project, "#slow")

    told = analysed(caller, project)

    assert texts_of(told)["summary"] == "1 answer was read."
    assert "99" not in told["summary"]
    assert "one response" in told["summary"]


def test_a_text_is_tried_twice_and_then_ours() -> None:
    """Rule 10.29."""
    tries: list[str] = []

    def write() -> str:
        tries.append("once")
        return "Of 12 people"

    assert well_founded(write, ["13"], otherwise=lambda: "ours") == f"ours {WRITTEN_BY_US}"
    assert len(tries) == 2
    assert well_founded(lambda: "Of 13 people", ["13"], otherwise=lambda: "ours") == "Of 13 people"
