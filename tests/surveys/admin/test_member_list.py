"""Members from a list: what is read from it, what is left out, and what becomes of the attributes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from openpyxl import Workbook

from communities.models import AuditEntry, Mail, Member
from surveys.models import PersonalLink, Project
from surveys.services.links import fields, mailing
from surveys.services.links.mailing import Choice, Who
from tests.factories import MemberFactory
from tests.support.caller import TEXT, Caller
from tests.support.moments import NOON
from tests.support.staff import Staff, hidden, text_of
from tests.support.surveys import scenario

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
LIST, READ = "/admin/members-from-list/", "/admin/members-from-list-read/"
ROWS = "Name\tE-mail\tTeam\nGrace Hopper\tGrace@example.org\tNorth\nAda\tada@example.org\t\n"


@pytest.fixture
def staff() -> Staff:
    return Staff(community=scenario.community())


def send(staff: Staff, rows: str, do: str = "check") -> Any:
    ticket = hidden(staff.client.get(LIST), "ticket")
    return staff.client.post(LIST, {"rows": rows, "do": do, "ticket": ticket})


def listed() -> set[tuple[str | None, str, str]]:
    rows = Member.objects.exclude(email="").values_list("nick", "email", "attributes")
    return {(nick, email, str(attributes)) for nick, email, attributes in rows}


def test_a_list_is_looked_through_and_then_added(staff: Staff) -> None:
    """Rule 12.204."""
    looked = text_of(send(staff, ROWS))
    before = listed()
    send(staff, ROWS, "add")

    assert "2 new, 0 known by their address, 0 faulty. Nothing is stored yet." in looked
    assert before == set()
    assert listed() == {
        ("Grace Hopper", "grace@example.org", "{'team': 'North'}"),
        ("Ada", "ada@example.org", "{}"),
    }
    assert AuditEntry.objects.filter(action="member.created").count() == 2
    assert not Mail.objects.exists()


def test_known_addresses_are_brought_up_to_date(staff: Staff) -> None:
    """Rule 12.204."""
    known = MemberFactory.create(
        community=staff.community,
        nick="Grace",
        email="grace@example.org",
        attributes={"team": "South", "a": "1"},
    )

    send(staff, ROWS, "add")
    send(staff, ROWS, "add")

    known.refresh_from_db()
    assert (known.nick, known.attributes) == ("Grace Hopper", {"team": "North", "a": "1"})
    assert Member.objects.filter(email__in=["grace@example.org", "ada@example.org"]).count() == 2


def test_a_proven_address_of_a_member_is_not_found_by_a_list(staff: Staff) -> None:
    """Rule 12.204: a list tells nobody whose address it is."""
    foreign = MemberFactory.create(email="grace@example.org")

    looked = text_of(send(staff, ROWS))

    assert "2 new, 0 known" in looked
    foreign.refresh_from_db()
    assert foreign.attributes == {}


def test_faulty_lines_are_named_and_left_out(staff: Staff) -> None:
    """Rule 12.204."""
    rows = (
        "Name,E-mail,Team\nA,a@example.org,x\nB,not an address,x\n,,x\nC,A@example.org,x\n"
        f"{'N' * 201},,x\nD,d@example.org,{'y' * 501}\nE,e@example.org,x,y\n"
    )

    looked = text_of(send(staff, rows))
    file = send(staff, rows, "faults").content.decode("utf-8-sig").splitlines()
    send(staff, rows, "add")

    assert "1 new, 0 known by their address, 6 faulty" in looked
    assert [line.partition(",")[0] for line in file] == ["Line", "3", "4", "5", "6", "7", "8"]
    assert "“not an address” is not an e-mail address." in file[1]
    assert {email for _, email, _ in listed()} == {"a@example.org"}


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("Team\nNorth\n", "needs a column “Name” or a column “E-mail”"),
        ("Name,Name\nA,B\n", "Two columns are “Name”"),
        ("Name,Команда\nA,B\n", "needs 1 to 40 Latin letters or digits"),
        ("Name,link\nA,B\n", "cannot be a field"),
        ("Name\n", "rows below it"),
        ("Name\n" + "A\n" * 1001, "At most 1,000 people at one time"),
    ],
)
def test_a_list_that_cannot_be_read_says_why(staff: Staff, rows: str, fault: str) -> None:
    answer = send(staff, rows)

    assert answer.status_code == 422
    assert fault in text_of(answer)


def test_a_workbook_is_read_as_rows(staff: Staff) -> None:
    book = Workbook()
    for row in (("Name", "E-mail", "Age"), ("Grace", "grace@example.org", 37)):
        book.active.append(row)
    raw = io.BytesIO()
    book.save(raw)

    answer = staff.client.post(READ, raw.getvalue(), content_type="application/octet-stream")
    send(staff, answer.json()["rows"], "add")

    assert listed() == {("Grace", "grace@example.org", "{'age': '37'}")}


@pytest.mark.parametrize("access", ["member", "creator"])
def test_only_admins_add_members_from_lists(access: str) -> None:
    other = Staff(access)

    assert other.client.get(LIST).status_code == 404
    assert other.client.post(READ, b"Name\nA", content_type="text/csv").status_code == 404


@pytest.mark.parametrize(("privacy", "expected"), [("semi-private", {"team": "North"}), ("anonymous", {})])
def test_personal_links_send_declared_attributes_along(privacy: str, expected: dict[str, str]) -> None:
    """Rule 12.205."""
    caller = Caller()
    hidden_fields = {"team": ["North"]} if privacy == "anonymous" else ["team"]
    made = caller.make_open(TEXT, privacy_mode=privacy, settings={"hidden_fields": hidden_fields})
    member = MemberFactory.create(community=caller.community, attributes={"team": "North", "age": "37"})

    choice = Choice(Who.SEARCH, member_id=member.pk)
    mailing.make_links(actor=caller.actor, project_id=int(made["id"]), choice=choice, at=NOON)

    link = PersonalLink.objects.get(member=member)
    assert fields.of_link(link, Project.objects.get(pk=made["id"])) == expected


def test_attributes_go_along_and_are_told_by_admins_alone() -> None:
    """Rule 1.155."""
    admin = Caller()
    creator = admin.beside("creator")
    made = creator.make_open(TEXT, privacy_mode="semi-private", settings={"hidden_fields": ["team"]})
    by = {}
    for caller in (creator, admin):
        member = MemberFactory.create(community=admin.community, attributes={"team": "North"})
        choice = Choice(Who.SEARCH, member_id=member.pk)
        mailing.make_links(actor=caller.actor, project_id=int(made["id"]), choice=choice, at=timezone.now())
        by[caller] = str(member.pk)

    def told(caller: Caller) -> tuple[Any, Any]:
        listed = caller.get(f"/projects/{made['id']}/links").json()["data"]
        file = caller.get(f"/projects/{made['id']}/links/export?format=csv")
        return {each["member_id"]: each["metadata"] for each in listed}, b"North" in b"".join(file)

    assert told(admin) == ({by[creator]: None, by[admin]: {"team": "North"}}, True)
    assert told(creator) == ({by[creator]: None, by[admin]: None}, False)
    own = creator.post(f"/projects/{made['id']}/links", {"member_id": by[admin], "metadata": {"team": "x"}})
    assert own.json()["metadata"] == {"team": "x"}
    newest = creator.get(f"/projects/{made['id']}/links").json()["data"][0]
    assert newest["metadata"] == {"team": "x"}


def test_the_page_of_links_names_what_they_carry() -> None:
    """Rule 1.155."""
    admin = Staff(community=scenario.community())
    made = scenario.project(scenario.TEXT, privacy_mode="semi-private", hidden_fields=["team", "floor"])
    creator = Staff("creator", community=scenario.community())
    address = reverse("admin:surveys_project_share_links_send", args=[made.pk])

    assert "about the member as team, floor" in text_of(admin.client.get(address))
    Project.objects.filter(pk=made.pk).update(author_id=creator.user.pk)
    page = creator.client.get(address)
    assert page.status_code == 200
    assert "about the member" not in text_of(page)


def test_a_member_has_at_most_fifty_attributes(staff: Staff) -> None:
    """Rule 12.204."""
    known = {f"a{n}": "x" for n in range(49)}
    MemberFactory.create(community=staff.community, email="ada@example.org", attributes=known)

    refused = send(staff, "E-mail\tOne\tTwo\nada@example.org\t1\t2\n", "add")
    send(staff, "E-mail\tOne\nada@example.org\t1\n", "add")

    assert "ada@example.org would have 51 attributes, and at most 50 are kept." in text_of(refused)
    assert len(Member.objects.get(email="ada@example.org").attributes) == 50
