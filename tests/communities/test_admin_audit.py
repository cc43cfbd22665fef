"""The history in the admin: changes with their authors and with the values before and after."""

from __future__ import annotations

import csv
import html
import io
import uuid
from collections.abc import Iterator

import orjson
import pytest
from django.test import Client
from django.urls import reverse

from communities.models import AuditEntry
from communities.staff import audit_trail
from communities.staff.audit_trail import Difference
from tests.support.caller import TEXT, Caller
from tests.support.staff import client_of, signed_in

pytestmark = pytest.mark.django_db
LIST = "/admin/communities/auditentry/"


@pytest.fixture
def caller() -> Caller:
    """Somebody who made a project, renamed it, and changed the community's settings."""
    caller = Caller()
    project = caller.make(TEXT, name="Openings")
    caller.patch(f"/projects/{project['id']}", {"name": "=Opening moves"})
    caller.patch("/settings", {"xp_name": "Stars"})
    return caller


@pytest.fixture
def admin(caller: Caller) -> Client:
    return client_of(caller.community)


def shown(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def renaming() -> AuditEntry:
    return AuditEntry.objects.get(action="project.updated")


def test_the_list_tells_what_which_who_and_when(admin: Client, caller: Caller) -> None:
    page = shown(admin, LIST)

    for words in (
        "Project renamed",
        "=Opening moves",
        "Community settings changed: Xp name",
        caller.user.name,
    ):
        assert words in page
    project_id = renaming().project_id
    link = f'<a href="{reverse("admin:surveys_project_script", args=[project_id])}">=Opening moves</a>'
    assert link in page
    caller.delete(f"/projects/{project_id}")
    assert link not in shown(admin, LIST)


@pytest.mark.parametrize(
    ("query", "expected", "absent"),
    [
        ("?kind=settings", "Community settings changed", ">Project renamed"),
        ("?source=api_key&days=7", "Project created", "Nothing matches"),
        ("?from=2020-01-01&to=nonsense", "Project renamed", "Nothing matches"),
    ],
)
def test_the_list_is_searched_and_filtered(admin: Client, query: str, expected: str, absent: str) -> None:
    page = shown(admin, LIST + query)

    assert expected in page
    assert absent not in page


def test_an_entry_shows_before_and_after(admin: Client) -> None:
    page = shown(admin, f"{LIST}{renaming().pk}/change/")

    assert "<del>Openings</del>" in page
    assert "<ins>=Opening moves</ins>" in page


def test_a_file_has_the_filtered_entries_and_no_formula(admin: Client) -> None:
    response = admin.get(f"{LIST}export/csv/?kind=project")

    rows = list(csv.DictReader(io.StringIO(b"".join(response).decode())))
    assert [row["action"] for row in rows] == ["project.updated", "project.created"]
    assert rows[0]["object_name"] == "'=Opening moves"
    lines = b"".join(admin.get(f"{LIST}export/ndjson/")).splitlines()
    assert len(lines) == AuditEntry.objects.count() - 1  # without the entry of this export
    assert [orjson.loads(line)["action"] for line in lines[:2]] == ["history.exported", "settings.updated"]
    assert AuditEntry.objects.filter(action="history.exported", after={"format": "ndjson"}).count() == 1
    assert not b"".join(admin.get(f"{LIST}export/ndjson/?to=2020-12-31"))


def test_the_tab_of_a_project_holds_its_own_changes(admin: Client) -> None:
    project_id = renaming().project_id
    tab = reverse("admin:surveys_project_history", args=[project_id])

    page = shown(admin, tab)

    assert "Project renamed" in page
    assert "settings changed" not in page
    entry = reverse("admin:surveys_project_history_entry", args=[project_id, renaming().pk])
    assert "<del>Openings</del>" in shown(admin, entry)
    exported = admin.get(reverse("admin:surveys_project_history_export", args=[project_id, "csv"]))
    assert b"project.updated" in b"".join(exported)


def test_creators_read_the_history_of_their_own_projects_alone(caller: Caller) -> None:
    colleague = caller.beside("creator")
    own = colleague.make(TEXT, name="Mine")
    colleague.user.is_staff = True
    colleague.user.save()
    client = signed_in(colleague.user)

    assert client.get(LIST).status_code == 404
    assert "Project created" in shown(client, reverse("admin:surveys_project_history", args=[own["id"]]))
    others = reverse("admin:surveys_project_history", args=[renaming().project_id])
    assert client.get(others).status_code == 404  # the draft of another
    entry = reverse("admin:surveys_project_history_entry", args=[renaming().project_id, renaming().pk])
    assert client.get(entry).status_code == 404


def test_an_entry_of_another_project_or_community_looks_absent(admin: Client, caller: Caller) -> None:
    elsewhere = Caller()
    foreign = elsewhere.make(TEXT, name="Elsewhere")
    entry = AuditEntry.objects.get(object_id=str(foreign["id"]), action="project.created")
    own = caller.make(TEXT)

    assert "Elsewhere" not in shown(admin, LIST)
    assert admin.get(f"{LIST}{entry.pk}/change/").status_code == 404
    mixed = reverse("admin:surveys_project_history_entry", args=[own["id"], renaming().pk])
    assert admin.get(mixed).status_code == 404


def test_nested_changes_are_told_by_the_words_of_their_path() -> None:
    entry = AuditEntry(
        before={"settings": {"max_completes_per_user": 1}, "is_cloneable": False, "events": ["a"]},
        after={"settings": {"max_completes_per_user": None}, "is_cloneable": True, "events": ["a", "b"]},
    )

    found = [(each.field, each.before, each.after) for each in audit_trail.differences(entry).rows]

    assert found == [
        ("Events", "a", "a, b"),
        ("Is cloneable", "No", "Yes"),
        ("Settings · Max completes per user", "1", ""),
    ]


def test_an_entry_shows_no_more_than_fits_in_a_page(admin: Client, caller: Caller) -> None:
    entry = renaming()
    quotes = '"' * 3_000
    entry.before = {f"{n:03}": quotes for n in range(100)}
    entry.after = {key: f"x{value}" for key, value in entry.before.items()}
    entry.pk = uuid.uuid4()
    entry.save(force_insert=True)

    page = admin.get(f"{LIST}{entry.pk}/change/")

    cut = f"<del>{'&quot;' * audit_trail.MAX_SHOWN}…</del>".encode()
    assert 500_000 < len(page.content) < 1_000_000
    assert 20 < page.content.count(cut) < 100
    assert b"Download the history to read the others." in page.content


def test_differences_that_no_page_can_show_are_not_put_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def source(entry: AuditEntry) -> Iterator[Difference]:
        for n in range(1_000_000):
            made.append(n)
            yield Difference("Text", "", "é" * 100_000, "Block")

    monkeypatch.setattr(audit_trail, "_sources", [source])

    found = audit_trail.differences(AuditEntry())

    assert not found.are_all
    assert {len(each.after) for each in found.rows} == {audit_trail.MAX_SHOWN + 1}
    assert len(made) == len(found.rows) + 1 < audit_trail.MAX_BYTES / 4_000
