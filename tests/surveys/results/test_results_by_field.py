"""Results filtered and divided by fields: `field.<name>` (rules 6.10 to 6.12 and 6.14)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.expressions import RawSQL
from django.test.utils import CaptureQueriesContext

from communities.ground.errors import InvalidRequest
from surveys.models import Conversation, Project, ResultsCount
from surveys.services.counting import large, sent_fields
from surveys.services.results import figures, very_large
from surveys.services.results.figures import Selection
from tests.factories import MemberFactory
from tests.support.caller import CHOICE, Caller, faults
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.participants import Talk
from tests.support.surveys.quizzes import quiz
from tests.support.surveys.results import counts, results
from tests.support.surveys.sent_fields import PEOPLE, answer, made_by

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def admin(kept_rows: None) -> Caller:
    return Caller("admin")


@pytest.fixture(scope="module")
def project(admin: Caller) -> dict[str, Any]:
    project = made_by(admin, settings={"hidden_fields": ["campaign"]})
    for person in PEOPLE:
        answer(admin, project, person)
    return project


@pytest.mark.parametrize(
    ("query", "people"),
    [
        ("field.customer=acme", [0, 1]),
        ("field.customer=ACME", [2]),
        ("field.customer=nobody", []),
        ("field.customer=", [4]),
        ("field.plan=", [1, 2, 3, 4]),
        ("field.campaign=", [0, 1, 2, 3, 4]),
        ("field.campaign=mail", []),
        ("field.customer=acme&field.plan=pro", [0]),
        ("field.customer=acme&field.plan=", [1]),
        ("field.customer=acme&status=partial", []),
        ("field.customer=acme&provider=web", [0, 1]),
        ("field.customer=acme%20", [0, 1]),
        ("field.customer=%25", []),
    ],
)
def test_only_responses_with_the_value_are_counted(
    admin: Caller, project: dict[str, Any], query: str, people: list[int]
) -> None:
    told = results(admin, project, f"?{query}")

    assert told["conversation_count"] == told["completion_count"] == len(people)
    colours = [PEOPLE[n][1] for n in people]
    assert counts(told["blocks"][0]) == {
        each: colours.count(each) for each in ("red", "green") if each in colours
    }
    heights = [each for n in people if (each := PEOPLE[n][3]) is not None]
    assert told["blocks"][2]["stats"]["count"] == len(heights)
    assert told["blocks"][2]["stats"]["max"] == max(heights, default=None)


@try_each(
    ("query", "field", "code"),
    [
        ("field.town=Rome", "field.town", "not_found"),
        ("field.town=", "field.town", "not_found"),
        ("segment_by=field.town", "segment_by", "not_found"),
        ("segment_by=field.", "segment_by", "invalid"),
        ("segment_by=field.Customer", "segment_by", "invalid"),
        ("segment_by=-1", "segment_by", "invalid"),
        ("segment_by=0", "segment_by", "invalid"),
        ("segment_by=9223372036854775808", "segment_by", "invalid"),
        ("segment_by=%D9%A1", "segment_by", "invalid"),
        ("field.=a", "field.", "not_allowed"),
        ("field.Customer=acme", "field.Customer", "not_allowed"),
        ("field.customer=a&field.customer=b", "field.customer", "duplicate"),
        (f"field.customer={'x' * 501}", "field.customer", "too_long"),
    ],
)
def test_what_is_unknown_or_wrong_is_refused_by_its_name(
    admin: Caller, project: dict[str, Any], query: str, field: str, code: str
) -> None:
    response = admin.get(f"/projects/{project['id']}/analysis/results?{query}")

    assert response.status_code == 400
    assert faults(response) == {(field, code)}


def test_a_null_byte_in_a_value_is_refused(admin: Caller, project: dict[str, Any]) -> None:
    response = admin.get(f"/projects/{project['id']}/analysis/results?field.customer=a%00b")

    assert response.status_code == 400


def test_everything_is_divided_by_the_values_of_a_field(admin: Caller, project: dict[str, Any]) -> None:
    told = results(admin, project, "?segment_by=field.customer")

    segments = told["segment_by"].pop("segments")
    assert told["segment_by"] == {
        "by": "field.customer",
        "title": "customer",
        "block_id": None,
        "block_name": None,
        "prompt": None,
        "field": "customer",
    }
    assert [(each["value"], each["label"], each["count"]) for each in segments] == [
        ("acme", None, 2), ("ACME", None, 1), ("bolt", None, 1), ("", "Not given", 1),
    ]  # fmt: skip
    colours, stars, heights = (block["segments"] for block in told["blocks"])
    assert [counts(each) for each in colours] == [
        {"red": 1, "green": 1}, {"red": 0, "green": 1}, {"red": 1, "green": 0}, {"red": 1, "green": 0},
    ]  # fmt: skip
    assert [each["stats"]["mean"] for each in stars] == [2.0, 2.0, 5.0, 4.0]
    assert heights[0]["stats"] == {
        "count": 2,
        "mean": 2.0,
        "min": 1.5,
        "lower_quartile": 1.75,
        "median": 2,
        "upper_quartile": 2.25,
        "max": 2.5,
        "standard_deviation": math.sqrt(0.5),
    }
    assert [each["response_count"] for each in heights] == [2, 0, 1, 0]


def test_a_segment_is_what_its_filter_selects(admin: Caller, project: dict[str, Any]) -> None:
    divided = results(admin, project, "?segment_by=field.customer&status=completed")

    for n, value in enumerate(["acme", "ACME", "bolt", ""]):
        alone = results(admin, project, f"?field.customer={value}&status=completed")
        for block, part in zip(alone["blocks"], divided["blocks"], strict=True):
            assert block["response_count"] == part["segments"][n]["response_count"]
            assert block["stats"] == part["segments"][n]["stats"]


def test_declared_values_come_first_also_those_that_nobody_has(admin: Caller) -> None:
    project = made_by(admin, settings={"hidden_fields": {"campaign": ["mail", "poster"]}})
    for sent in ({"campaign": "fair"}, {"campaign": "fair"}, {"campaign": "poster"}):
        answer(admin, project, (sent, "red", 1, None))

    told = results(admin, project, "?segment_by=field.campaign")

    assert [(each["value"], each["count"]) for each in told["segment_by"]["segments"]] == [
        ("mail", 0), ("poster", 1), ("fair", 2), ("", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("most", "status"), [(4, 200), (3, 400)])
def test_a_field_with_too_many_values_does_not_divide(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch, most: int, status: int
) -> None:
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", most)

    response = admin.get(f"/projects/{project['id']}/analysis/results?segment_by=field.customer")

    assert response.status_code == status
    if status == 400:
        assert faults(response) == {("segment_by", "too_many")}


def sent_statements(caller: Caller, path: str, status: int) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert caller.get(path).status_code == status
    return [query["sql"] for query in captured]


@pytest.mark.parametrize(("most", "status"), [(2, 200), (1, 400)])
def test_scores_are_not_counted_for_a_field_with_too_many_values(
    admin: Caller, monkeypatch: pytest.MonkeyPatch, most: int, status: int
) -> None:
    project = quiz(admin, settings={"hidden_fields": ["customer"]})
    Conversation.objects.update(state=RawSQL("""state || '{"fields": {"customer": "acme"}}'""", []))
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", most)
    path = f"/projects/{project['id']}/analysis/results?segment_by=field.customer"

    statements = sent_statements(admin, path, status)

    assert any("state->'scores'" in sql for sql in statements) == (status == 200)


def test_a_refusal_leaves_a_transaction_in_which_others_are_counted(
    project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Project.objects.get(pk=int(project["id"]))
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 2)

    with transaction.atomic():
        with pytest.raises(InvalidRequest) as refused:
            figures.count(project=made, segment_by="field.customer")
        divided = figures.count(project=made, segment_by="field.plan")

    assert refused.value.violations[0]["code"] == "too_many"
    assert [each["count"] for each in divided.segments or ()] == [1, 4]


def test_values_of_conversations_without_an_answer_are_no_segments(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("ghost", "acme"):
        answer(admin, project, ({"customer": value},))
    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 4)

    told = results(admin, project, "?segment_by=field.customer")

    assert [(each["value"], each["count"]) for each in told["segment_by"]["segments"]] == [
        ("acme", 2), ("ACME", 1), ("bolt", 1), ("", 1),
    ]  # fmt: skip
    assert told["conversation_count"] == 5
    assert told["blocks"][0]["drop_off"]["left"] == 2
    assert [each["response_count"] for each in told["blocks"][0]["segments"]] == [2, 1, 1, 1]


def test_declared_values_and_those_without_one_are_segments_within_the_limit(
    admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = made_by(admin, settings={"hidden_fields": {"campaign": ["mail", "poster"]}})
    answer(admin, project, ({"campaign": "fair"}, "red", 1, None))
    path = f"/projects/{project['id']}/analysis/results?segment_by=field.campaign"

    def status(most: int) -> int:
        monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", most)
        return int(admin.get(path).status_code)

    assert [status(most) for most in (4, 3, 2)] == [200, 400, 400]


def test_menus_offer_nothing_that_the_filter_refuses(admin: Caller, project: dict[str, Any]) -> None:
    answer(admin, project, ({"town": "Rome", "plan": "free"},))
    made = Project.objects.get(pk=int(project["id"]))

    offered = sent_fields.offered(project=made)

    assert offered == {"campaign": [], "customer": ["acme", "ACME", "bolt"], "plan": ["pro"]}
    for name in offered:
        assert results(admin, project, f"?field.{name}=")["conversation_count"] > 0
    refused = admin.get(f"/projects/{project['id']}/analysis/results?field.town=")
    assert faults(refused) == {("field.town", "not_found")}


@pytest.mark.parametrize(("count", "code"), [(20, "not_found"), (21, "too_many")])
def test_twenty_fields_are_looked_for_at_once_and_more_are_refused_before(
    admin: Caller, project: dict[str, Any], count: int, code: str
) -> None:
    path = f"/projects/{project['id']}/analysis/results?"
    one = sent_statements(admin, f"{path}field.a00=", 400)
    query = "&".join(f"field.a{n:02}=" for n in range(count))

    many = sent_statements(admin, path + query, 400)

    names = range(20) if code == "not_found" else [20]
    assert faults(admin.get(path + query)) == {(f"field.a{n:02}", code) for n in names}
    searches = ["jsonb_object_keys" in sql for sql in many]
    assert (searches.count(True), len(many)) == ((1, len(one)) if code == "not_found" else (0, 1))


@pytest.mark.parametrize("looked_at", [1, 2_000])
def test_a_name_that_an_early_response_has_is_known(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(sent_fields, "LOOKED_AT", looked_at)

    assert results(admin, project, "?field.plan=pro&field.customer=acme")["conversation_count"] == 1
    refused = admin.get(f"/projects/{project['id']}/analysis/results?field.plan=pro&field.town=Rome")
    assert faults(refused) == {("field.town", "not_found")}


def test_unknown_names_among_many_responses_are_looked_for_in_turn(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 3)
    path = f"/projects/{project['id']}/analysis/results?field.customer=acme"

    with large.counting_slot(max_wait=0):
        waiting = sent_statements(admin, path, 503)
    first, again = sent_statements(admin, path, 200), sent_statements(admin, path, 200)

    searches = [sum("jsonb_object_keys" in sql for sql in sent) for sent in (waiting, first, again)]
    assert searches == [0, 1, 0]


@pytest.mark.parametrize("is_very_large", [False, True])
def test_an_erasure_takes_what_was_sent_along_out_of_kept_figures(
    monkeypatch: pytest.MonkeyPatch, is_very_large: bool
) -> None:
    admin = Caller()
    monkeypatch.setattr(large, "LARGE", 2)
    made = admin.make_open({**CHOICE, "name": "colour"}, settings={"hidden_fields": ["customer"]})
    path = f"/projects/{made['id']}/analysis/results?segment_by=field.customer"
    people = [str(MemberFactory.create(community=admin.community).pk) for _ in range(3)]
    for member_id in people:
        who = {"member_id": member_id, "metadata": {"customer": f"C-{member_id}"}}
        Talk(admin, made, **who).answer("red")
    if is_very_large:
        monkeypatch.setattr(very_large, "VERY_LARGE", 2)
        assert admin.get(path).status_code == 202
        [job] = ResultsCount.objects.all()
        very_large.run(count_id=job.pk)
    told = admin.get(path).json()
    assert f"C-{people[0]}" in [each["value"] for each in told["segment_by"]["segments"]]

    assert admin.delete(f"/members/{people[0]}/data").status_code == 204

    assert not ResultsCount.objects.exists()
    again = admin.get(path)
    assert f"C-{people[0]}" not in again.content.decode()


def test_kept_counts_are_not_told_once_their_field_is_declared_no_more(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 3)
    made = Project.objects.get(pk=int(project["id"]))
    query = "?field.campaign="
    assert results(admin, project, query)["conversation_count"] == 5

    made.hidden_fields = []
    made.save(update_fields=["hidden_fields"])

    refused = admin.get(f"/projects/{project['id']}/analysis/results{query}")
    assert faults(refused) == {("field.campaign", "not_found")}


def test_a_worker_counts_them_too_and_tells_of_too_many(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 3)
    path = f"/projects/{project['id']}/analysis/results?field.customer=acme&segment_by=field.plan"
    assert admin.get(path).status_code == 202
    very_large.run(count_id=ResultsCount.objects.get().pk)

    told = admin.get(path)
    assert told.status_code == 200
    assert [(each["value"], each["count"]) for each in told.json()["segment_by"]["segments"]] == [
        ("pro", 1), ("", 1),
    ]  # fmt: skip

    monkeypatch.setattr(figures, "MAX_FIELD_SEGMENTS", 1)
    monkeypatch.setattr(sent_fields, "LOOKED_AT", 1)  # the latest, which has none
    path = f"/projects/{project['id']}/analysis/results?segment_by=field.plan"
    assert admin.get(path).status_code == 202
    very_large.run(count_id=ResultsCount.objects.latest("pk").pk)

    assert faults(admin.get(path)) == {("segment_by", "too_many")}


def test_only_those_who_read_single_responses_may_filter_and_divide(admin: Caller) -> None:
    fields = {"hidden_fields": {"campaign": ["mail"]}, "share_results": True}
    project = made_by(admin, privacy_mode="anonymous", settings=fields)
    for n in range(6):
        answer(admin, project, ({"campaign": "mail"} if n == 0 else {}, "red", 1, None))
    path = f"/projects/{project['id']}/analysis/results"

    for other in (admin.beside("member"), admin.beside("creator")):
        for query in ("field.campaign=mail", "field.campaign=", "segment_by=field.campaign", "field.nope=a"):
            assert other.get(f"{path}?{query}").status_code == 403
        assert other.get(path).json()["conversation_count"] == 6
    assert results(admin, project, "?field.campaign=mail")["conversation_count"] == 1


def test_declared_fields_are_offered_first_then_those_that_were_sent(
    admin: Caller, project: dict[str, Any]
) -> None:
    made = Project.objects.get(pk=int(project["id"]))

    offered = sent_fields.offered(project=made)

    assert offered == {"campaign": [], "customer": ["acme", "ACME", "bolt"], "plan": ["pro"]}
    assert list(offered) == ["campaign", "customer", "plan"]


def test_a_filter_by_field_takes_no_statement_more_if_it_is_declared(
    admin: Caller, project: dict[str, Any]
) -> None:
    path = f"/projects/{project['id']}/analysis/results"
    admin.get(path)

    with scenario.at_most(8 + 3):  # as with any other filter; three read the history of the script
        admin.get(f"{path}?field.campaign=mail")


def test_kept_counts_of_many_are_those_of_the_same_field(
    admin: Caller, project: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 3)
    made = Project.objects.get(pk=int(project["id"]))

    def count(*fields: tuple[str, str]) -> int:
        return figures.count(project=made, selection=Selection(fields=fields)).conversation_count

    assert [count(("customer", "acme")), count(("customer", "bolt")), count(("customer", "acme"))] == [
        2,
        1,
        2,
    ]
    divided = [
        figures.count(project=made, segment_by=f"field.{name}").segments for name in ("plan", "customer")
    ]
    assert [len(each or ()) for each in divided] == [2, 4]
