"""The language in which a response was asked for (rules 6.400 to 6.403)."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from surveys.models import Project
from tests.support.caller import Caller, faults
from tests.support.staff import Staff
from tests.support.surveys.imports import imported, listed, past, send
from tests.support.surveys.places import COLOUR, WEB, answered, begin, open_to_all, pages  # noqa: F401
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)


def languages(caller: Caller, project: Any) -> list[str | None]:
    return [each["language"] for each in listed(caller, project)]


def test_the_interface_sends_the_language_of_a_conversation() -> None:
    """Rule 6.400."""
    caller = Caller()
    project = open_to_all(caller)

    for sent in ({"language": "de-AT"}, {"language": "PT_br"}, {"language": None}, {}):
        answered(caller, project, "red", **sent)

    assert languages(caller, project) == ["de", "pt", None, None]


@pytest.mark.parametrize("language", ["german", "d", "de AT", "12", "de-" + "a" * 40, 3])
def test_what_is_no_language_is_refused(language: object) -> None:
    """Rule 6.400."""
    caller = Caller()
    project = open_to_all(caller)

    refused = begin(caller, project, language=language)

    assert refused.status_code == 400
    assert {field for field, _ in faults(refused)} == {"language"}


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(("locale", "language"), [("fr-CA", "fr"), (None, None)])
def test_a_page_stores_its_own_language(locale: str | None, language: str | None) -> None:
    """Rule 6.400."""
    caller = Caller()
    caller.patch("/settings", {"locale": locale})
    caller.community.locale = None
    caller.community.save(update_fields=["locale"])
    project = open_to_all(caller)

    red = project["script"]["blocks"][0]["options"][0]["id"]
    Visitor(Project.objects.get(pk=project["id"])).look().send(option=red)

    assert languages(caller, project) == [language]


def test_anonymous_projects_store_no_language() -> None:
    """Rule 6.403."""
    caller = Caller()
    project = open_to_all(caller, privacy_mode="anonymous")

    answered(caller, project, "red", language="de")
    imported_too = send(caller, project, past(("colour", "red"), language="de"))

    assert imported_too.status_code == 201
    assert languages(caller, project) == [None, None]


def test_responses_are_selected_and_compared_by_language() -> None:
    """Rule 6.402."""
    caller = Caller()
    project = open_to_all(caller)
    for value, language in (("red", "de"), ("green", "de"), ("red", "xx"), ("red", None)):
        answered(caller, project, value, language=language)

    chosen = listed(caller, project, "&where=language%20%3D%20%22de%22")
    compared = caller.get(f"/projects/{project['id']}/analysis/results?segment_by=language").json()
    banded = caller.get(f"/projects/{project['id']}/analysis/results?segment_by=language:1")

    assert [each["language"] for each in chosen] == ["de", "de"]
    segments = compared["segment_by"]["segments"]
    assert [(each["value"], each["label"], each["count"]) for each in segments] == [
        ("de", "German", 2),
        ("xx", "xx", 1),
        ("", "Not known", 1),
    ]
    assert compared["blocks"][0]["segments"][0]["distribution"][0]["count"] == 1
    assert faults(banded) == {("segment_by", "invalid")}


def test_exports_have_a_column_of_languages_that_an_import_keeps() -> None:
    """Rule 6.401."""
    caller = Caller()
    project = open_to_all(caller)
    answered(caller, project, "red")
    path = f"/projects/{project['id']}/responses/export?format=csv"
    before = _lines(caller, path)[0]
    answered(caller, project, "red", language="en-GB")

    rows = list(csv.DictReader(_lines(caller, path)))
    copy = caller.make(COLOUR)
    again = imported(caller, copy, past(("colour", "red"), language="en-GB"))

    assert "language" not in before
    assert [each["language"] for each in rows] == ["", "en"]
    assert [each["language"] for each in again] == ["en"]


def _lines(caller: Caller, path: str) -> list[str]:
    return b"".join(caller.get(path).streaming_content).decode().splitlines()


def test_staff_compare_by_language_and_see_it_with_a_response() -> None:
    """Rule 6.402."""
    staff = Staff()
    caller = Caller(community=staff.community)
    project = open_to_all(caller)
    hidden = caller.make_open(COLOUR, delivery=WEB, settings={"privacy_mode": "anonymous"})
    answered(caller, project, "red", language="de")
    response = listed(caller, project)[0]

    page = staff.get("surveys_project_response", project["id"], response["id"])

    assert "<dt>Language</dt><dd>German</dd>" in page.content.decode()
    offered = '<option value="language">Language</option>'
    assert offered in staff.get("surveys_project_results", project["id"]).content.decode()
    assert offered not in staff.get("surveys_project_results", hidden["id"]).content.decode()
