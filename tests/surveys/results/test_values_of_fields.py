"""How many responses have which values of the declared fields (rules 6.10 to 6.12 and 6.14)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.models import Project, ResultsCount
from surveys.services.counting import large
from surveys.services.results import figures, very_large
from surveys.services.results.figures import Selection
from tests.support.caller import Caller
from tests.support.surveys.results import results
from tests.support.surveys.sent_fields import PEOPLE, answer, made_by

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def admin(kept_rows: None) -> Caller:
    return Caller("admin")


@pytest.fixture(scope="module")
def given(admin: Caller) -> dict[str, Any]:
    return answered(admin)


def answered(caller: Caller, people: Any = PEOPLE, **fields: Any) -> dict[str, Any]:
    project = made_by(caller, **{"settings": {"hidden_fields": ["customer", "plan"]}, **fields})
    for person in people:
        answer(caller, project, person)
    return project


def people_from(*customers: str) -> list[Any]:
    """People who answered one question."""
    return [({"customer": each} if each else {}, "red") for each in customers]


def listed(field: dict[str, Any]) -> list[tuple[str, int, float]]:
    return [(each["value"], each["count"], each["percentage"]) for each in field["distribution"]]


def test_each_declared_field_has_its_values_most_first_and_those_without_one_among_them(
    given: dict[str, Any],
    admin: Caller,
) -> None:
    customer, plan = results(admin, given)["fields"]

    assert (customer["name"], customer["count"]) == ("customer", 5)
    assert listed(customer) == [("acme", 2, 40.0), ("ACME", 1, 20.0), ("bolt", 1, 20.0), ("", 1, 20.0)]
    assert (customer["other_values"], customer["other_count"]) == (0, 0)
    assert listed(plan) == [("", 4, 80.0), ("pro", 1, 20.0)]
    assert [each["label"] for each in plan["distribution"]] == ["Not given", None]
    assert "segments" not in customer


def test_fields_are_counted_in_the_statement_that_counts_the_rest(
    given: dict[str, Any], admin: Caller
) -> None:
    with_fields, without = given, answered(admin, settings={"hidden_fields": []})
    results(admin, with_fields)
    results(admin, without)

    with CaptureQueriesContext(connection) as of_fields:
        results(admin, with_fields)
    with CaptureQueriesContext(connection) as of_none:
        results(admin, without)

    assert len(of_fields) == len(of_none)


def test_at_most_twenty_values_are_listed_and_the_rest_is_summed(admin: Caller) -> None:
    customers = [f"c{n:02}" for n in range(20)]
    project = answered(admin, people_from(*customers, "c00", ""))

    for others in range(3):
        customer = results(admin, project)["fields"][0]

        assert listed(customer)[0][:2] == ("c00", 2)
        assert len(customer["distribution"]) == 21
        assert ("", 1) in [each[:2] for each in listed(customer)]
        assert (customer["other_values"], customer["other_count"]) == (others, others)
        assert sum(each["count"] for each in customer["distribution"]) == 22
        (person,) = people_from(f"more{others}")
        answer(admin, project, person)
    block = project["script"]["blocks"][0]["id"]
    red, green = results(admin, project, f"?segment_by={block}")["fields"][0]["segments"]
    assert (red["count"], red["other_count"]) == (25, 3)
    assert (green["count"], green["other_count"]) == (0, 0)


def test_they_are_of_the_selected_responses(admin: Caller) -> None:
    project = answered(admin, [*PEOPLE, ({"customer": "bolt"}, "red"), ({"customer": "ghost"},)])
    queries = {
        "?field.plan=pro": [("acme", 1, 100.0), ("", 0, 0.0)],
        "?field.customer=": [("", 1, 100.0)],
        "?provider=chat": [("", 0, 0.0)],
        "?status=partial": [("bolt", 1, 100.0), ("", 0, 0.0)],
        "?status=completed": [("acme", 2, 40.0), ("ACME", 1, 20.0), ("bolt", 1, 20.0), ("", 1, 20.0)],
    }

    for query, values in queries.items():
        told = results(admin, project, query)

        assert listed(told["fields"][0]) == values, query
        assert told["fields"][0]["count"] == told["conversation_count"], query


@pytest.mark.parametrize("place", [0, 1])
def test_each_segment_has_the_same_values(given: dict[str, Any], admin: Caller, place: int) -> None:
    project = given
    block = project["script"]["blocks"][place]["id"]

    told = results(admin, project, f"?segment_by={block}")

    customer = told["fields"][0]
    values = [each["value"] for each in customer["distribution"]]
    for segment, of in zip(customer["segments"], told["segment_by"]["segments"], strict=True):
        assert (segment["value"], segment["count"]) == (of["value"], of["count"])
        assert [each["value"] for each in segment["distribution"]] == values
    if place == 0:
        assert [each["count"] for each in customer["segments"][0]["distribution"]] == [1, 0, 1, 1]
        assert [each["count"] for each in customer["segments"][1]["distribution"]] == [1, 1, 0, 0]


def test_one_field_divides_the_values_of_another(given: dict[str, Any], admin: Caller) -> None:
    told = results(admin, given, "?segment_by=field.customer")

    plan = told["fields"][1]
    assert [(each["value"], each["count"]) for each in plan["segments"]] == [
        ("acme", 2), ("ACME", 1), ("bolt", 1), ("", 1),
    ]  # fmt: skip
    assert [listed(each)[1] for each in plan["segments"]][:2] == [("pro", 1, 50.0), ("pro", 0, 0.0)]


def test_on_anonymous_projects_declared_values_are_told_also_if_nobody_has_them(admin: Caller) -> None:
    hidden = {"campaign": ["mail", "poster"]}
    project = answered(
        admin,
        [({"campaign": "poster"}, "red", 3, None), ({"campaign": "other"}, "red", 3, None)],
        settings={"hidden_fields": hidden},
        privacy_mode="anonymous",
    )

    (campaign,) = results(admin, project)["fields"]

    assert listed(campaign) == [("poster", 1, 50.0), ("", 1, 50.0), ("mail", 0, 0.0)]


@pytest.mark.parametrize("privacy", ["semi-private", "anonymous"])
def test_readers_of_shared_results_are_told_nothing_of_fields(admin: Caller, privacy: str) -> None:
    hidden = {"customer": ["acme", "bolt"]} if privacy == "anonymous" else ["customer"]
    project = answered(
        admin,
        people_from(*["acme"] * 6),
        privacy_mode=privacy,
        settings={"hidden_fields": hidden, "share_results": True},
    )

    for role in ("creator", "member"):
        assert results(admin.beside(role), project)["fields"] == [], role
    assert results(admin, project)["fields"][0]["count"] == 6


def test_large_results_keep_the_fields_with_the_rest(
    given: dict[str, Any], admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 2)
    project = given
    once = results(admin, project)["fields"]

    with CaptureQueriesContext(connection) as statements:
        again = results(admin, project)["fields"]

    assert once == again
    assert listed(again[1]) == [("", 4, 80.0), ("pro", 1, 20.0)]
    assert not any("->'fields'" in each["sql"] for each in statements)


def test_of_very_many_responses_a_worker_counts_them(
    given: dict[str, Any], admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    project = given
    path = f"/projects/{project['id']}/analysis/results"

    begun = admin.get(path)
    very_large.run(count_id=ResultsCount.objects.get().pk)
    told = results(admin, project)

    assert begun.status_code == 202
    assert [each["name"] for each in told["fields"]] == ["customer", "plan"]


def test_a_count_of_fields_that_are_declared_no_more_is_dropped(
    given: dict[str, Any], admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    project = given
    path = f"/projects/{project['id']}/analysis/results"
    admin.get(path)
    admin.patch(f"/projects/{project['id']}", {"settings": {"hidden_fields": ["plan"]}})

    very_large.run(count_id=ResultsCount.objects.get().pk)

    assert not ResultsCount.objects.exists()
    assert admin.get(path).status_code == 202


def test_only_who_asks_for_fields_pays_for_them(given: dict[str, Any], admin: Caller) -> None:
    made = Project.objects.get(pk=int(given["id"]))

    assert figures.count(project=made).fields == []
    assert figures.count(project=made, selection=Selection(provider="web")).fields == []
