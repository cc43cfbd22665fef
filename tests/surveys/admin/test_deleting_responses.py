"""Deleting a response in the admin: the confirmation, the consequences, and the undo."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from structlog.testing import capture_logs

from communities.models import AuditEntry
from surveys.models import Conversation, Project, ResponseDeletion
from surveys.services.responses import deletion
from surveys.services.responses import service as responses
from tests.support.actors import actor, superuser_actor
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import look, superuser, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


def answered(made, who=None, *said):
    return scenario.say(scenario.begin(made, who), *said).conversation.pk


def later(**by):
    return timezone.now() + timedelta(**by)


def test_a_deleted_response_leaves_the_list_and_is_gone_after_ten_minutes(client):
    made = scenario.project(CHOICE, TEXT)
    key = answered(made, "crm-7", 0, "x")

    response = client.post(tab(made.pk, "response_delete", key), follow=True)
    listed = response.content.decode()
    before = scenario.counts(made)
    too_early = deletion.delete_due(at=later(minutes=9))
    deleted = deletion.delete_due(at=later(minutes=11))

    assert listed.count("will be deleted at") == listed.count("Undo") == 1
    assert 'class="row-title"' not in listed
    assert before == {"answered": 2, "completed": 1, "listed": 1}
    assert (too_early, deleted) == (0, 1)
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}
    assert not ResponseDeletion.objects.exists()


def test_an_undone_deletion_changes_nothing(client):
    made = scenario.project(CHOICE)
    key = answered(made, "crm-7", 0)
    client.post(tab(made.pk, "response_delete", key))

    client.post(tab(made.pk, "response_restore", key))
    deletion.delete_due(at=later(minutes=11))

    assert "crm-7" in look(client, made, page="responses")
    assert scenario.counts(made)["listed"] == 1
    assert "already deleted" in client.post(tab(made.pk, "response_restore", key)).content.decode()


def test_what_the_interface_has_deleted_meanwhile_is_let_go(client):
    made = scenario.project(CHOICE)
    key = answered(made, None, 0)
    client.post(tab(made.pk, "response_delete", key))
    responses.delete(response_id=key, actor=superuser_actor(), at=timezone.now())

    assert deletion.delete_due(at=later(minutes=11)) == 0
    assert not ResponseDeletion.objects.exists()


def test_one_that_fails_does_not_stop_the_others(client, monkeypatch):
    made = scenario.project(CHOICE)
    keys = sorted(answered(made, None, 0) for _ in range(2))
    for key in keys:
        client.post(tab(made.pk, "response_delete", key))
    delete = responses.delete

    def fails_once(*, response_id, **said):
        if response_id == keys[0]:
            raise ValueError
        delete(response_id=response_id, **said)

    monkeypatch.setattr(responses, "delete", fails_once)

    assert deletion.delete_due(at=later(minutes=11)) == 1
    assert list(Conversation.objects.values_list("pk", flat=True)) == [keys[0]]
    assert ResponseDeletion.objects.get().pk == keys[0]


def test_on_anonymous_projects_the_time_is_a_full_hour_at_least_ten_minutes_away():
    made = scenario.project(CHOICE, privacy_mode="anonymous")
    by = actor(user_id=scenario.member().user_id)

    def ends(hour, minute):
        key = answered(made, None, 0)
        at = datetime(2026, 2, 1, hour, minute, tzinfo=UTC)
        return deletion.mark(response_id=key, project=made, actor=by, at=at).deletes_at

    assert ends(14, 5) == ends(14, 50) == datetime(2026, 2, 1, 15, tzinfo=UTC)
    assert ends(14, 51) == datetime(2026, 2, 1, 16, tzinfo=UTC)


def test_a_response_marked_twice_keeps_its_time(client):
    made = scenario.project(CHOICE)
    key = answered(made, None, 0)
    client.post(tab(made.pk, "response_delete", key))
    first = ResponseDeletion.objects.get().deletes_at

    client.post(tab(made.pk, "response_delete", key))

    assert ResponseDeletion.objects.get().deletes_at == first


def test_a_deleted_vote_is_taken_back_with_the_counts(client):
    made = scenario.poll(change_poll=True)
    key = answered(made, "crm-7", 0)
    client.post(tab(made.pk, "response_delete", key))

    deletion.delete_due(at=later(minutes=11))

    assert scenario.counts(made)["completed"] == 0
    assert scenario.completions(made) == [0]


def test_a_marked_response_of_a_deleted_project_waits_until_it_is_restored(client):
    made = scenario.project(TEXT)
    client.post(tab(made.pk, "response_delete", answered(made, None, "x")))
    Project.objects.filter(pk=made.pk).update(deleted_at=timezone.now(), status="inactive")

    with capture_logs() as logs:
        while_deleted = deletion.delete_due(at=later(minutes=11))
    Project.with_deleted.update(deleted_at=None)

    assert (while_deleted, logs) == (0, [])
    assert deletion.delete_due(at=later(minutes=12)) == 1


@pytest.mark.parametrize("mode", ["transparent", "anonymous"])
def test_planning_and_undoing_a_deletion_is_recorded(client, mode):
    made = scenario.project(TEXT, privacy_mode=mode)
    key = answered(made, None, "x")

    for page in ("response_delete", "response_delete", "response_restore"):
        client.post(tab(made.pk, page, key))

    entries = AuditEntry.objects.filter(project_id=made.pk, object_type="response")
    assert sorted(entries.values_list("action", flat=True)) == [
        "response.deletion_planned",
        "response.deletion_undone",
    ]
    assert set(entries.values_list("object_id", flat=True)) == {str(key) if mode == "transparent" else None}


def test_a_marked_response_that_its_respondent_empties_is_let_go_without_a_fault(client):
    made = scenario.project(TEXT, TEXT)
    key = answered(made, None, "x")
    client.post(tab(made.pk, "response_delete", key))
    Conversation.objects.filter(pk=key).update(is_listed=False)

    with capture_logs() as logs:
        deleted = deletion.delete_due(at=later(minutes=11))

    assert deleted == 0
    assert [line for line in logs if "fault" in line["event"]] == []
    assert not ResponseDeletion.objects.exists()
    assert Conversation.objects.filter(pk=key).exists()
