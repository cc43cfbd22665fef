"""The list of projects in the admin, and actions on selected projects."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from communities.models import Community
from surveys.models import Project
from surveys.services.ground import field_groups
from tests.factories import CommunitySettingsFactory, ProjectFactory
from tests.support.staff import text_of
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, project_staff, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


def names(page: Any) -> list[str]:
    return [next(cell.content for cell in row.cells if cell.is_title) for row in page.context["page"].rows]


def cells(page: Any) -> dict[str, str]:
    """The cells of the first row, by the label of their column."""
    return {cell.label: str(cell.content) for cell in page.context["page"].rows[0].cells}


@pytest.fixture(autouse=True)
def _counted() -> None:
    """What tests make in the database as open counts as such."""
    scenario.community()
    Community.objects.update(active_project_count=9)


def project(name: str = "Tea?", **fields: Any) -> Project:
    return ProjectFactory.create(**{"community": scenario.community(), "name": name, **fields})


def test_the_list_says_whether_it_runs_whether_anyone_answers_and_whether_they_finish() -> None:
    staff = project_staff()
    made = scenario.project(CHOICE, TEXT, name="Tea?", author=staff.user, opened_at=timezone.now())
    scenario.say(scenario.begin(made, "a"), 0, "Because")
    scenario.say(scenario.begin(made, "b"), 0, "Because")
    scenario.say(scenario.begin(made, "c"), 0)

    row = cells(staff.client.get(LIST))

    assert "Open" in row["Status"]
    assert (row["Name"], row["Responses"], row["Completed"]) == ("Tea?", "3", "67%")
    assert (row["Author"], row["Type"]) == ("Ada", "Survey")
    assert "<time" in row["Last answer"]


def scheduled(**times: datetime | str) -> Any:
    """A delivery group whose opening or closing is scheduled."""
    return field_groups.merged(
        "delivery", None, {turn: {"mode": "scheduled", "time": time} for turn, time in times.items()}
    )


SUMMER, LATER = datetime(2150, 7, 1, 7, tzinfo=UTC), datetime(2150, 12, 1, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        (
            {"opens_at": SUMMER, "closes_at": LATER},
            ["Opens later", "opens 1 Jul 2150, 09:00 CEST", "closes 1 Dec 2150, 17:00 CET"],
        ),
        (
            {"delivery": scheduled(opening=SUMMER, closing=LATER)},
            ["Draft", "planned to close 1 Dec 2150, 17:00 CET"],
        ),
    ],
)
def test_a_project_says_everywhere_when_it_opens_and_closes(fields: dict[str, Any], shown: list[str]) -> None:
    staff = project_staff()
    CommunitySettingsFactory.create(community=staff.community, time_zone="Europe/Oslo")
    made = project(author=staff.user, **fields)
    clones = reverse("admin:surveys_project_clone_selected")

    listed = text_of(staff.client.get(LIST))
    above_its_tabs = text_of(staff.client.get(tab(made.pk, "script")))
    at_home = text_of(staff.get("index"))
    where_it_is_asked_for = text_of(staff.client.get(f"{clones}?id={made.pk}"))

    for page in (listed, above_its_tabs, at_home, where_it_is_asked_for):
        found = re.findall(r"(?:planned to )?(?:open|close)s? \d+ \w+ \d+, [\d:]+ \w+", page)
        assert [shown[0], *found] == shown
        assert shown[0] in page


def test_a_project_has_eight_tabs() -> None:
    """Rule 12.15."""
    staff = project_staff()
    made = scenario.project(CHOICE)

    tabs = staff.client.get(tab(made.pk, "delivery")).context["tabs"]

    assert [each["label"] for each in tabs] == [
        *("Script", "Delivery", "Look", "Rewards", "Results", "Responses", "Share", "History")
    ]
    assert {staff.client.get(each["address"]).status_code for each in tabs} == {200}


def test_no_page_counts_the_answers_to_a_draft() -> None:
    staff = project_staff()
    draft, opened = project(type="poll"), project(type="poll", status="active")
    counts = re.compile(r"\b0 (?:vote|response)s|\b0\b –")

    at_home = text_of(staff.get("index"))
    of_tabs = {made: text_of(staff.client.get(tab(made.pk, "delivery"))) for made in (draft, opened)}
    listed = text_of(staff.client.get(LIST))

    assert counts.findall(at_home) == counts.findall(of_tabs[opened]) == ["0 votes"]
    assert counts.findall(of_tabs[draft]) == []
    assert counts.findall(listed) == ["0 –"]  # the open poll, none of whose votes is completed


@pytest.mark.parametrize("frequent", [0, 200])
def test_names_are_found_by_the_beginnings_of_their_words(
    frequent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("communities.ground.word_matches.FREQUENT", frequent)
    staff = project_staff()
    project("Tea or coffee?")
    project("Übung 2.1-beta")
    searches = {
        "tea": ["Tea or coffee?"],
        "COF te": ["Tea or coffee?"],
        "übung": ["Übung 2.1-beta"],
        "2": ["Übung 2.1-beta"],
        "2.1-bet": ["Übung 2.1-beta"],
        "offee": [],
        "?!": [],
        "' | !:*": [],
    }

    assert {words: names(staff.client.get(LIST, {"q": words})) for words in searches} == searches


def test_filters_narrow_the_list() -> None:
    staff, now = project_staff(), timezone.now()
    soon = now + timedelta(hours=1)
    project("Open", status="active")
    project("Pending", opens_at=soon)
    project("Begun", opens_at=now - timedelta(seconds=1))
    project("Just over", status="active", closes_at=now - timedelta(seconds=1))
    project("Draft", type="poll", author=staff.user)

    def listed(**query: str) -> set[str]:
        return set(names(staff.client.get(LIST, query)))

    assert listed(status="open") == {"Open", "Begun"}
    assert listed(status="pending") == {"Pending"}
    assert listed(status="closed") == {"Draft", "Just over"}
    assert listed(type="poll") == {"Draft"} == listed(author="me")
    assert listed(type="convo", status="open") == {"Open", "Begun"}


def test_a_member_sees_open_projects_and_may_do_nothing_to_them() -> None:
    member = project_staff("member")
    open_one = scenario.project(CHOICE, name="Open one")
    project("A draft")

    page = member.client.get(LIST)

    assert names(page) == ["Open one"]
    assert "New project" not in page.content.decode()
    assert not page.context["page"].listing.actions
    for act in ("close", "clone", "delete"):
        assert member.client.get(f"{LIST}{act}/?id={open_one.pk}").status_code == 404
    assert member.client.post(f"{LIST}restore/", {"id": open_one.pk}).status_code == 302
    assert member.client.get(f"{LIST}add/").status_code == 404
    assert member.client.get(tab(open_one.pk, "open")).status_code == 404


def test_figures_of_anonymous_projects_of_others_change_in_steps() -> None:
    creator = project_staff("creator")
    made = scenario.project(CHOICE, name="Secret", privacy_mode="anonymous")
    for _ in range(4):
        scenario.say(scenario.begin(made), 0)

    row = cells(creator.client.get(LIST))

    assert (row["Responses"], row["Completed"], row["Last answer"]) == ("0 completed", "–", "–")


@pytest.mark.parametrize("access", ["admin", "member"])
def test_another_communitys_projects_are_nowhere(access: str) -> None:
    staff = project_staff(access)
    foreign = scenario.project(CHOICE, name="Foreign", community=scenario.community(2))

    assert names(staff.client.get(LIST)) == []
    assert names(staff.client.get(LIST, {"q": "foreign"})) == []
    for name in ("open", "script", "delivery", "look", "rewards", "share"):
        assert staff.client.get(tab(foreign.pk, name)).status_code == 404
        assert staff.client.post(tab(foreign.pk, name), {}).status_code == (405 if name == "script" else 404)
    for act in ("close", "clone", "delete"):
        assert staff.client.get(f"{LIST}{act}/?id={foreign.pk}").status_code == 404
        assert staff.client.post(f"{LIST}{act}/?id={foreign.pk}").status_code == 404
    assert Project.objects.get(pk=foreign.pk).status == "active"


def test_projects_of_two_communities_are_never_mixed() -> None:
    staff = project_staff()
    own = project("Own")
    foreign = project("Foreign", community=scenario.community(2))

    page = staff.read(f"{LIST}delete/?id={own.pk}&id={foreign.pk}")

    assert "Own" in page
    assert "Foreign" not in page


# --- Selected projects --------------------------------------------------------------------------------


def test_closing_asks_and_leaves_out_what_is_not_open() -> None:
    staff = project_staff()
    open_one, draft = scenario.project(CHOICE, name="Open one"), project("Draft one")
    address = f"{LIST}close/?id={open_one.pk}&id={draft.pk}"

    asked = staff.read(address)
    done = staff.client.post(address, follow=True)

    assert "Nobody can answer any more" in asked
    assert "It is not open." in asked
    assert "“Open one” is closed." in done.content.decode()
    assert Project.objects.get(pk=open_one.pk).status == "inactive"


def test_a_creator_acts_on_their_own_projects_alone() -> None:
    creator = project_staff("creator")
    own = project("Own", status="active", author=creator.user)
    other = project("Other", status="active")
    address = f"{LIST}close/?id={own.pk}&id={other.pk}"

    asked = creator.read(address)
    creator.client.post(address)

    assert "Only its creator and admins may do this." in asked
    assert Project.objects.get(pk=own.pk).status == "inactive"
    assert Project.objects.get(pk=other.pk).status == "active"


def test_cloning_one_leads_into_the_copy() -> None:
    creator = project_staff("creator")
    other = scenario.project(CHOICE, name="Other")

    done = creator.client.post(f"{LIST}clone/?id={other.pk}")

    copy = Project.objects.get(name="Copy of Other")
    assert (copy.author, copy.status) == (creator.user, "inactive")
    assert done["Location"] == tab(copy.pk, "script")


def test_deleting_can_be_undone() -> None:
    staff = project_staff()
    made = scenario.project(CHOICE, name="Gone?", status="inactive")
    address = f"{LIST}delete/?id={made.pk}"

    asked = staff.read(address)
    deleted = staff.client.post(address, follow=True)
    restored = staff.client.post(f"{LIST}restore/", {"id": made.pk}, follow=True)

    assert "For ten minutes you can undo this" in asked
    assert "“Gone?” is deleted. Until" in " ".join(deleted.content.decode().split())
    assert names(deleted) == []
    assert "“Gone?” is back" in restored.content.decode()
    assert names(restored) == ["Gone?"]


def test_an_open_project_is_closed_before_it_is_deleted() -> None:
    staff = project_staff()
    made = scenario.project(CHOICE)

    asked = staff.read(f"{LIST}delete/?id={made.pk}")
    staff.client.post(f"{LIST}delete/?id={made.pk}")

    assert "It is open: close it first." in asked
    assert Project.objects.filter(pk=made.pk).exists()


def test_only_those_who_may_edit_it_may_undo() -> None:
    admin, creator = project_staff(), project_staff("creator")
    made = project("Gone?")
    admin.client.post(f"{LIST}delete/?id={made.pk}")

    page = creator.client.get(LIST)
    refused = creator.client.post(f"{LIST}restore/", {"id": made.pk}, follow=True)

    assert "Gone?" not in page.content.decode()
    assert "Only the creator of this project and admins may do this." in refused.content.decode()
    assert not Project.objects.filter(pk=made.pk).exists()


def test_nobody_undoes_what_another_community_deleted() -> None:
    staff = project_staff()
    foreign = project("Foreign", community=scenario.community(2), deleted_at=timezone.now())

    assert "Foreign" not in staff.read(LIST)
    answer = staff.client.post(f"{LIST}restore/", {"id": foreign.pk}, follow=True)
    assert "There is nothing to restore any more." in answer.content.decode()
    assert not Project.objects.filter(pk=foreign.pk).exists()


# --- New projects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("type", "query"), [("poll", "?start=question"), ("convo", "")])
def test_an_empty_poll_begins_with_its_question_and_an_empty_survey_without(type: str, query: str) -> None:
    staff = project_staff()
    sent = {"name": "Tea?", "type": type, "privacy_mode": "semi-private", "start": "empty"}

    done = staff.post("surveys_project_add", **sent)

    assert done["Location"] == tab(Project.objects.get().pk, "script") + query


@pytest.mark.parametrize("start", ["sentence", "template", "file"])
def test_a_new_project_leads_into_the_script_editor(start: str) -> None:
    """Rule 2.960."""
    creator = project_staff("creator")
    sent = {"name": "Tea?", "type": "convo", "privacy_mode": "semi-private", "start": start}

    done = creator.client.post(f"{LIST}add/", sent)

    made = Project.objects.get()
    assert done["Location"] == tab(made.pk, "script") + f"?start={start}"
    assert (made.name, made.privacy_mode, made.author) == ("Tea?", "semi-private", creator.user)


@pytest.mark.parametrize(
    ("audience", "expected"), [({}, "private"), ({"participation": "open_web"}, "open_web")]
)
def test_a_new_project_is_no_template_for_others_and_asks_who_may_answer(
    audience: dict[str, str], expected: str
) -> None:
    """Rule 2.40."""
    staff = project_staff()

    sent = {"name": "Tea?", "type": "convo", "privacy_mode": "semi-private", "start": "empty", **audience}
    staff.post("surveys_project_add", **sent)
    page = staff.read("/admin/surveys/project/add/")

    made = Project.objects.get(name="Tea?")
    assert (made.is_cloneable, made.participation) == (False, expected)
    assert "Anyone with the link" in page
    assert "Only people who have joined this community." in page
    assert (
        "checked"
        not in re.findall(r'<input[^>]*name="is_cloneable"[^>]*>', staff.read(tab(made.pk, "share")))[0]
    )
