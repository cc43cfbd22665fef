"""The forms of a project's tabs: each field is saved by its path, and refusals are shown at their fields."""

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from communities.models import Community, VerifiedSource
from surveys.models import Project
from surveys.services.ground import field_groups, lookup
from surveys.services.representations.project import project_as_json
from tests.factories import CommunitySettingsFactory, MemberFactory, VerifiedSourceFactory
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import draft, form_of, project_staff, send, send_by_turns, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def staff(kept_rows: None) -> Staff:
    admin = project_staff()
    Community.objects.update(active_project_count=9, tier="premium")
    return admin


def told(project: Project) -> dict[str, Any]:
    stored = lookup.with_details([project.pk])[project.pk]
    return project_as_json(stored, at=timezone.now())


def at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[part]
    return value


FIELDS: list[tuple[str, dict[str, tuple[Any, str, Any]]]] = [
    (
        "delivery",
        {
            "participation": ("open_web", "delivery.audience.participation", "open_web"),
            "required_role_ids": ("123\n456", "delivery.audience.required_role_ids", ["123", "456"]),
            "privacy_mode": ("semi-private", "settings.privacy_mode", "semi-private"),
            "max_completes_per_user": ("2", "settings.max_completes_per_user", 2),
            "address_fields": (
                "source\n campaign \n\nsource",
                "settings.hidden_fields",
                ["source", "campaign"],
            ),
            "message": ("Come!", "delivery.invitation.message", "Come!"),
            "border_color": ("4b4fcc", "delivery.invitation.border_color", "4b4fcc"),
            "info_display": ("embed", "delivery.invitation.embed_config.info_display", "embed"),
            "footer": ("Ours", "delivery.invitation.footer", "Ours"),
            "answer_button_color": ("3", "delivery.invitation.answer_button_color", 3),
        },
    ),
    (
        "delivery",
        {
            "address_fields": (
                "campaign: mail, poster",
                "settings.hidden_fields",
                {"campaign": ["mail", "poster"]},
            )
        },
    ),
    ("rename", {"name": ("New", "name", "New")}),
    (
        "look",
        {
            "name": ("Newer", "name", "Newer"),
            "theme_id": ("5", "presentation.theme_id", 5),
            "interviewer_id": ("2", "presentation.interviewer_id", 2),
            "branding": ("Us", "presentation.branding", "Us"),
            "chart_emoji": ("♞", "presentation.chart_emoji", "♞"),
        },
    ),
    (
        "rewards",
        {
            "use_xp": ("on", "rewards.use_xp", True),
            "achievement_name": ("Knight", "rewards.achievement_name", "Knight"),
            "discord_role_id": ("99", "rewards.discord_role_id", "99"),
        },
    ),
    ("rewards", {"achievement_enabled": ("on", "rewards.achievement_enabled", True)}),
    ("rewards", {"scoring_enabled": ("on", "scoring.enabled", True)}),
    ("share", {"share_results": ("on", "settings.share_results", True)}),
    (
        "share",
        {
            "reveal_results": ("on", "settings.reveal_results", True),
            "is_cloneable": (None, "info.is_cloneable", False),
        },
    ),
]


@pytest.mark.parametrize(("name", "fields"), FIELDS)
def test_fields_are_written_where_the_contract_has_them(
    staff: Staff, name: str, fields: dict[str, tuple[Any, str, Any]]
) -> None:
    project = draft()
    before = switches(told(project))

    done = send(staff, project, name, **{field: sent for field, (sent, _, _) in fields.items()})

    assert done.status_code == 302, done.context["form"].errors
    after = told(project)
    assert {path: at(after, path) for _, path, _ in fields.values()} == {
        path: stored for _, path, stored in fields.values()
    }
    changed = {path for path, is_on in before.items() if at(after, path) != is_on}
    assert changed == {path for _, path, _ in fields.values() if path in before}


def switches(told: dict[str, Any]) -> dict[str, bool]:
    """What is on or off, by its path: these fields could be mistaken for one another."""
    found = {}
    for name, value in told.items():
        if isinstance(value, bool):
            found[name] = value
        elif isinstance(value, dict):
            found |= {f"{name}.{path}": is_on for path, is_on in switches(value).items()}
    return found


def test_verified_sources_are_chosen_and_removed_ones_stay_until_they_are_unchosen(staff: Staff) -> None:
    project = draft()
    first, second = (VerifiedSourceFactory.create(community=staff.community) for _ in range(2))
    chosen = [str(first.pk), str(second.pk)]

    send(staff, project, "delivery", verified_source_ids=chosen)
    VerifiedSource.objects.filter(pk=second.pk).update(removed_at=timezone.now())
    send(staff, project, "delivery", message="Come!")
    kept = at(told(project), "delivery.audience.verified_source_ids")
    send(staff, project, "delivery", verified_source_ids=chosen[:1])

    assert kept == [first.pk, second.pk]
    assert at(told(project), "delivery.audience.verified_source_ids") == [first.pk]


def test_what_is_wrong_is_said_at_the_field_and_nothing_typed_is_lost(staff: Staff) -> None:
    project = draft()
    before = told(project)
    wrong: list[tuple[str, dict[str, Any], str, str]] = [
        ("delivery", {"border_color": "red"}, "border_color", "Colour"),
        (
            "delivery",
            {"opening_mode": "scheduled"},
            "opening_time",
            "Opening time is required where “Opens” is “At a time”.",
        ),
        (
            "delivery",
            {"closing_mode": "scheduled", "closing_time": "2020-01-01T10:00"},
            "closing_time",
            "Closing time must lie in the future.",
        ),
        ("delivery", {"verified_source_ids": ["7"]}, "verified_source_ids", "not one of the available"),
        ("look", {"chart_emoji": "♞♞"}, "chart_emoji", "Sign of a bar must be one visible character."),
        ("rewards", {"buckets": "A\na"}, "buckets", "Buckets must have"),
    ]

    pages = send_by_turns(staff, project, ((name, changes) for name, changes, _, _ in wrong))

    for (_, changes, field, words), page in zip(wrong, pages, strict=True):
        form = page.context["form"]
        assert page.status_code == 200, changes
        assert words in str(form.errors[field]), form.errors
        assert "`" not in str(form.errors), changes
        assert {key: form[key].value() for key in changes} == changes
    assert told(project) == before


def test_two_people_who_change_different_fields_keep_both(staff: Staff) -> None:
    project = draft()
    address = tab(project.pk, "look")
    first, second = form_of(staff.client.get(address)), form_of(staff.client.get(address))

    staff.client.post(address, {**first, "theme_id": "4"})
    staff.client.post(address, {**second, "branding": "Us"})

    presentation = told(project)["presentation"]
    assert (presentation["theme_id"], presentation["branding"]) == (4, "Us")


def test_privacy_does_not_change_once_there_are_responses(staff: Staff) -> None:
    project = scenario.project(CHOICE, TEXT)
    scenario.say(scenario.begin(project, "a"), 0)

    page = send(staff, project, "delivery", privacy_mode="anonymous")

    assert "cannot change once there are responses" in page.content.decode()
    assert told(project)["settings"]["privacy_mode"] == "transparent"


def test_premium_fields_are_locked_on_the_basic_tier_and_say_so(staff: Staff) -> None:
    Community.objects.update(tier="basic")
    project = draft()
    address = tab(project.pk, "delivery")

    page = staff.read(address)
    staff.client.post(address, {**form_of(staff.client.get(address)), "footer": "Ours", "message": "Come!"})

    invitation = told(project)["delivery"]["invitation"]
    assert "this community is on the basic tier" in page
    assert (invitation["footer"], invitation["message"]) == (None, "Come!")


def test_times_are_read_in_the_communitys_zone(staff: Staff) -> None:
    CommunitySettingsFactory.create(community=staff.community, time_zone="America/New_York")
    project = draft()

    send(staff, project, "delivery", closing_mode="scheduled", closing_time="2099-07-01T12:00")

    assert told(project)["delivery"]["closing"]["time"] == "2099-07-01T16:00:00Z"
    assert "2099-07-01T12:00" in staff.read(tab(project.pk, "delivery"))
    assert "America/New_York" in staff.read(tab(project.pk, "delivery"))


def test_times_are_read_in_the_projects_zone_though_a_page_of_another_community_was_opened_since(
    staff: Staff,
) -> None:
    CommunitySettingsFactory.create(community=staff.community, time_zone="America/New_York")
    other = MemberFactory.create(user=staff.user, access="admin").community
    CommunitySettingsFactory.create(community=other, time_zone="Asia/Tokyo")
    project = draft()
    form = form_of(staff.client.get(tab(project.pk, "delivery")))
    staff.client.get(reverse("admin:communities_communitysettings_change", args=[other.pk]))

    sent = {**form, "closing_mode": "scheduled", "closing_time": "2099-07-01T12:00"}
    staff.client.post(tab(project.pk, "delivery"), sent)

    assert told(project)["delivery"]["closing"]["time"] == "2099-07-01T16:00:00Z"


@pytest.mark.parametrize("name", ["delivery", "look", "rewards", "share"])
def test_a_creator_reads_the_settings_of_others_and_writes_none(staff: Staff, name: str) -> None:
    creator = project_staff("creator")
    project = draft()
    creator.given("read", project.pk)

    page = creator.read(tab(project.pk, name))

    assert "Only its creator and admins may change this." in page
    assert 'type="submit" class="button">Save' not in page
    assert creator.client.post(tab(project.pk, name), {}).status_code == 403
    assert creator.client.post(tab(project.pk, "share_new_address"), {}).status_code == 403


def test_a_new_address_of_the_results_replaces_the_old_one(staff: Staff) -> None:
    project = scenario.project(CHOICE, share_results=True)
    old = f"/r/{project.results_token}"

    asked = staff.read(tab(project.pk, "share_new_address"))
    staff.client.post(tab(project.pk, "share_new_address"))

    new = Project.objects.get(pk=project.pk).results_token
    assert old in asked
    assert staff.client.get(old).status_code == 404
    assert staff.client.get(f"/r/{new}").status_code == 200


def test_the_preview_shows_what_is_chosen_and_only_our_pages_may_frame_it(staff: Staff) -> None:
    project = scenario.project(CHOICE, name="Tea?")

    response = staff.client.get(tab(project.pk, "look_preview"), {"theme_id": "4", "branding": "<b>Us"})

    page = response.content.decode()
    assert 'data-theme="4"' in page
    assert "&lt;b&gt;Us" in page
    assert "Prompt 0." in page
    assert "frame-ancestors 'self'" in response["Content-Security-Policy"]


def test_the_page_of_a_community_shows_a_question_in_its_brand_and_in_the_chosen_one(staff: Staff) -> None:
    """Rule 6.197."""
    CommunitySettingsFactory.create(community=staff.community, accent_color="8a0f0f", corners="square")
    own = f"/admin/communities/communitysettings/{staff.community.pk}/change/"
    address = f"/admin/surveys/project/look-of-community/{staff.community.pk}/"

    kept = staff.read(address)
    chosen = staff.read(f"{address}?accent_color=%230f5a0f&corners=")
    noted = staff.client.get(f"{address}?accent_color=ffff00&notes").json()["notes"]

    assert f'data-look-preview="{address}"' in staff.read(own)
    assert "/brands/8a0f0f.-.-.square.-.css" in kept
    assert "What brings you here?" in kept
    assert "/brands/0f5a0f.-.-.-.-.css" in chosen
    assert noted[0] == "#ffff00 is too light for this page; #888819 is used."


@pytest.mark.parametrize(
    ("zone", "changes"),
    [
        ("Asia/Tokyo", {"opening_mode": "scheduled", "opening_time": "0001-01-01T00:00"}),
        ("America/New_York", {"closing_mode": "scheduled", "closing_time": "9999-12-31T23:59"}),
        ("UTC", {"verified_source_ids": ["9" * 5000]}),
    ],
)
def test_what_no_calendar_and_no_database_holds_is_refused_at_its_field(
    staff: Staff, zone: str, changes: dict[str, str]
) -> None:
    CommunitySettingsFactory.create(community=staff.community, time_zone=zone)
    project = draft()

    refused = send(staff, project, "delivery", **changes)

    assert refused.status_code < 500
    assert list(refused.context["form"].errors) == [list(changes)[-1]]
    assert told(project)["delivery"] is None


def test_saving_another_field_keeps_the_seconds_of_a_time(staff: Staff) -> None:
    project = draft()
    opening = {"mode": "scheduled", "time": "2999-01-31T09:30:15Z"}
    delivery = {**field_groups.empty("delivery"), "opening": opening}
    Project.objects.filter(pk=project.pk).update(delivery=delivery)

    send(staff, project, "delivery", message="Come!")

    assert told(project)["delivery"]["opening"] == opening
    assert told(project)["delivery"]["invitation"]["message"] == "Come!"


def test_values_from_the_address_are_shown_as_they_were_written_and_faults_stand_at_them(
    staff: Staff,
) -> None:
    made = draft(privacy_mode="anonymous", hidden_fields={"campaign": ["mail", "poster"]})

    assert form_of(staff.client.get(tab(made.pk, "delivery")))["address_fields"] == "campaign: mail, poster"
    for wrong, message in (
        ("campaign", "Write them behind a colon, such as campaign: mail, poster."),
        ("Campaign: mail", "“Campaign” cannot be a name: use up to 40 small letters (a to z), digits and _."),
        ("a: ", "“a” has no values. Write them behind a colon, such as a: mail, poster."),
        ("a: 1,2,3,4,5,6,7\nb: 1,2,3,4,5,6,7\nc: 1,2,3,4,5,6,7", "at most 500 combinations"),
    ):
        page = send(staff, made, "delivery", address_fields=wrong).content.decode()
        assert message in page
        assert f">\n{wrong}" in page or f">{wrong}" in page
    assert told(made)["settings"]["hidden_fields"] == {"campaign": ["mail", "poster"]}


def test_graded_answers_stay_unless_the_author_lets_them_be_changed(staff: Staff) -> None:
    quiz, survey = draft(scoring_enabled=True), draft()

    assert form_of(staff.client.get(tab(quiz.pk, "delivery")))["lock_graded_answers"] == "on"
    assert "lock_graded_answers" not in form_of(staff.client.get(tab(survey.pk, "delivery")))
    send(staff, quiz, "delivery", lock_graded_answers=None)
    send(staff, survey, "delivery", message="Come!")

    assert told(quiz)["settings"]["lock_graded_answers"] is False
    assert told(survey)["settings"]["lock_graded_answers"] is True
