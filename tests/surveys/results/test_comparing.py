"""What divides responses: numbers in bands, scores, rankings, groups, times and themes, and two at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest
from scipy.stats import fisher_exact

from surveys.models import Conversation, Project
from surveys.services.results import crossing
from tests.support.caller import Caller, faults
from tests.support.cases import try_each
from tests.support.surveys.imports import past, send
from tests.support.surveys.panel import POINTS, Person, panel, people
from tests.support.surveys.results import OPEN_WEB, counts, results

pytestmark = pytest.mark.django_db

MANY = people(60, seed=29)
Names = Callable[[Person], Iterable[str]]


@pytest.fixture(scope="module")
def admin(kept_rows: None) -> Caller:
    return Caller("admin")


@pytest.fixture(scope="module")
def project(admin: Caller) -> dict[str, Any]:
    return panel(admin, MANY)


def band(*bounds: float) -> Callable[[float | None], list[str]]:
    names = [f"<{bounds[0]}", *(f"{low}-<{high}" for low, high in pairwise(bounds))]
    names.append(f">={bounds[-1]}")
    return lambda number: [] if number is None else [names[sum(number >= each for each in bounds)]]


def group(point: int | None) -> list[str]:
    if point is None:
        return []
    return ["promoters" if point >= 9 else "passives" if point >= 7 else "detractors"]


def age_of(person: Person) -> float | None:
    return person.age if person.is_completed else None


# What divides, by the name of its block, and the segments of a person.
DIVISIONS: dict[str, Names] = {
    "colour": lambda each: [each.colour] if each.colour else [],
    "tools": lambda each: each.tools,
    "order": lambda each: each.order[:1],
    "stars": lambda each: [] if each.stars is None else [str(each.stars)],
    "stars:3,5": lambda each: band(3, 5)(each.stars),
    "recommend:groups": lambda each: group(each.recommend),
    "age:18,30.5,65": lambda each: band(18, 30.5, 65)(age_of(each)),
    "doubled:36,100": lambda each: band(36, 100)((each.age or 0) * 2) if each.is_completed else [],
    "score:1.5,3": lambda each: (
        band(1.5, 3)(POINTS[each.colour] if each.colour else 0) if each.is_completed else []
    ),
    "field.campaign": lambda each: [each.campaign],
}


def text_of(project: dict[str, Any], by: str) -> str:
    """The text of a request for a division by the name of a block."""
    what, colon, how = by.partition(":")
    ids = {str(each["name"]).lower(): each["id"] for each in project["script"]["blocks"]}
    return f"{ids.get(what, what)}{colon}{how}"


@pytest.mark.parametrize("by", DIVISIONS)
def test_segments_are_equal_to_a_recount_of_all_responses(
    admin: Caller, project: dict[str, Any], by: str
) -> None:
    """Rule 6.320."""
    told = results(admin, project, f"?{urlencode({'segment_by': text_of(project, by)})}")

    segments = told["segment_by"]["segments"]
    inside = [[each for each in MANY if part["value"] in DIVISIONS[by](each)] for part in segments]
    assert [part["count"] for part in segments] == list(map(len, inside))
    assert sum(map(len, inside)) == sum(len(list(DIVISIONS[by](each))) for each in MANY)
    colours, *_, stars, recommend, age = told["blocks"]
    for n, each in enumerate(inside):
        chosen = [person.colour for person in each]
        assert counts(colours["segments"][n]) == {value: chosen.count(value) for value in counts(colours)}
        points = [person.stars for person in each if person.stars is not None]
        assert stars["segments"][n]["stats"]["count"] == len(points)
        groups = [name for person in each for name in group(person.recommend)]
        nps = recommend["segments"][n]["nps"]
        assert [nps[name] for name in ("promoters", "passives", "detractors")] == [
            groups.count("promoters"), groups.count("passives"), groups.count("detractors"),
        ]  # fmt: skip
        ages = [number for person in each if (number := age_of(person)) is not None]
        assert age["segments"][n]["stats"]["count"] == len(ages)
        assert age["segments"][n]["stats"]["max"] == max(ages, default=None)


def test_bands_are_named_in_words(admin: Caller, project: dict[str, Any]) -> None:
    """Rule 6.321."""
    ages = results(admin, project, f"?segment_by={text_of(project, 'age:-1,18,30.5')}")["segment_by"]
    stars = results(admin, project, f"?segment_by={text_of(project, 'stars:2,3,5')}")["segment_by"]

    assert [(each["value"], each["label"]) for each in ages["segments"]] == [
        ("<-1", "under -1"), ("-1-<18", "-1 to under 18"), ("18-<30.5", "18 to under 30.5"),
        (">=30.5", "30.5 or more"),
    ]  # fmt: skip
    assert [each["label"] for each in stars["segments"]] == ["under 2", "2", "3 to 4", "5 or more"]
    assert (ages["by"], ages["title"]) == (text_of(project, "age:-1,18,30.5"), "How old?")


@pytest.mark.parametrize(
    ("answered", "bounds"),
    [
        ([], []),
        ([7], []),
        ([0, 1, 2, 3, 4], ["1", "2", "3", "4"]),
        ([0.1, 0.2, 0.3], ["0.15", "0.2", "0.25", "0.3"]),
        ([*range(18, 68), 999_999], ["30", "40", "50", "60"]),
        ([-900, -20, 0, 1_000], ["-500", "0", "500", "1000"]),
    ],
)
def test_without_bounds_the_answers_choose_bands(
    admin: Caller, answered: list[float], bounds: list[str]
) -> None:
    """Rule 6.321: at most seven, which begin at multiples of 1, 2 or 5 times a power of ten."""
    made = admin.make_open({"name": "many", "type": "open_numeric", "prompt": "How many?"}, delivery=OPEN_WEB)
    if answered:
        assert send(admin, made, *(past(("many", each)) for each in answered)).status_code == 201

    told = results(admin, made, f"?segment_by={made['script']['blocks'][0]['id']}")["segment_by"]

    values = [each["value"] for each in told["segments"]]
    assert values == (
        [f"<{bounds[0]}", *map("{}-<{}".format, bounds, bounds[1:]), f">={bounds[-1]}"] if bounds else ["all"]
    )
    assert sum(each["count"] for each in told["segments"]) == len(answered)


@try_each(
    ("by", "code"),
    [
        ("age:", "invalid"),
        ("age:18,x", "invalid"),
        ("age:30,18", "invalid"),
        ("age:18,18", "invalid"),
        ("age:1e9", "invalid"),
        ("age:groups", "invalid"),
        (f"age:{','.join(map(str, range(21)))}", "too_many"),
        ("colour:3", "invalid"),
        ("order:3", "invalid"),
        ("stars:groups", "invalid"),
        ("field.campaign:3", "invalid"),
        ("completed.year", "invalid"),
        ("completed.day:Nowhere/Land", "invalid"),
        ("nothing", "not_found"),
        ("answer", "not_found"),
        ("9999999999", "not_found"),
    ],
)
def test_what_cannot_divide_is_refused(admin: Caller, project: dict[str, Any], by: str, code: str) -> None:
    """Rule 6.320."""
    query = urlencode({"segment_by": text_of(project, by)})

    response = admin.get(f"/projects/{project['id']}/analysis/results?{query}")

    assert response.status_code == 400
    assert faults(response) == {("segment_by", code)}


def test_times_of_completion_are_segments_in_order(admin: Caller) -> None:
    """Rule 6.322."""
    made = panel(admin, [each for each in MANY if each.is_completed][:4])
    first = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)
    rows = list(Conversation.objects.filter(project_id=int(made["id"])).order_by("pk"))
    for row, days in zip(rows, (0, 1, 9, 0), strict=True):
        row.completed_at = first + timedelta(days=days)
        row.save(update_fields=["completed_at"])

    def told(by: str) -> list[tuple[str, str, int]]:
        segments = results(admin, made, f"?{urlencode({'segment_by': by})}")["segment_by"]["segments"]
        return [(each["value"], each["label"], each["count"]) for each in segments]

    assert told("completed.day") == [
        ("2026-10-31", "31 October 2026", 2), ("2026-11-01", "1 November 2026", 1),
        ("2026-11-09", "9 November 2026", 1),
    ]  # fmt: skip
    assert told("completed.week") == [
        ("2026-10-26", "Week of 26 October 2026", 3), ("2026-11-09", "Week of 9 November 2026", 1),
    ]  # fmt: skip
    assert told("completed.month:Europe/Berlin") == [("2026-11-01", "November 2026", 4)]


def test_rounded_days_are_days_of_utc(admin: Caller) -> None:
    """Rule 6.322: a time that is rounded to days has no day in another zone."""
    made = panel(admin, MANY[:1], privacy_mode="anonymous")
    Project.objects.filter(pk=int(made["id"])).update(rounds_times_to_day=True)
    path = f"/projects/{made['id']}/analysis/results?segment_by=completed.day"

    assert [each["count"] for each in admin.get(path).json()["segment_by"]["segments"]] == [1]
    assert faults(admin.get(f"{path}:Asia/Tokyo")) == {("segment_by", "invalid")}


@pytest.mark.parametrize("by", ["score", "doubled:20"])
def test_scores_divide_only_for_those_who_may_know_them(admin: Caller, by: str) -> None:
    """Rule 6.323."""
    made = panel(admin, MANY[:3], privacy_mode="transparent")
    path = f"/projects/{made['id']}/analysis/results?segment_by={text_of(made, by)}"

    assert admin.get(path).status_code == 200
    assert faults(admin.beside("member").get(path)) == {("segment_by", "not_allowed")}


def test_readers_of_shared_results_compare_nothing(admin: Caller) -> None:
    """Rule 6.264."""
    made = panel(admin, MANY[:3], share_results=True, privacy_mode="semi-private")
    path = f"/projects/{made['id']}/analysis/results"
    member = admin.beside("member")

    assert member.get(path).status_code == 200
    assert member.get(f"{path}?segment_by=completed.day").status_code == 403


# --- Two at once ------------------------------------------------------------------------------------------


def table(caller: Caller, project: dict[str, Any], rows: str, columns: str, **more: str) -> dict[str, Any]:
    query = urlencode({"rows": text_of(project, rows), "columns": text_of(project, columns), **more})
    told = caller.get(f"/projects/{project['id']}/analysis/cross?{query}")
    assert told.status_code == 200, told.content
    return told.json()


def percent(part: int, whole: int) -> float:
    return float((Decimal(100 * part) / whole).quantize(Decimal("0.01"), ROUND_HALF_UP)) if whole else 0.0


PAIRS = [
    ("colour", "tools"), ("tools", "order"), ("order", "stars"), ("stars", "recommend:groups"),
    ("recommend:groups", "age:18,30.5,65"), ("age:18,30.5,65", "doubled:36,100"),
    ("doubled:36,100", "colour"),
    ("field.campaign", "colour"), ("colour", "field.campaign"), ("score:1.5,3", "stars:3,5"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "columns"), PAIRS)
def test_a_cross_table_is_equal_to_a_recount_of_all_responses(
    admin: Caller, project: dict[str, Any], rows: str, columns: str
) -> None:
    """Rule 6.325."""
    told = table(admin, project, rows, columns)

    names = [[each["value"] for each in told[side]["segments"]] for side in ("rows", "columns")]
    inside = [
        (set(DIVISIONS[rows](each)), set(DIVISIONS[columns](each)))
        for each in MANY
        if list(DIVISIONS[rows](each)) and list(DIVISIONS[columns](each))
    ]
    assert told["count"] == len(inside)
    of_rows = [sum(name in own for own, _ in inside) for name in names[0]]
    of_columns = [sum(name in own for _, own in inside) for name in names[1]]
    assert [each["count"] for each in told["rows"]["segments"]] == of_rows
    assert [each["count"] for each in told["columns"]["segments"]] == of_columns
    for n, row in enumerate(names[0]):
        for m, column in enumerate(names[1]):
            people = sum(row in own and column in other for own, other in inside)
            cell = told["cells"][n][m]
            assert cell.pop("differs") in (None, "more", "less")
            assert cell == {
                "count": people,
                "row_percentage": percent(people, of_rows[n]),
                "column_percentage": percent(people, of_columns[m]),
                "percentage": percent(people, len(inside)),
            }
    assert told["rows"]["is_multiple"] == (rows == "tools")


@pytest.mark.parametrize(
    "query", [{"where": "stars >= 3"}, {"status": "completed"}, {"field.campaign": "mail"}]
)
def test_a_cross_table_is_of_the_selected_responses(
    admin: Caller, project: dict[str, Any], query: dict[str, str]
) -> None:
    """Rule 6.325."""
    told = table(admin, project, "colour", "order", **query)

    chosen = {
        "where": lambda each: each.stars is not None and each.stars >= 3,
        "status": lambda each: each.is_completed,
        "field.campaign": lambda each: each.campaign == "mail",
    }
    [name] = query
    assert told["count"] == len([each for each in MANY if each.colour and each.order and chosen[name](each)])
    assert told["filters"]["where"] == query.get("where")


@pytest.mark.parametrize(
    ("rows", "columns", "fault"),
    [
        ("colour", "colour", ("columns", "duplicate")),
        ("colour", "nothing", ("columns", "not_found")),
        ("age:3,1", "colour", ("rows", "invalid")),
        ("field.town", "colour", ("rows", "not_found")),
        ("colour", "", ("columns", "invalid")),
    ],
)
def test_what_cannot_be_crossed_is_refused(
    admin: Caller, project: dict[str, Any], rows: str, columns: str, fault: tuple[str, str]
) -> None:
    """Rule 6.325."""
    query = urlencode({"rows": text_of(project, rows), "columns": text_of(project, columns)})

    response = admin.get(f"/projects/{project['id']}/analysis/cross?{query}")

    assert (response.status_code, faults(response)) == (400, {fault})


def test_a_table_has_a_limit_of_cells(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 6.325."""
    monkeypatch.setattr(crossing, "MOST_CELLS", 8)
    path = f"/projects/{project['id']}/analysis/cross?"

    for pair in (("colour", "order"), ("field.campaign", "completed.day")):
        query = urlencode(
            dict(zip(("rows", "columns"), (text_of(project, each) for each in pair), strict=True))
        )
        status = admin.get(path + query).status_code
        assert status == (400 if pair[0] == "colour" else 200)


def test_readers_of_shared_results_cross_nothing(admin: Caller) -> None:
    """Rule 6.328."""
    made = panel(admin, MANY[:3], share_results=True, privacy_mode="semi-private")
    path = f"/projects/{made['id']}/analysis/cross?rows={text_of(made, 'colour')}&columns=completed.day"

    assert admin.get(path).status_code == 200
    assert admin.beside("member").get(path).status_code == 403


def person(colour: str, *tools: str) -> Person:
    return Person("", colour, tools, (), None, None, None, is_completed=True)


def test_the_test_fits_the_table_and_is_said_in_words(admin: Caller) -> None:
    """Rule 6.326."""
    made = panel(
        admin, [person("red", "saw")] * 12 + [person("red", "axe")] * 4 + [person("blue", "axe")] * 9
    )
    few = table(admin, made, "colour", "field.campaign")

    told = table(admin, made, "colour", "score:2")

    assert few["test"] is None
    assert any("only one row or column" in note for note in few["notes"])
    assert told["test"]["p"] == pytest.approx(fisher_exact([[0, 16], [9, 0]]).pvalue)
    assert told["test"]["text"].startswith("The rows differ beyond chance (Fisher's exact test, p < 0.001).")
    assert told["test"]["text"].endswith("The association is strong (Cramér's V = 1.00).")
    assert [[cell["differs"] for cell in row] for row in told["cells"]] == [
        ["less", "more"], [None, None], ["more", "less"],
    ]  # fmt: skip
    assert told["tested_cells"] == 1
    assert any("fewer than 10 responses: “blue”" in note for note in told["notes"])


def test_where_a_response_has_several_columns_each_cell_is_tested_alone(admin: Caller) -> None:
    """Rule 6.327."""
    made = panel(
        admin,
        [person("red", "saw")] * 9 + [person("red", "saw", "axe")] * 3 + [person("blue", "axe")] * 9
        + [person("blue", "file", "axe")],
    )  # fmt: skip

    told = table(admin, made, "colour", "tools")

    assert told["test"] is None
    assert told["count"] == 22
    assert told["tested_cells"] == 3  # the row of red alone, since blue is the rest
    assert [[cell["differs"] for cell in row] for row in told["cells"]] == [
        ["more", "less", None], [None, None, None], ["less", "more", None],
    ]  # fmt: skip
    ps = [fisher_exact([[12, 0], [0, 10]]).pvalue, fisher_exact([[3, 9], [10, 0]]).pvalue]
    assert max(ps) * 2 < 0.05
    assert any("3 tests" in note and "Holm" in note for note in told["notes"])
    assert any(note.startswith("Arrows mark cells that differ from all") for note in told["notes"])
    few = table(admin, panel(admin, [person("red", "saw"), person("blue", "saw", "axe")]), "colour", "tools")
    assert any(
        note.startswith("No cell differs from all other rows beyond chance: ") for note in few["notes"]
    )
    assert any("in several rows or columns" in note for note in told["notes"])
