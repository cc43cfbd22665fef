import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import models

from communities.ground import sealing
from communities.ground.errors import Conflict
from communities.models import Identity, Member, User
from surveys.models import Answer, Conversation, DeletedResponse, Reading
from surveys.services.conversations import admission, gifts
from surveys.services.conversations import service as conversations
from surveys.services.ground import anonymity
from surveys.services.ground.anonymity import RememberedRespondent
from surveys.services.responses import service as responses
from tests.support.actors import actor
from tests.support.caller import Caller
from tests.support.dumps import dump
from tests.support.moments import LUNCHTIME, NOON
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

USER_ID, MEMBER_ID, CHAT_ID, NAME = 7_770_001_117, 8_880_002_228, "9990003339", "Ann Onymous"
EXTERNAL_ID = "crm-55500055"
STANDING = "xp_standing"
BEGAN, ANSWERED, ENDED = LUNCHTIME, LUNCHTIME + timedelta(seconds=11), LUNCHTIME + timedelta(seconds=22)

anonymous: dict[str, Any] = {"privacy_mode": "anonymous", "max_completes_per_user": 1}


def member():
    user = User.objects.create(pk=USER_ID, name=NAME)
    Identity.objects.create(user=user, provider="chat", platform_id=CHAT_ID, proven_at=NOON)
    Member.objects.create(pk=MEMBER_ID, community=scenario.community(), user=user)
    return admission.member(community_id=1, member_id=str(MEMBER_ID))


def external():
    return admission.external(external_id=EXTERNAL_ID)


def talk(made, respondent):
    told = conversations.begin(project_id=made.pk, respondent=respondent, at=BEGAN)
    told = scenario.say(told, 0, at=ANSWERED)
    return told


def traces(rows) -> list[str]:
    names = [str(USER_ID), str(MEMBER_ID), CHAT_ID, EXTERNAL_ID, NAME, "user:", "external:"]
    whole = "\n".join(sorted(rows))
    return [name for name in names if name in whole] + [
        at.strftime("%H:%M:%S") for at in (BEGAN, ANSWERED, ENDED) if at.strftime(":%M:%S") in whole
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("who", [member, external])
def test_nothing_that_an_anonymous_conversation_stores_tells_who_it_was(who):
    """Rules 7.2, 7.3, 7.4 and 7.7."""
    made = scenario.project(CHOICE, {**TEXT, "prompt": "Well, [UserName]?"}, **anonymous)
    respondent = who()
    made.created_at = LUNCHTIME - timedelta(days=1)
    made.created_at = made.created_at.replace(hour=0, minute=0, second=0, microsecond=0)
    made.save()
    before = dump()

    told = talk(made, respondent)
    running = dump()
    assert told.step.block.prompt == "Well, ?"
    told = scenario.say(told, "end", at=ENDED)
    over = dump()
    gifts.settle(at=ENDED + timedelta(hours=2))
    settled = dump()

    for after in (running, over, settled):
        changed = {table for table in after if after[table] != before[table]}
        assert changed - {STANDING} <= {
            *("surveys_conversation", "surveys_answer", "surveys_tally", "surveys_completion"),
            *("surveys_sealedgifts", "webhooks_event"),
        }
        assert traces(row for table in changed - {STANDING} for row in after[table]) == []
    # That a member took part somewhere is told (rules 7.5 and 7.8), but neither where nor when.
    assert over[STANDING] == set()
    assert settled[STANDING] == ({repr([MEMBER_ID, 0, None, 0, 1, 1])} if respondent.is_member else set())
    row = Conversation.objects.values().get()
    assert row["id"].version == 4
    assert row["provider"] == "web"
    for nothing in ("user_id", "platform_id", "respondent", "session_number", "sealed_respondent"):
        assert row[nothing] is None
    hour = LUNCHTIME.replace(minute=0, second=0, microsecond=0)
    assert {row[at] for at in ("started_at", "updated_at", "completed_at")} == {hour}


@pytest.mark.django_db
@pytest.mark.parametrize("sent", [{"member_id": str(MEMBER_ID)}, {"external_id": EXTERNAL_ID}])
def test_nothing_that_the_interface_remembers_of_its_requests_tells_who_it_was(sent):
    member()
    caller = Caller(community=scenario.community())
    made = scenario.project(CHOICE, **anonymous)
    before = dump()

    begun = caller.post(f"/projects/{made.pk}/conversations", sent, **{"Idempotency-Key": "begin"}).json()
    option = begun["step"]["block"]["options"][0]["id"]
    answer = {"block_id": begun["step"]["block"]["id"], "option_id": option}
    done = caller.post(f"/conversations/{begun['id']}/answers", answer, **{"Idempotency-Key": "answer"})

    assert done.json()["status"] == "completed"
    after = dump()
    changed = {table for table in after if after[table] != before[table]} - {"communities_apikey", STANDING}
    assert "communities_idempotentrequest" in changed
    assert changed.isdisjoint({"communities_user", "communities_member", "communities_identity"})
    rows = [row for table in changed for row in after[table]]
    assert traces(rows) == []
    assert [row for row in rows if re.search(r"T\d\d:(?!00:00)", row)] == []


@pytest.mark.django_db
def test_a_project_that_is_not_anonymous_tells_who_it_was():
    scenario.say(talk(scenario.project(CHOICE, TEXT), member()), "end", at=ENDED)

    assert str(USER_ID) in traces(dump()["surveys_conversation"])


@pytest.mark.django_db
def test_more_anonymous_rounds_to_the_day():
    made = scenario.project(CHOICE, TEXT, rounds_times_to_day=True, **anonymous)

    row = scenario.say(talk(made, external()), "end", at=ENDED).conversation

    assert {row.started_at, row.updated_at, row.completed_at} == {
        LUNCHTIME.replace(hour=0, minute=0, second=0, microsecond=0)
    }


@pytest.mark.django_db
@pytest.mark.parametrize("who", [member, external])
def test_the_limit_holds_though_nobody_is_known(who):
    """Rule 7.6."""
    made, other = scenario.project(CHOICE, TEXT, **anonymous), scenario.project(CHOICE, TEXT, **anonymous)
    respondent = who()
    told, second = talk(made, respondent), talk(made, respondent)
    assert told.conversation.pk != second.conversation.pk
    told = scenario.say(told, "end")

    refused(Conflict, talk, made, respondent)
    refused(Conflict, scenario.say, second, "end")

    assert told.conversation.session_number is None
    assert scenario.completions(made) == [1]
    assert talk(other, respondent).step is not None
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 3, "completed": 1, "listed": 2}


@pytest.mark.django_db
@pytest.mark.parametrize("channel", ["web", "chat"])
def test_a_response_tells_nobody_and_no_source_that_only_one_may_have(channel):
    """Rules 7.3 and 7.4."""
    made = scenario.project(CHOICE, TEXT, response_channel=channel, **anonymous)
    told = scenario.say(talk(made, member()), "end")

    response = responses.get(response_id=told.conversation.pk, actor=actor(), at=LUNCHTIME)

    assert (response["user_id"], response["platform_id"], response["session_number"]) == (None, None, None)
    assert (response["provider"], response["id"]) == (channel, str(told.conversation.pk))


class TestSilence:
    pytestmark = pytest.mark.django_db

    @pytest.mark.parametrize(
        ("hours", "forgotten"), [(timedelta(hours=24) - timedelta(seconds=1), 0), (timedelta(hours=24), 1)]
    )
    def test_after_a_day_of_it_a_running_conversation_forgets_whom_it_talked_with(self, hours, forgotten):
        """Rule 7.7."""
        made = scenario.project(CHOICE, TEXT, TEXT, **anonymous)
        told = talk(made, member())
        told = scenario.say(told, "still here", at=ENDED)

        assert anonymity.forget_silent(at=ENDED + hours) == forgotten

        assert Conversation.objects.filter(sealed_respondent=None).count() == forgotten
        done = scenario.say(told, "end", at=ENDED + hours)
        assert done.is_completed
        assert scenario.completions(made) == ([] if forgotten else [1])

    def test_it_is_done_for_many_and_for_what_cannot_be_read(self):
        made = scenario.project(CHOICE, TEXT, TEXT, **anonymous)
        for n in range(5):
            scenario.begin(made, f"person {n}")
        Conversation.objects.filter(pk=scenario.begin(made, "x").conversation.pk).update(
            sealed_respondent=b"\x00" * 9
        )
        scenario.begin(made, "late", at=LUNCHTIME + timedelta(hours=20))

        assert anonymity.forget_silent(at=LUNCHTIME + timedelta(days=1)) == 6
        assert anonymity.forget_silent(at=LUNCHTIME + timedelta(days=1)) == 0


class TestSealing:
    here: dict[str, Any] = {"project_id": 1, "conversation_id": uuid.UUID(int=5)}
    known = RememberedRespondent("ab" * 32, 17, LUNCHTIME)

    def test_what_is_sealed_is_read_again_by_this_conversation_alone(self):
        """Rule 7.7."""
        sealed = anonymity.seal(**self.here, remembered=self.known)

        assert anonymity.unseal(**self.here, sealed=sealed) == self.known
        assert anonymity.unseal(**{**self.here, "project_id": 2}, sealed=sealed) is None
        assert anonymity.unseal(**{**self.here, "conversation_id": uuid.UUID(int=6)}, sealed=sealed) is None

    def test_it_is_never_the_same_and_always_as_long(self):
        sealed = [anonymity.seal(**self.here, remembered=self.known) for _ in range(3)]
        sealed.append(
            anonymity.seal(**self.here, remembered=RememberedRespondent("00" * 32, None, LUNCHTIME))
        )

        assert len(set(sealed)) == 4
        assert len({len(each) for each in sealed}) == 1

    def test_another_secret_reads_nothing(self, settings):
        sealed = anonymity.seal(**self.here, remembered=self.known)
        settings.SECRET_KEY = "another"

        assert anonymity.unseal(**self.here, sealed=sealed) is None

    def test_a_hash_has_a_key_outside_of_the_database(self, monkeypatch):
        """Rule 7.6."""
        first = anonymity.respondent_hash(project_id=1, who="a")
        monkeypatch.setattr(sealing, "hash_root", lambda: sealing.root_of(b"another"))

        second = anonymity.respondent_hash(project_id=1, who="a")

        assert first != second

    def test_a_hash_is_one_persons_on_one_project(self):
        """Rule 7.6."""
        hashes = {
            anonymity.respondent_hash(project_id=project, who=who)
            for project in (1, 2)
            for who in ("a", "b", "a")
        }

        assert len(hashes) == 4
        assert all(len(each) == 64 for each in hashes)


def test_no_key_of_a_row_about_a_response_is_a_number():
    """Rule 7.9."""
    rows = {
        model: model._meta.pk
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.related_model is Conversation or field.name in ("response_id", "conversation_id")
    }

    assert {Conversation, Answer, Reading, DeletedResponse} < {Conversation, *rows}
    assert [model for model, key in rows.items() if isinstance(key, models.AutoField)] == []
    assert isinstance(Conversation._meta.pk, models.UUIDField)


@pytest.mark.django_db
def test_ids_are_in_order_of_time_only_where_that_may_be_told():
    """Rules 1.2 and 7.9."""
    open_one, hidden = scenario.project(TEXT), scenario.project(TEXT, **anonymous)

    ids = [[scenario.begin(made).conversation.pk for _ in range(20)] for made in (open_one, hidden)]

    assert ids[0] == sorted(ids[0])
    assert ids[1] != sorted(ids[1])
