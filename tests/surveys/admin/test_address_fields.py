"""The names that a page takes from its address, as staff write them on the tab Delivery."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import pytest

from surveys.models import Project
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import form_of, project_staff, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db

USES = {**CHOICE, "name": "colour", "precondition": 'NOT((field.campaign = "mail"))'}


def saved(project: Project, *, follow: bool = True, **changes: str) -> str:
    """The page after the form was sent with these changes."""
    (page,) = saved_by_turns(project, [changes], follow=follow)
    return page


def saved_by_turns(project: Project, sent: Iterable[dict[str, str]], *, follow: bool = True) -> list[str]:
    """The pages after the form was sent again and again, each time with these changes to its first values."""
    client = project_staff().client
    address = tab(project.pk, "delivery")
    form = form_of(client.get(address))
    pages = [client.post(address, form | changes, follow=follow) for changes in sent]
    return [html.unescape(page.content.decode()) for page in pages]


def made_with(*blocks: Any, **fields: Any) -> Project:
    made = scenario.project(*(blocks or (TEXT,)), status="inactive", participation="private", **fields)
    Project.objects.filter(pk=made.pk).update(delivery=None)
    return made


def names_of(project: Project) -> Any:
    project.refresh_from_db()
    return project.hidden_fields


def test_a_fault_is_told_in_the_words_of_the_form() -> None:
    made = made_with()
    faults = [
        ("First Name", "“First Name” cannot be a name: use up to 40 small letters (a to z), digits and _."),
        ("x" * 41, f"“{'x' * 41}” cannot be a name"),
        ("x" * 400, f"“{'x' * 59}…” cannot be a name"),
        (": mail", "A name is missing before a colon."),
        ("a:", "“a” has no values. Write them behind a colon, such as a: mail, poster."),
        ("a: mail\nb", "“b” has no values. Write them behind a colon, such as b: mail, poster."),
        (f"a: {', '.join(map(str, range(21)))}", "“a” can have at most 20 values; here are 21."),
        (f"a: {'x' * 501}", "A value of “a” is longer than 500 characters."),
        ("\n".join(f"a{n}" for n in range(21)), "There can be at most 20 names; here are 21."),
        ("skip", "The page's address uses the word “skip” itself: please give the field another name."),
    ]

    pages = saved_by_turns(made, ({"address_fields": text} for text, _ in faults))

    for (_, message), page in zip(faults, pages, strict=True):
        assert message in page
        assert "hidden_fields" not in page, message
    assert names_of(made) == []


@pytest.mark.parametrize(
    "text",
    [f"{'x' * 40}: {'x' * 500}, {', '.join(map(str, range(19)))}", "\n".join(f"a{n}" for n in range(20))],
)
def test_names_and_values_up_to_the_bounds_are_saved(text: str) -> None:
    made = made_with()

    assert "Saved." in saved(made, address_fields=text)
    assert names_of(made)


def test_names_of_an_anonymous_project_need_their_values() -> None:
    made = made_with(privacy_mode="anonymous")

    page = saved(made, address_fields="campaign")

    assert "such as campaign: mail, poster." in page
    assert "object" not in page.partition('name="address_fields"')[0].rpartition("<label")[2]
    assert names_of(made) == []
    assert "Saved." in saved(made, address_fields="campaign: mail, poster")
    assert names_of(made) == {"campaign": ["mail", "poster"]}


def test_a_project_that_becomes_anonymous_needs_the_values_of_its_names() -> None:
    made = made_with(hidden_fields=["campaign"])

    page = saved(made, privacy_mode="anonymous")

    assert "such as campaign: mail, poster." in page
    made.refresh_from_db()
    assert made.privacy_mode != "anonymous"


@pytest.mark.parametrize(
    "block", [USES, {"type": "calculated_block", "prompt": "", "calculated_formula": "[field.campaign] + 1"}]
)
def test_removing_a_name_that_the_script_uses_is_told_at_once(block: Any) -> None:
    where = "field.campaign (block 2)"
    made = made_with(TEXT, block, hidden_fields=["campaign", "source"])

    page = saved(made, address_fields="source")

    assert "Saved." in page
    assert f"The script still uses {where}, which the page does not take from its address any more" in page
    assert names_of(made) == ["source"]


@pytest.mark.parametrize("text", ["campaign\nother", "campaign: mail", "campaign"])
def test_names_that_stay_or_that_nothing_uses_are_not_told(text: str) -> None:
    made = made_with(USES, hidden_fields=["campaign", "source"])

    assert "The script still uses" not in saved(made, address_fields=text)
