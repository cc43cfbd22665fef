"""Deletion with undo: hidden everywhere at once, restorable for ten minutes, then deleted with its events."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from communities.ground.errors import Conflict, Forbidden, NotFound
from communities.models import Community, Member
from surveys.models import Analysis, Answer, Completion, Conversation, DeletedResponse, Project
from surveys.services.ai_work.analysis import worker
from surveys.services.conversations import service as conversations
from surveys.services.ground import jobs, lookup
from surveys.services.people import service as people
from surveys.services.projects import cloning, removal, schedule
from surveys.services.responses import changes
from surveys.services.results import shared
from tests.support import caller as api
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import tab
from webhooks.models import Event

pytestmark = pytest.mark.django_db
TEN_MINUTES = timedelta(minutes=10)


def deleted(caller: Caller, **fields: Any) -> Project:
    """A project with a response, which was open to the web, closed and then deleted for now."""
    made = caller.make_open(api.TEXT, delivery={"audience": {"participation": "open_web"}}, **fields)
    project = Project.objects.get(pk=made["id"])
    scenario.say(scenario.begin(project, at=timezone.now()), "Because", at=timezone.now())
    caller.post(f"/projects/{project.pk}/close")
    return removal.delete_for_now(actor=caller.actor, project_id=project.pk, at=timezone.now())


def end_of(project: Project) -> datetime:
    """When a deleted project can no longer be restored."""
    assert project.deleted_at is not None
    return project.deleted_at + TEN_MINUTES


def test_it_is_hidden_at_every_door_of_the_api() -> None:
    caller = Caller()
    project = deleted(caller)
    conversation = Conversation.objects.get()
    own = f"/projects/{project.pk}"

    answers = [
        caller.get(own),
        caller.patch(own, {"name": "New"}),
        caller.delete(own),
        caller.post(f"{own}/open"),
        caller.post(f"{own}/close"),
        caller.post(f"{own}/clone"),
        caller.get(f"{own}/script"),
        caller.put(f"{own}/script", {"blocks": []}),
        caller.get(f"{own}/responses"),
        caller.get(f"/responses/{conversation.pk}"),
        caller.delete(f"/responses/{conversation.pk}"),
        caller.get(f"{own}/responses/export"),
        caller.get(f"{own}/analysis/results"),
        caller.get(f"{own}/analysis"),
        caller.post(f"{own}/analysis"),
        caller.post(f"{own}/conversations"),
        caller.get(f"/conversations/{conversation.pk}"),
        caller.post(f"/conversations/{conversation.pk}/back"),
    ]

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert caller.get("/projects").json()["data"] == []
    assert caller.get("/projects").json()["pagination"]["total"] == 0


def test_its_pages_are_not_found() -> None:
    caller = Caller()
    project = deleted(caller, settings={"share_results": True})
    client = Client()
    admin = Staff(community=caller.community)

    assert client.get(f"/s/{project.slug}").status_code == 404
    assert client.post(f"/s/{project.slug}", {}).status_code == 404
    assert client.get(f"/r/{project.results_token}").status_code == 404
    assert client.get(f"/r/{project.results_token}.json").status_code == 404
    for name in ("script", "delivery", "look", "rewards", "results", "responses", "share", "history", "open"):
        assert admin.client.get(tab(project.pk, name)).status_code == 404
    assert project.name not in admin.read("/admin/")


def test_no_service_reads_it() -> None:
    caller = Caller()
    project = deleted(caller)
    conversation = Conversation.objects.get()
    at = timezone.now()

    with pytest.raises(NotFound):
        lookup.get(community_id=caller.community.pk, project_id=project.pk)
    with pytest.raises(NotFound):
        cloning.clone_project(actor=caller.actor, project_id=project.pk, at=at)
    with pytest.raises(NotFound):
        shared.find(token=project.results_token)
    with pytest.raises(NotFound):
        conversations.get(conversation_id=conversation.pk, at=at)


def test_its_times_do_not_open_it() -> None:
    caller = Caller()
    soon = timezone.now() + timedelta(hours=1)
    made = caller.make(api.TEXT)
    opening = {"mode": "scheduled", "time": soon.isoformat()}
    caller.post(f"/projects/{made['id']}/open", {"delivery": {"opening": opening}})
    removal.delete_for_now(actor=caller.actor, project_id=int(made["id"]), at=timezone.now())

    changed = schedule.open_and_close_due(at=soon)
    removal.restore(actor=caller.actor, project_id=int(made["id"]), at=timezone.now())

    project = Project.objects.get()
    assert changed == 0
    assert (project.status, project.opens_at) == ("inactive", None)
    assert Community.objects.get().active_project_count == 0


def test_a_running_analysis_waits_and_costs_nothing_once_it_is_gone() -> None:
    caller = Caller()
    project = deleted(caller)
    job = Analysis.objects.create(
        project=project, revision=project.revision, changes=0, created_at=timezone.now(), credits_used=3
    )
    before = Community.objects.get().bot_credits

    _ten_minutes_of_sweeps(job)
    job.refresh_from_db()
    status = job.status
    removal.delete_overdue(at=timezone.now() + TEN_MINUTES)

    assert status == "pending"
    assert Community.objects.get().bot_credits == before + 3
    assert not Event.objects.filter(type__startswith="analysis").exists()


def _ten_minutes_of_sweeps(job: Analysis) -> None:
    for minute in range(10):
        at = timezone.now() + timedelta(minutes=minute)
        jobs.give_up(Analysis, fail=worker.fail, at=at)
        assert job.pk not in jobs.waiting(Analysis, at=at)
        worker.run(analysis_id=job.pk, now=partial(max, at, at))


@pytest.mark.parametrize("status", ["pending", "running"])
def test_an_analysis_goes_on_once_its_project_is_restored(status: str) -> None:
    """Rule 10.840."""
    caller = Caller()
    project = deleted(caller)
    job = Analysis.objects.create(
        project=project,
        revision=project.revision,
        changes=0,
        created_at=timezone.now(),
        status=status,
        leased_until=timezone.now() if status == "running" else None,
    )
    _ten_minutes_of_sweeps(job)

    removal.restore(actor=caller.actor, project_id=project.pk, at=timezone.now())
    assert [*jobs.waiting(Analysis, at=timezone.now())] == [job.pk]
    worker.run(analysis_id=job.pk, now=timezone.now)

    job.refresh_from_db()
    assert job.status == "completed"


def test_restored_within_ten_minutes_it_is_as_it_was() -> None:
    caller = Caller()
    project = deleted(caller)

    removal.restore(
        actor=caller.actor,
        project_id=project.pk,
        at=end_of(project) - timedelta(seconds=1),
    )

    told = caller.get(f"/projects/{project.pk}").json()
    assert told["info"]["completion_count"] == 1
    assert caller.get(f"/projects/{project.pk}/responses").json()["pagination"]["total"] == 1


def test_after_ten_minutes_it_cannot_be_restored() -> None:
    caller = Caller()
    project = deleted(caller)

    with pytest.raises(Conflict, match="ten minutes"):
        removal.restore(actor=caller.actor, project_id=project.pk, at=end_of(project))


def test_after_ten_minutes_it_is_deleted_with_its_event() -> None:
    caller = Caller()
    caller.post("/webhooks", {"url": "https://example.org/hook", "events": ["*"]})
    project = deleted(caller)
    early = removal.delete_overdue(at=end_of(project) - timedelta(seconds=1))
    events_before = Event.objects.filter(type="project.deleted").count()

    late = removal.delete_overdue(at=end_of(project))

    assert (early, late, events_before) == (0, 1, 0)
    assert not Project.with_deleted.exists()
    assert not Conversation.objects.exists()
    assert Event.objects.filter(type="project.deleted").count() == 1
    assert removal.delete_overdue(at=end_of(project)) == 0


def test_an_open_one_is_refused() -> None:
    caller = Caller()
    made = caller.make_open(api.TEXT)

    with pytest.raises(Conflict, match="close it first"):
        removal.delete_for_now(actor=caller.actor, project_id=int(made["id"]), at=timezone.now())


def test_creators_delete_and_restore_their_own_alone() -> None:
    admin = Caller()
    creator = admin.beside("creator")
    theirs, own = admin.make(api.TEXT), creator.make(api.TEXT)
    at = timezone.now()

    with pytest.raises(Forbidden):
        removal.delete_for_now(actor=creator.actor, project_id=int(theirs["id"]), at=at)
    for each in (theirs, own):
        removal.delete_for_now(actor=admin.actor, project_id=int(each["id"]), at=at)
    restorable = removal.restorable(actor=creator.actor, at=at)
    with pytest.raises(Forbidden):
        removal.restore(actor=creator.actor, project_id=int(theirs["id"]), at=at)
    removal.restore(actor=creator.actor, project_id=int(own["id"]), at=at)

    assert [each.pk for each in restorable] == [int(own["id"])]
    assert removal.restorable(actor=admin.beside("member").actor, at=at) == []


def test_another_community_restores_nothing() -> None:
    caller, other = Caller(), Caller()
    project = deleted(caller)

    with pytest.raises(NotFound):
        removal.restore(actor=other.actor, project_id=project.pk, at=timezone.now())
    assert removal.restorable(actor=other.actor, at=timezone.now()) == []


def test_an_erased_person_is_erased_from_it_too() -> None:
    caller = Caller()
    author = caller.beside("creator")
    made = author.make(api.TEXT)
    removal.delete_for_now(actor=caller.actor, project_id=int(made["id"]), at=timezone.now())
    member_id = Member.objects.get(user=author.user).pk

    people.erase(actor=caller.actor, member_id=member_id, at=timezone.now())

    assert Project.with_deleted.get().author is None


# Large projects


def _filled(caller: Caller, monkeypatch: pytest.MonkeyPatch, limit: str = "LARGE") -> tuple[Project, Project]:
    """A closed project with seven responses, of which three are a batch, and another with one."""
    monkeypatch.setattr(removal, limit, 3)
    caller.post("/webhooks", {"url": "https://example.org/hook", "events": ["*"]})
    made = []
    for count in (7, 1):
        body = caller.make_open(api.TEXT, delivery={"audience": {"participation": "open_web"}})
        project = Project.objects.get(pk=body["id"])
        for number in range(count):
            scenario.say(
                scenario.begin(project, f"{count}-{number}", at=timezone.now()), "x", at=timezone.now()
            )
        caller.post(f"/projects/{project.pk}/close")
        made.append(project)
    return made[0], made[1]


@pytest.mark.parametrize("limit", ["LARGE", "MUCH"])
def test_a_large_project_is_gone_at_once_and_deleted_behind(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 12.573 and 12.840."""
    caller = Caller()
    project, other = _filled(caller, monkeypatch, limit)

    answer = caller.delete(f"/projects/{project.pk}")
    found = caller.get(f"/projects/{project.pk}").status_code
    again = caller.delete(f"/projects/{project.pk}").status_code
    with pytest.raises(Conflict, match="are over"):
        removal.restore(actor=caller.actor, project_id=project.pk, at=timezone.now())
    in_the_feed = changes._readable(caller.actor, timezone.now())
    left = Conversation.objects.filter(project=project).count()
    deleted = removal.delete_overdue(at=timezone.now())

    assert (answer.status_code, found, again, left, deleted) == (204, 404, 404, 7, 1)
    assert in_the_feed == [other.pk]
    assert [each.pk for each in Project.with_deleted.all()] == [other.pk]
    assert Conversation.objects.get().project_id == Answer.objects.get().block.project_id == other.pk
    assert Event.objects.filter(type="project.deleted").count() == 1
    assert DeletedResponse.objects.filter(project_id=project.pk).count() == 7  # for readers of the feed


def test_completions_that_outlived_their_responses_are_deleted_in_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rule 12.921."""
    caller = Caller()
    project, other = _filled(caller, monkeypatch, "MUCH")
    Answer.objects.filter(block__project=project).delete()
    removal.delete_unanswered(project, at=timezone.now())

    assert caller.delete(f"/projects/{project.pk}").status_code == 204
    assert Completion.objects.filter(project_id=project.pk).count() == 7
    monkeypatch.setattr(removal, "_delete_for_good", lambda project_id, *, at: True)
    removal.delete_overdue(at=timezone.now())
    assert Completion.objects.filter(project_id=project.pk).count() <= 3
    assert Completion.objects.filter(project_id=other.pk).count() == 1


@pytest.mark.parametrize("limit", ["LARGE", "MUCH"])
def test_a_batch_that_fails_loses_nothing_and_goes_on_later(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 12.573 and 12.840."""
    caller = Caller()
    project, _ = _filled(caller, monkeypatch, limit)
    caller.delete(f"/projects/{project.pk}")
    delete, left = removal.delete_some_responses, iter(range(1))

    def fail_after_one(project: Project, *, at: datetime) -> bool:
        if next(left, None) is None:
            raise RuntimeError
        return delete(project, at=at)

    with monkeypatch.context() as patch:
        patch.setattr(removal, "delete_some_responses", fail_after_one)
        first = removal.delete_overdue(at=timezone.now())
    half = Conversation.objects.filter(project=project).count()
    second = removal.delete_overdue(at=timezone.now())

    assert (first, half, second) == (0, 4, 1)
    assert not Project.with_deleted.filter(pk=project.pk).exists()
