"""The metadata of a personal link, from its creation to the response (rules 6.10 and 6.37)."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from surveys.models import Conversation, PersonalLink, Project
from surveys.services.links import fields
from tests.factories import MemberFactory
from tests.support.caller import Caller, faults, refusal
from tests.support.concurrency import BackgroundCall
from tests.support.dumps import dump
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry")]
CARRIED = {"customer": "C-1042", "tier": "gold"}


@pytest.fixture
def in_no_hurry(settings: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


@pytest.fixture
def admin() -> Caller:
    return Caller()


@pytest.fixture
def project(admin: Caller) -> Any:
    return admin.make_open(script={"blocks": [TIER, TEXT]})


TIER = {"type": "open_text", "prompt": "How is [field.tier] for you?"}
TEXT = {"type": "open_text", "prompt": "And else?"}


def member_id(admin: Caller) -> str:
    return str(MemberFactory.create(community=admin.community).pk)


def create(admin: Caller, project: Any, **body: Any) -> Any:
    sent = {"member_id": member_id(admin), **body} if "member_ids" not in body else body
    return admin.post(f"/projects/{project['id']}/links", sent)


def path_of(told: Any) -> str:
    return str(told["url"][told["url"].index("/s/") :])


def arrive(told: Any, more: str = "") -> Visitor:
    visitor = Visitor(PersonalLink.objects.get(pk=told["id"]).project)
    return visitor._take(visitor.client.get(path_of(told) + more, follow=True))


def stored() -> Any:
    return Conversation.objects.get().state.get("fields")


def test_what_a_link_carries_is_told_and_becomes_the_metadata_of_the_response(
    admin: Caller, project: Any
) -> None:
    told = create(admin, project, metadata=CARRIED).json()

    visitor = arrive(told).send(value="Fine")

    assert told["metadata"] == CARRIED
    (listed,) = admin.get(f"/projects/{project['id']}/links").json()["data"]
    assert listed["metadata"] == CARRIED
    assert visitor.status == 200
    (response,) = admin.get(f"/projects/{project['id']}/responses").json()["data"]
    assert response["metadata"] == CARRIED


def test_a_link_without_metadata_carries_none(admin: Caller, project: Any) -> None:
    told = create(admin, project, metadata=None).json()

    arrive(told).send(value="Fine")

    assert told["metadata"] is None
    assert stored() is None
    assert PersonalLink.objects.get().sealed_metadata is None


def test_the_address_cannot_override_it_but_adds_declared_fields(admin: Caller, project: Any) -> None:
    admin.patch(f"/projects/{project['id']}", {"settings": {"hidden_fields": ["tier", "utm_source"]}})
    told = create(admin, project, metadata=CARRIED).json()

    arrive(told, "&tier=iron&customer=x&utm_source=mail&other=y").send(value="Fine")

    assert stored() == {**CARRIED, "utm_source": "mail"}


def test_the_address_of_a_link_fills_in_answers_too(admin: Caller, project: Any) -> None:
    told = create(admin, project).json()

    visitor = arrive(told, "&q0=Well&skip=1")

    assert "And else?" in visitor.page
    assert "link=" not in visitor.response.request["QUERY_STRING"]
    visitor.send(value="No")
    answers = admin.get(f"/projects/{project['id']}/responses").json()["data"][0]["answers"]
    assert [each["value"] for each in answers] == ["Well", "No"]


def test_without_cookies_and_in_a_frame_it_comes_with_the_link(admin: Caller, project: Any) -> None:
    for more in ("&taken=1", "&embed=1"):
        told = create(admin, project, metadata=CARRIED).json()
        visitor = Visitor(PersonalLink.objects.get(pk=told["id"]).project, is_framed="embed" in more)
        visitor._take(Client().get(path_of(told) + more))

        visitor.send(value="Fine")

        assert stored() == CARRIED
        Conversation.objects.all().delete()


def test_many_links_carry_each_its_own(admin: Caller, project: Any) -> None:
    ids = [member_id(admin) for _ in range(3)]
    sent = [
        {"member_id": ids[0], "metadata": {"tier": "gold"}},
        {"member_id": ids[1]},
        {"member_id": ids[2], "metadata": {"tier": "iron"}},
    ]

    told = admin.post(f"/projects/{project['id']}/links", {"links": sent}).json()["data"]

    assert [(each["member_id"], each["metadata"]) for each in told] == [
        (ids[0], {"tier": "gold"}),
        (ids[1], None),
        (ids[2], {"tier": "iron"}),
    ]
    assert "How is iron for you?" in arrive(told[2]).page
    exported = admin.get(f"/projects/{project['id']}/links/export")
    rows = list(csv.DictReader(b"".join(exported.streaming_content).decode().splitlines()))
    assert {row["id"]: row["metadata"] for row in rows} == {
        told[0]["id"]: '{"tier":"gold"}',
        told[1]["id"]: "",
        told[2]["id"]: '{"tier":"iron"}',
    }


def test_faults_of_many_are_told_by_their_place(admin: Caller, project: Any, anonymous: Any) -> None:
    ann = member_id(admin)
    links = [
        {"member_id": ann, "metadata": {"A": "x"}},
        {"metadata": {"tier": 7}},
        {"member_id": "7" * 41},
    ]
    path = f"/projects/{project['id']}/links"

    shapes = admin.post(path, {"links": links})
    people = admin.post(path, {"links": [{"member_id": each} for each in (ann, "7", ann)]})
    nameless = admin.post(
        f"/projects/{anonymous['id']}/links", {"links": [{"member_id": ann, "metadata": {"tier": "gold"}}]}
    )

    assert faults(shapes) == {
        ("links[0].metadata.A", "invalid"),
        ("links[1].member_id", "required"),
        ("links[1].metadata.tier", "invalid_type"),
        ("links[2].member_id", "too_long"),
    }
    assert faults(people) == {("links[1].member_id", "not_found"), ("links[2].member_id", "duplicate")}
    assert faults(nameless) == {("links[0].metadata", "not_allowed")}
    assert not PersonalLink.objects.exists()


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"member_ids": ["1"]}, ("member_id", "conflicting")),
        ({"member_id": "1"}, ("member_id", "conflicting")),
        ({"metadata": {"tier": "gold"}}, ("metadata", "conflicting")),
        ({"links": []}, ("links", "too_few")),
        ({"links": [{"member_id": "1"}] * 1001}, ("links", "too_many")),
        ({"links": ["1"]}, ("links[0]", "invalid_type")),
    ],
)
def test_links_are_sent_alone_and_are_1_to_1000(
    admin: Caller, project: Any, more: dict[str, Any], fault: tuple[str, str]
) -> None:
    body = {"links": [{"member_id": member_id(admin)}], **more}

    answer = admin.post(f"/projects/{project['id']}/links", body)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}


def test_a_second_link_of_a_member_changes_nothing_about_the_first(admin: Caller, project: Any) -> None:
    ann = member_id(admin)
    first = create(admin, project, member_id=ann, metadata={"tier": "gold"}).json()
    second = create(admin, project, member_id=ann, metadata={"tier": "iron"}).json()

    assert "How is gold" in arrive(first).page
    assert "How is iron" in arrive(second).page


def test_a_link_that_is_left_leaves_what_it_carried(admin: Caller, project: Any) -> None:
    Project.objects.update(participation="open_web")
    visitor = arrive(create(admin, project, metadata=CARRIED).json())

    visitor.send("leave").send(value="Fine")

    assert stored() is None


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"Customer": "x"}, ("metadata.Customer", "invalid")),
        ({"customer": 7}, ("metadata.customer", "invalid_type")),
        ({"customer": "x" * 501}, ("metadata.customer", "too_long")),
        ({f"key{n}": "x" for n in range(21)}, ("metadata", "too_many")),
        (["customer"], ("metadata", "invalid_type")),
        ("customer", ("metadata", "invalid_type")),
    ],
)
def test_metadata_obeys_the_rules_of_conversations(
    admin: Caller, project: Any, sent: Any, fault: tuple[str, str]
) -> None:
    answer = create(admin, project, metadata=sent)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}
    assert not PersonalLink.objects.exists()


def test_a_null_character_is_refused(admin: Caller, project: Any) -> None:
    assert create(admin, project, metadata={"customer": "a\x00b"}).status_code == 400


# --- Anonymous projects ---------------------------------------------------------------------------------


@pytest.fixture
def anonymous(admin: Caller) -> Any:
    settings = {"privacy_mode": "anonymous", "hidden_fields": {"tier": ["gold", "iron"]}}
    return admin.make_open(script={"blocks": [TIER, TEXT]}, settings=settings)


@pytest.mark.parametrize("sent", [{"tier": "gold"}, {"tier": "Ann"}, {"customer": "C-1042"}])
def test_a_link_of_an_anonymous_project_carries_nothing(
    admin: Caller, anonymous: Any, sent: dict[str, str]
) -> None:
    """Also no declared value: given to one member alone, it would lead to that member's answers."""
    answer = create(admin, anonymous, metadata=sent)

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("metadata", "not_allowed")}
    assert not PersonalLink.objects.exists()


@pytest.mark.parametrize("sent", [None, {}])
def test_a_link_of_an_anonymous_project_is_made_without(admin: Caller, anonymous: Any, sent: Any) -> None:
    told = create(admin, anonymous, metadata=sent).json()

    assert told["metadata"] is None
    assert PersonalLink.objects.get().sealed_metadata is None


def test_declared_values_have_a_limit_together(admin: Caller) -> None:
    def declared(length: int) -> Any:
        values = {f"f{n}": [f"{m:0>{length}}" for m in range(20)] for n in range(10)}
        settings = {"privacy_mode": "semi-private", "hidden_fields": values}
        return admin.post("/projects", {"name": "Long", "type": "convo", "settings": settings})

    assert declared(99).status_code == 201
    assert faults(declared(100)) == {("settings.hidden_fields", "too_long")}


def test_every_fault_of_members_and_metadata_is_told(admin: Caller, anonymous: Any) -> None:
    answer = create(admin, anonymous, member_id="7", metadata={"tier": "gold"})

    assert faults(answer) == {("member_id", "not_found"), ("metadata", "not_allowed")}


def test_the_address_of_a_link_to_an_anonymous_project_names_nothing_either(
    admin: Caller, anonymous: Any
) -> None:
    """An address that one member alone gets could name the member by values that many others get."""
    arrive(create(admin, anonymous).json(), "&tier=iron").send(value="Fine")

    assert stored() is None


def test_what_links_carry_is_encrypted(admin: Caller, project: Any) -> None:
    before = dump()

    create(admin, project, metadata={"customer": "C-1042"})

    new = [row for table, rows in dump().items() for row in rows - before[table]]
    assert new
    assert not [row for row in new if "C-1042" in row]


def test_a_project_that_becomes_anonymous_drops_what_its_links_carried(admin: Caller, project: Any) -> None:
    create(admin, project, metadata=CARRIED)
    admin.post(f"/projects/{project['id']}/close")

    answer = admin.patch(f"/projects/{project['id']}", {"settings": {"privacy_mode": "anonymous"}})

    assert answer.status_code == 200
    assert PersonalLink.objects.get().sealed_metadata is None


# --- What belongs to the member -------------------------------------------------------------------------


def test_a_changed_secret_loses_it_and_admits_still(admin: Caller, project: Any, settings: Any) -> None:
    told = create(admin, project, metadata=CARRIED).json()
    link = PersonalLink.objects.get()
    link.sealed_metadata = b"x" * 40
    link.save(update_fields=["sealed_metadata"])

    assert "How is for you?" in arrive(told).page


def test_an_expired_link_carries_nothing(admin: Caller, project: Any) -> None:
    told = create(admin, project, metadata=CARRIED).json()
    PersonalLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert json.dumps("gold") not in arrive(told).page
    assert "How is gold" not in arrive(told).page


# --- A project that becomes anonymous meanwhile --------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_first", [True, False])
def test_no_link_that_is_made_while_a_project_becomes_anonymous_carries_anything(
    admin: Caller, is_first: bool
) -> None:
    made = admin.make(TIER, TEXT)
    other = admin.in_another_thread()
    ann = member_id(admin)

    def make(caller: Caller) -> Any:
        links = [{"member_id": ann, "metadata": {"tier": "gold"}}]
        return caller.post(f"/projects/{made['id']}/links", {"links": links}).status_code

    def hide(caller: Caller) -> Any:
        settings = {"privacy_mode": "anonymous"}
        return caller.patch(f"/projects/{made['id']}", {"settings": settings}).status_code

    first, second = (make, hide) if is_first else (hide, make)
    with transaction.atomic():
        begun = first(admin)
        waiting = BackgroundCall(lambda: second(other))
        assert waiting.waits_for_lock()

    assert (begun, waiting.result()) == ((201, 200) if is_first else (200, 400))
    assert not PersonalLink.objects.filter(sealed_metadata__isnull=False).exists()


def test_what_an_earlier_version_stored_on_an_anonymous_project_is_told_to_nobody(
    admin: Caller, anonymous: Any
) -> None:
    told = create(admin, anonymous).json()
    link = PersonalLink.objects.get()
    link.sealed_metadata = fields.sealed(link.pk, {"tier": "gold"})
    link.save(update_fields=["sealed_metadata"])

    arrive(told).send(value="Fine")

    assert stored() is None
    listed = admin.get(f"/projects/{anonymous['id']}/links").content
    exported = b"".join(admin.get(f"/projects/{anonymous['id']}/links/export").streaming_content)
    assert b"gold" not in listed + exported
