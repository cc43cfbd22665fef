"""Opening a project, now or at a time: the page before it, and the obstacles."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.models import Community
from surveys.models import Project
from tests.support.staff import Staff, text_of
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, draft, project_staff, send, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def staff(kept_rows: None) -> Staff:
    admin = project_staff()
    Community.objects.update(active_project_count=9, tier="premium")
    return admin


def test_opening_now_lets_members_answer_unless_another_audience_is_chosen(staff: Staff) -> None:
    project, other = draft(), draft()

    done = send(staff, project, "open")
    send(staff, other, "open", participation="open_web")

    stored = Project.objects.get(pk=project.pk)
    assert done["Location"] == tab(project.pk, "share")
    assert (stored.status, stored.participation) == ("active", "private")
    assert Project.objects.get(pk=other.pk).participation == "open_web"
    assert stored.opened_at is not None


def test_what_the_script_warns_of_is_said_before_opening_and_does_not_hinder_it(staff: Staff) -> None:
    made = scenario.project({**CHOICE, "name": "colour"}, {**TEXT, "prompt": "[coluor]?"}, status="inactive")
    Project.objects.filter(pk=made.pk).update(delivery=None)

    page = staff.read(tab(made.pk, "open"))

    assert "Did you mean [colour]?" in page
    assert "It cannot open yet." not in page
    send(staff, made, "open")
    assert Project.objects.get(pk=made.pk).status == "active"


def test_a_time_to_come_is_said_before_opening_and_a_past_one_is_not(staff: Staff) -> None:
    project = draft()
    send(
        staff,
        project,
        "delivery",
        opening_mode="scheduled",
        opening_time="2099-07-01T12:00",
        closing_mode="scheduled",
        closing_time="2099-08-01T12:00",
    )
    page = text_of(staff.client.get(tab(project.pk, "open")))
    assert "It opens by itself on 1 Jul 2099, 12:00 UTC , unless you change this below." in page
    assert "It closes by itself on 1 Aug 2099, 12:00 UTC , unless you change this below." in page
    assert "Times are in the community’s time zone, UTC." in page
    assert "is over" not in staff.read(tab(project.pk, "delivery"))

    stored = Project.objects.get(pk=project.pk)
    stored.delivery["opening"]["time"] = "2020-07-01T12:00:00Z"
    Project.objects.filter(pk=project.pk).update(delivery=stored.delivery)

    page = text_of(staff.client.get(tab(project.pk, "open")))
    assert "It opens by itself on" not in page
    assert "The opening time, 1 Jul 2020, 12:00 UTC , is over: it opens at once" in page
    assert "The opening time is over, and will not apply." in staff.read(tab(project.pk, "delivery"))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"type": "poll"}, "When do voters see how others voted?"),
        ({"type": "poll", "poll_results_mode": "hidden"}, "The poll shows its totals once it is closed. You"),
        ({"share_results": True}, "Its totals are shared: members, and everybody with the address"),
        ({"privacy_mode": "anonymous"}, "Only the authors and the community’s admins see its results"),
    ],
)
def test_who_sees_the_results_is_said_before_opening(
    staff: Staff, fields: dict[str, Any], sentence: str
) -> None:
    project = draft(**fields)

    assert sentence in staff.read(tab(project.pk, "open"))


def test_the_channel_of_the_chat_is_asked_for_only_where_it_is_used(staff: Staff) -> None:
    """A channel typed before the choice of “On the web” is not saved, because its field is hidden then."""
    project, posted = draft(), draft()
    send(staff, posted, "delivery", post_channel_id="77")

    pages = [staff.read(tab(each.pk, "open")) for each in (project, posted)]
    send(staff, project, "open", response_channel="web", post_channel_id="78")

    assert ["for-chat-alone" in page for page in pages] == [True, False]
    project.refresh_from_db()
    assert project.status == "active"
    assert "78" not in str(project.delivery)


def test_opening_at_a_time(staff: Staff) -> None:
    project = draft()
    later = (timezone.now() + timedelta(days=2)).astimezone(UTC)

    send(staff, project, "open", opening_mode="scheduled", opening_time=f"{later:%Y-%m-%dT%H:%M}")

    stored = Project.objects.get(pk=project.pk)
    assert stored.status == "inactive"
    assert stored.opens_at == later.replace(second=0, microsecond=0)


def test_an_opening_in_the_past_is_refused_at_its_field(staff: Staff) -> None:
    page = send(staff, draft(), "open", opening_mode="scheduled", opening_time="2020-01-01T10:00")

    assert "Opening time must lie in the future." in str(page.context["form"].errors["opening_time"])


def test_an_empty_script_hinders_and_leads_to_the_editor(staff: Staff) -> None:
    project = scenario.project(status="inactive", delivery=None)

    page = staff.client.get(tab(project.pk, "open"))

    assert "A project needs at least one question before it opens." in page.content.decode()
    assert f'href="{tab(project.pk, "script")}"' in page.content.decode()
    assert not page.context["is_possible"]


def test_what_the_intent_wishes_and_the_project_does_not_have_is_a_warning(staff: Staff) -> None:
    """Rule 10.48."""
    project = draft()
    project.generation = {"status": "completed", "unmet": ["The closing time (Friday) is set later."]}
    project.save(update_fields=["generation"])

    page = staff.client.get(tab(project.pk, "open"))

    warned = [each.text for each in page.context["hindrances"] if each.is_warning]
    assert "The closing time (Friday) is set later." in warned
    assert page.context["is_possible"]


def test_a_script_that_only_the_editor_has_is_to_be_saved_first(staff: Staff) -> None:
    project = scenario.project(status="inactive", delivery=None)
    body = {"blocks": [{"type": "open_text", "prompt": "Why?"}], "revision": project.revision}
    staff.client.put(tab(project.pk, "script_draft"), body, content_type="application/json")

    page = staff.client.get(tab(project.pk, "open"))

    assert [each.text for each in page.context["hindrances"]] == [
        "Your script is in the editor, but it is not saved yet. Save it first."
    ]
    assert "Its saved script has no question yet." in page.context["facts"][0]


def test_no_tab_counts_questions_that_the_saved_script_does_not_have(staff: Staff) -> None:
    project = scenario.project(status="inactive", delivery=None)
    tabs = ["open", "delivery", "results", "share", "script"]

    pages = [staff.read(tab(project.pk, name)) for name in tabs]

    assert [name for name, page in zip(tabs, pages, strict=True) if "0 question" in page] == []


def test_the_header_tells_the_state_and_offers_what_follows_from_it(staff: Staff) -> None:
    opened = timezone.now() - timedelta(days=3)
    project = scenario.project(CHOICE, TEXT, opened_at=opened)
    scenario.say(scenario.begin(project, "a"), 0, "x")
    scenario.say(scenario.begin(project, "b"), 0)

    open_page = staff.read(tab(project.pk, "delivery"))
    draft_page = staff.read(tab(draft().pk, "delivery"))

    assert "Open for 3\xa0days" in open_page
    assert "2 responses" in open_page
    assert "50% complete" in open_page
    assert f"{LIST}close/?id={project.pk}&from=project" in open_page
    assert "A new closing time applies as soon as it is saved" in open_page
    assert ">Open</a>" in draft_page
    assert "once you open the project with the button above" in draft_page
    assert "0 responses" not in draft_page
    assert "Draft" in draft_page


def test_a_scheduled_opening_shows_its_time_and_can_be_cancelled(staff: Staff) -> None:
    soon = datetime.now(UTC) + timedelta(hours=2)
    project = draft(opens_at=soon)

    page = staff.read(tab(project.pk, "share"))

    assert "Opens later" in page
    assert "Cancel opening" in page

    asking = staff.read(f"/admin/surveys/project/close/?id={project.pk}&from=project")
    assert "Cancel the opening of" in asking
    assert "Nobody can answer any more" not in asking
