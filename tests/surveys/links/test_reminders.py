"""Planned reminders: planned, cancelled, sent once at their time, and failed with a reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from communities.ground.errors import Conflict, Forbidden, InvalidRequest, NotFound
from communities.models import AuditEntry, Mail, Member
from surveys.admin import jobs
from surveys.models import Project, Reminder
from surveys.services.links import mailing, reminders, service
from surveys.services.links.mailing import Choice, Who
from surveys.services.people import service as people
from surveys.services.people.merging import merge_users
from tests.factories import MemberFactory
from tests.support.caller import TEXT, Caller
from tests.support.mails import confirm, written
from tests.support.moments import NOON
from tests.support.staff import Staff, text_of

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
WORDS = {"subject": "Once more", "text": "Hello [name], [title] waits."}


class Scene:
    """An open project of a creator, with two members who were mailed; one of them has begun."""

    def __init__(self) -> None:
        self.boss = Caller()
        self.author = self.boss.beside("creator")
        made = self.author.make_open(TEXT, privacy_mode="semi-private")
        self.project = Project.objects.get(pk=made["id"])
        self.members = [
            MemberFactory.create(community=self.boss.community, email=f"{name}@example.org")
            for name in ("begun", "silent")
        ]
        choice = Choice(Who.ALL)
        mailing.send(
            actor=self.author.actor, project_id=self.project.pk, choice=choice, subject="S", text="T", at=NOON
        )
        self.boss.post(f"/projects/{made['id']}/conversations", {"member_id": str(self.members[0].pk)})
        self.mails = Mail.objects.count()

    def invite(self, *names: str) -> None:
        """Mail a link to more members."""
        for name in names:
            MemberFactory.create(community=self.boss.community, email=f"{name}@example.org")
        actor, choice = self.author.actor, Choice(Who.WITHOUT_LINK)
        mailing.send(actor=actor, project_id=self.project.pk, choice=choice, subject="S", text="T", at=NOON)
        self.mails = Mail.objects.count()

    def plan(self, after: timedelta = DAY, **changes: Any) -> Reminder:
        values = {
            "actor": self.author.actor,
            "project_id": self.project.pk,
            "at": NOON,
            **WORDS,
        }
        return reminders.plan(**{**values, **changes}, due_at=NOON + after)

    @property
    def new_mails(self) -> int:
        return Mail.objects.count() - self.mails


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_reminder_goes_once_at_its_time_to_those_who_have_not_begun(scene: Scene) -> None:
    """Rule 12.206."""
    reminder = scene.plan()

    counts = [
        (reminders.send_due(at=at), scene.new_mails)
        for at in (NOON, NOON + DAY, NOON + DAY + timedelta(hours=1))
    ]

    reminder.refresh_from_db()
    assert counts == [(0, 0), (1, 1), (0, 1)]
    assert (reminder.mails, reminder.error, reminder.ended_at) == (1, "", NOON + DAY)
    entry = AuditEntry.objects.get(action="link.mailed", after__reminder=True)
    assert entry.actor_id == scene.author.user.pk


def test_at_most_three_wait_and_each_has_a_time_to_come(scene: Scene) -> None:
    """Rule 12.206."""
    for days in (1, 2, 3):
        scene.plan(days * DAY)

    with pytest.raises(Conflict, match="At most 3"):
        scene.plan(4 * DAY)
    reminders.cancel(
        actor=scene.author.actor,
        project_id=scene.project.pk,
        reminder_id=reminders.waiting(project=scene.project)[0].pk,
        at=NOON,
    )
    scene.plan(4 * DAY)
    for after in (timedelta(0), 366 * DAY):
        with pytest.raises(InvalidRequest, match="future"):
            scene.plan(after)


def test_only_owners_plan_and_cancel(scene: Scene) -> None:
    reminder = scene.plan()
    others = {"creator": Forbidden, "foreign": NotFound}

    for who, refusal in others.items():
        actor = Caller().actor if who == "foreign" else scene.boss.beside("creator").actor
        with pytest.raises(refusal):
            scene.plan(actor=actor)
        with pytest.raises(refusal):
            reminders.cancel(actor=actor, project_id=scene.project.pk, reminder_id=reminder.pk, at=NOON)


@pytest.mark.parametrize("change", ["closed", "demoted", "left", "deactivated"])
def test_a_reminder_that_cannot_be_sent_says_why(scene: Scene, change: str) -> None:
    """Rule 12.206."""
    reminder = scene.plan()
    member = Member.objects.filter(user=scene.author.user)
    match change:
        case "closed":
            scene.author.post(f"/projects/{scene.project.pk}/close")
        case "demoted":
            member.update(access="member")
        case "left":
            member.update(left_at=NOON)
        case "deactivated":
            type(scene.author.user).objects.filter(pk=scene.author.user.pk).update(is_active=False)

    reminders.send_due(at=NOON + DAY)

    reminder.refresh_from_db()
    reason = "Open the project" if change == "closed" else "may not send it any more"
    assert reason in reminder.error
    assert (reminder.ended_at, scene.new_mails) == (NOON + DAY, 0)


def test_those_for_whom_one_sending_has_no_place_are_reminded_by_the_next_run(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.206."""
    scene.invite("third", "fourth")
    monkeypatch.setattr(service, "MOST_AT_ONCE", 2)
    reminder = scene.plan()
    seen = []

    for minutes in range(3):
        ended = reminders.send_due(at=NOON + DAY + timedelta(minutes=minutes))
        reminder.refresh_from_db()
        seen.append((ended, reminder.mails, reminder.ended_at is not None, scene.new_mails))

    assert seen == [(0, 2, False, 2), (1, 3, True, 3), (0, 3, True, 3)]
    assert reminder.error == ""
    reminded = Mail.objects.filter(created_at__gt=NOON).values_list("address_hash", flat=True)
    assert len(set(reminded)) == len(reminded) == 3


def test_those_left_out_by_the_sum_of_today_are_counted_and_failed_work(
    scene: Scene, settings: Settings
) -> None:
    """Rule 12.206."""
    scene.invite("third", "fourth")
    sent_today = scene.mails
    settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY = 1
    reminder = scene.plan()

    reminders.send_due(at=NOON + DAY)

    reminder.refresh_from_db()
    assert (reminder.mails, reminder.ended_at) == (1, NOON + DAY)
    assert reminder.error.startswith("2 more got none, because")
    failed = jobs.failed_reminders(scene.boss.community.pk, NOON)
    assert [each.reason for each in failed] == [reminder.error]
    staff = Staff(community=scene.boss.community)
    page = text_of(staff.client.get(f"/admin/surveys/project/{scene.project.pk}/share/links/"))
    assert "1 sent. 2 more got none" in page
    assert sent_today == 4


def test_the_page_plans_cancels_and_names_faults(scene: Scene) -> None:
    staff = Staff(community=scene.boss.community)
    address = f"/admin/surveys/project/{scene.project.pk}/share/links/"

    faulty = staff.client.post(address, {"due_at": "2001-01-01T10:00", **WORDS})
    staff.client.post(address, {"due_at": "2099-01-01T10:00", **WORDS})
    too_late = Reminder.objects.count()
    Reminder.objects.create(project=scene.project, planned_by=staff.user, due_at=NOON + 900 * DAY)
    staff.client.post(address, {"cancel": Reminder.objects.get().pk})

    assert faulty.status_code == 422
    assert "Choose a time in the future, within a year." in text_of(faulty)
    assert (too_late, Reminder.objects.count()) == (0, 0)


def test_a_reminder_has_its_planners_text_for_confirmed_addresses(scene: Scene) -> None:
    """Rule 12.520."""
    scene.invite("third")
    silent = scene.members[1]
    confirm(silent)
    reminder = scene.plan()

    reminders.send_due(at=NOON + DAY)

    own, fixed = (written(f"{name}@example.org")[-1] for name in ("silent", "third"))
    assert own["subject"] == "Once more"
    assert f"{scene.project.name} waits." in own["text"]
    assert fixed["subject"] == f"Reminder of {scene.boss.community.name}"
    assert "waits" not in fixed["text"]
    reminder.refresh_from_db()
    assert reminder.mails == 2


def test_a_reminder_that_was_planned_without_a_text_has_the_suggested_one(scene: Scene) -> None:
    """Rule 12.520."""
    confirm(scene.members[1])
    Reminder.objects.create(project=scene.project, planned_by=scene.author.user, due_at=NOON + DAY)

    reminders.send_due(at=NOON + DAY)

    assert written("silent@example.org")[-1]["subject"] == f"Reminder: {scene.project.name}"


@pytest.mark.parametrize("name", ["subject", "text"])
def test_a_reminder_needs_a_subject_and_a_text(scene: Scene, name: str) -> None:
    """Rule 12.520."""
    blank: dict[str, Any] = {name: " "}

    with pytest.raises(InvalidRequest, match=f"Write a {name}."):
        scene.plan(**blank)

    assert not Reminder.objects.exists()


def test_the_page_suggests_a_text_and_shows_what_is_planned(scene: Scene) -> None:
    """Rule 12.520."""
    staff = Staff(community=scene.boss.community)
    address = f"/admin/surveys/project/{scene.project.pk}/share/links/"
    due_at = (timezone.now() + DAY).strftime("%Y-%m-%dT%H:%M")

    suggested = staff.client.get(address).content.decode()
    blank = staff.client.post(address, {"due_at": due_at, "subject": "Once more", "text": ""})
    planned = staff.client.post(address, {"due_at": due_at, **WORDS})

    assert 'value="Reminder: [title]"' in suggested
    assert (blank.status_code, planned.status_code) == (422, 303)
    assert Reminder.objects.values_list("subject", "text").get() == tuple(WORDS.values())
    assert "Once more Hello [name], [title] waits." in text_of(staff.client.get(address))


def test_reminders_of_a_person_go_with_them_and_are_merged(scene: Scene) -> None:
    other = scene.boss.beside("admin")
    scene.plan()
    scene.plan(2 * DAY, actor=other.actor)

    merge_users(keep_id=scene.boss.user.pk, drop_id=other.user.pk, at=NOON)
    planners = set(Reminder.objects.values_list("planned_by_id", flat=True))
    author = Member.objects.get(user=scene.author.user)
    people.erase(actor=scene.boss.actor, member_id=author.pk, at=NOON)

    assert planners == {scene.author.user.pk, scene.boss.user.pk}
    assert list(Reminder.objects.values_list("planned_by_id", flat=True)) == [scene.boss.user.pk]
