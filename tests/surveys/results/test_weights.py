"""Weighted results: shares, means, quartiles and scores by the numbers of a declared field.

The expected numbers are those of pandas and NumPy over the same 300 people.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from surveys.drawing.figures.weighting import words_of
from surveys.services.counting import weights
from tests.support.caller import Caller, faults
from tests.support.surveys.panel import Person, panel, people
from tests.support.surveys.results import results

pytestmark = pytest.mark.django_db
# On the 300 people, in their order.
_chosen = random.Random(2929)
_WEIGHTS = [
    f"{_chosen.choice([0.25, 0.5, 1, 1.5, 2.75, _chosen.randint(1, 9999) / 1000]):g}" for _ in range(300)
]
UNUSABLE = {3: "", 17: "heavy", 44: "0", 71: "-2", 99: "1000000.5"}
MANY = [replace(person, weight=UNUSABLE.get(n, _WEIGHTS[n])) for n, person in enumerate(people(300, seed=29))]
FIELDS = {"campaign": ["mail", "poster"], "weight": ["1"]}  # other values are taken, too
WEIGHTED = {"weight_by": "field.weight"}


@pytest.fixture(scope="module")
def admin(kept_rows: None) -> Caller:
    return Caller("admin")


@pytest.fixture(scope="module")
def project(admin: Caller) -> dict[str, Any]:
    return panel(admin, MANY, hidden_fields=FIELDS)


def ids(project: dict[str, Any]) -> dict[str, int]:
    return {str(each["name"]).lower(): each["id"] for each in project["script"]["blocks"]}


def weighted(admin: Caller, project: dict[str, Any], **more: Any) -> dict[str, Any]:
    return results(admin, project, f"?{urlencode({**WEIGHTED, **more})}")


def spread(stats: dict[str, Any]) -> tuple[float, ...]:
    names = ("mean", "standard_deviation", "lower_quartile", "median", "upper_quartile", "min", "max")
    return tuple(stats[name] for name in names)


def near(*numbers: float) -> Any:
    return pytest.approx(numbers, rel=1e-12)


def test_every_figure_is_equal_to_that_of_pandas(admin: Caller, project: dict[str, Any]) -> None:
    """Rules 6.375 and 6.377."""
    told = weighted(admin, project)

    colour, tools, order, stars, recommend, age = told["blocks"]
    assert (colour["response_count"], colour["weighted_count"]) == (254, 453.083)
    assert [(each["count"], each["percentage"]) for each in colour["distribution"]] == [
        (163.96, 36.19), (152.987, 33.77), (136.136, 30.05),
    ]  # fmt: skip
    assert [each["percentage"] for each in tools["distribution"]] == [60.81, 63.85, 56.0]
    assert [(each["first_choice_count"], each["points"]) for each in order["ranking"]] == [
        (126.016, 885.845), (162.757, 918.118), (168.106, 937.311),
    ]  # fmt: skip
    ranks = [each["average_rank"] for each in order["ranking"]]
    assert ranks == near(2.0610949507418814, 1.9904569918950095, 1.948448057363109)
    assert spread(stars["stats"]) == near(3.113575001390618, 1.371872392232848, 2, 3, 4, 1, 5)
    assert spread(recommend["stats"]) == near(5.088425874833052, 3.3238299923114143, 3, 5, 8, 0, 10)
    assert recommend["nps"]["score"] == -40.9
    assert (age["stats"]["count"], age["stats"]["weighted_count"]) == (200, 357.04)
    assert spread(age["stats"]) == near(42.277601669280756, 23.05632052650647, 25.6, 43, 63.4, -5, 89)
    assert sum(each["count"] for each in age["histogram"]["ranges"]) == pytest.approx(357.04)


def test_scores_results_and_fields_are_weighted(admin: Caller, project: dict[str, Any]) -> None:
    """Rule 6.375."""
    told = weighted(admin, project)

    score = told["scores"][0]
    [campaign] = [each for each in told["fields"] if each["name"] == "campaign"]
    assert (score["count"], score["weighted_count"]) == (238, 431.084)
    assert spread(score) == near(1.4654962837869185, 1.2822319039968277, 0, 1.5, 3, 0, 3)
    assert sum(each["count"] for each in score["distribution"]) == pytest.approx(431.084)
    [doubled] = told["variables"]
    assert doubled["max"] == 178
    shares = {each["value"]: each["percentage"] for each in campaign["distribution"]}
    assert shares == {"": 32.39, "mail": 35.92, "poster": 31.69}
    assert (campaign["count"], campaign["weighted_count"]) == (295, 533.579)


def test_segments_and_selections_are_weighted(admin: Caller, project: dict[str, Any]) -> None:
    """Rule 6.375."""
    divided = weighted(admin, project, segment_by=ids(project)["colour"])
    selected = weighted(admin, project, where="stars >= 4")

    segments = divided["segment_by"]["segments"]
    assert [(each["value"], each["count"], each["weighted_count"]) for each in segments] == [
        ("red", 90, 163.96), ("green", 88, 152.987), ("blue", 76, 136.136),
    ]  # fmt: skip
    *_, stars, recommend, age = divided["blocks"]
    assert [each["stats"]["mean"] for each in stars["segments"]] == near(
        3.443751250854031, 3.1337709850083613, 2.965134605384215
    )
    assert [each["nps"]["score"] for each in recommend["segments"]] == [-32.4, -60.7, -39.5]
    deviations = [each["stats"]["standard_deviation"] for each in age["segments"]]
    assert deviations == near(23.353217133184238, 20.609480240806292, 25.834855938908536)
    assert [each["stats"]["median"] for each in age["segments"]] == [37.5, 40.6, 46.7]
    *_, recommend, age = selected["blocks"]
    assert spread(age["stats"])[:5] == near(43.88487470718207, 23.733798018515063, 26.2, 42, 64.3)
    assert recommend["nps"]["score"] == -47.0


@pytest.mark.parametrize("by", ["field.campaign", "stars:3", "completed.month", "score:1,2"])
def test_segments_that_share_all_responses_add_up(admin: Caller, project: dict[str, Any], by: str) -> None:
    """Rule 6.375."""
    what, colon, how = by.partition(":")

    told = weighted(
        admin, project, segment_by=f"{ids(project).get(what, what)}{colon}{how}", status="completed"
    )

    colour = told["blocks"][0]
    parts = [each["weighted_count"] for each in colour["segments"]]
    assert by == "stars:3" or sum(parts) == pytest.approx(colour["weighted_count"])  # stars may be skipped
    for part in colour["segments"]:
        assert sum(each["count"] for each in part["distribution"]) == pytest.approx(part["weighted_count"])
    sums = [each["weighted_count"] for each in told["segment_by"]["segments"]]
    assert len(sums) == len(parts)
    assert all(whole >= part for whole, part in zip(sums, parts, strict=True))


def test_responses_without_a_usable_weight_are_told(admin: Caller, project: dict[str, Any]) -> None:
    """Rule 6.374."""
    told = weighted(admin, project)

    weighting = told["weighting"]
    assert (told["conversation_count"], weighting["count"], weighting["weighted_count"]) == (
        295,
        295,
        533.579,
    )
    assert weighting["effective_count"] == pytest.approx(133.168326296639)
    assert weighting["left_out"] == {
        "missing": 1, "not_a_number": 1, "zero": 1, "negative": 1, "too_large": 1,
    }  # fmt: skip
    assert results(admin, project)["weighting"] is None


@pytest.mark.parametrize(
    ("count", "heavy", "share", "is_dominated"),
    [(40, "1000000", 100.0, True), (40, "1", 2.5, False), (4, "1", 25.0, False), (40, "7", 15.22, True)],
)
def test_one_response_that_has_much_of_the_weights_is_told(
    admin: Caller, count: int, heavy: str, share: float, is_dominated: bool
) -> None:
    """Rule 6.471."""
    some = [replace(each, weight=heavy if n == 0 else "1") for n, each in enumerate(MANY[:count])]
    made = panel(admin, some, hidden_fields=FIELDS)

    weighting = weighted(admin, made)["weighting"]

    assert (weighting["largest_share"], weighting["is_dominated"]) == (share, is_dominated)
    words = " ".join(words_of(weighting, noun="response"))
    assert (f"One response has {share:,.2f} % of all weights." in words) is is_dominated


@pytest.mark.parametrize("unit", ["1", "0.000000001", "2.5", "1e3"])
def test_equal_weights_change_no_share(admin: Caller, unit: str) -> None:
    """Rule 6.377: quartiles alone are defined otherwise."""
    some = [replace(each, weight=unit) for each in MANY[:40]]
    made = panel(admin, some, hidden_fields=FIELDS)

    plain, told = results(admin, made), weighted(admin, made)

    for block, own in zip(plain["blocks"], told["blocks"], strict=True):
        shares = [each["percentage"] for each in block["distribution"] or ()]
        assert [each["percentage"] for each in own["distribution"] or ()] == shares
        assert (own["nps"] and own["nps"]["score"]) == (block["nps"] and block["nps"]["score"])
        if stats := block["stats"]:
            assert own["stats"]["median"] == stats["median"]
            assert own["stats"]["mean"] == pytest.approx(stats["mean"], rel=1e-14)
            assert own["stats"]["standard_deviation"] == pytest.approx(stats["standard_deviation"])
    assert told["weighting"]["effective_count"] == pytest.approx(40)


def cross(caller: Caller, project: dict[str, Any], rows: str, columns: str, **more: str) -> Any:
    named = ids(project)
    query = urlencode({"rows": named.get(rows, rows), "columns": named.get(columns, columns), **more})
    return caller.get(f"/projects/{project['id']}/analysis/cross?{query}")


def test_tests_of_a_weighted_cross_table_use_the_effective_base(
    admin: Caller, project: dict[str, Any]
) -> None:
    """Rules 6.375 and 6.376."""
    told = cross(admin, project, "colour", "field.campaign", **WEIGHTED).json()

    columns = [each["value"] for each in told["columns"]["segments"]]
    green = dict(zip(columns, (each["count"] for each in told["cells"][1]), strict=True))
    assert green == {"mail": 68.411, "": 38.237, "poster": 46.339}
    assert (told["count"], told["weighted_count"]) == (254, 453.083)
    assert [(each["count"], each["weighted_count"]) for each in told["rows"]["segments"]] == [
        (90, 163.96), (88, 152.987), (76, 136.136),
    ]  # fmt: skip
    test = told["test"]
    assert (test["statistic"], test["p"], test["effect"]) == near(
        10.95783402205434, 0.027042011451944622, 0.2199173983050015
    )
    assert "scaled to Kish's effective base of 113.3 responses" in told["notes"][0]
    unweighted = cross(admin, project, "colour", "field.campaign").json()
    assert unweighted["weighting"] is None
    assert "weighted_count" not in unweighted


def test_few_are_compared_by_rounded_effective_counts(admin: Caller) -> None:
    """Rule 6.376."""
    red = Person("mail", "red", (), (), 5, None, None, is_completed=True, weight="2")
    blue = replace(red, colour="blue", stars=1, weight="0.5")
    made = panel(admin, [red] * 4 + [blue] * 6, hidden_fields=FIELDS)

    told = cross(admin, made, "colour", "stars", **WEIGHTED).json()

    assert (told["test"]["name"], told["test"]["p"]) == ("Fisher's exact test", pytest.approx(1 / 21))
    assert told["cells"][0][4]["count"] == 8


@pytest.mark.parametrize(
    ("value", "code"), [("weight", "invalid"), ("field.other", "not_found"), ("field.W", "invalid")]
)
def test_only_a_declared_field_weighs(admin: Caller, project: dict[str, Any], value: str, code: str) -> None:
    """Rule 6.374."""
    for path in ("results", "cross"):
        divided = (
            {"rows": ids(project)["colour"], "columns": ids(project)["stars"]} if path == "cross" else {}
        )
        query = urlencode({"weight_by": value, **divided})

        response = admin.get(f"/projects/{project['id']}/analysis/{path}?{query}")

        assert (response.status_code, faults(response)) == (400, {("weight_by", code)})


def test_weights_that_add_up_to_too_much_are_refused(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 6.374."""
    monkeypatch.setattr(weights, "MOST_TOGETHER", 500)

    response = admin.get(f"/projects/{project['id']}/analysis/results?weight_by=field.weight")

    assert faults(response) == {("weight_by", "too_large")}


@pytest.mark.parametrize("mode", ["semi-private", "anonymous"])
def test_readers_of_shared_results_weigh_nothing(admin: Caller, mode: str) -> None:
    """Rule 6.378."""
    made = panel(admin, MANY[:12], hidden_fields=FIELDS, share_results=True, privacy_mode="semi-private")
    if mode == "anonymous":
        made = admin.make_open({"type": "rating", "prompt": "How?"}, settings={
            "privacy_mode": "anonymous", "share_results": True, "hidden_fields": {"weight": ["1", "2"]},
        })  # fmt: skip
    path = f"/projects/{made['id']}/analysis/results"

    member = admin.beside("member")

    assert member.get(path).status_code == 200
    assert member.get(f"{path}?weight_by=field.weight").status_code == 403
    assert admin.get(f"{path}?weight_by=field.weight").status_code == 200
