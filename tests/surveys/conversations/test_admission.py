"""Admission by membership, roles and verified sources, as stored or as the platforms answer now.

Rules 6.1 and 6.2.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from threading import BoundedSemaphore
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from communities.gate import throttling
from communities.ground.rounding import Rounding
from communities.identity_providers.failures import PlatformUnavailable
from communities.models import Identity, Member, SourceCheck
from communities.services.people import platform_members, sign_ins
from communities.services.tenants.verified_sources import Asked
from surveys.models import Conversation, Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import Missing, NotAdmitted, Respondent
from tests.factories import IdentityFactory, SourceCheckFactory, UserFactory, VerifiedSourceFactory
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
HOUR = timedelta(hours=1)
ROLE, OTHER_ROLE = "31", "32"


def _project(
    *, participation: str = "open_web", privacy_mode: str = "transparent", **audience: Any
) -> Project:
    delivery = {"audience": {"participation": participation, **audience}}
    return scenario.project(
        TEXT, TEXT, participation=participation, privacy_mode=privacy_mode, delivery=delivery
    )


def _member(*roles: str, told_at: datetime | None = LUNCHTIME) -> Member:
    member = scenario.member()
    Member.objects.update(role_ids=list(roles) or None, roles_told_at=told_at)
    return member


def _respondent(person: Member) -> Respondent:
    respondent = admission.person(community_id=1, user_id=person.user_id)
    assert respondent is not None
    return respondent


def _stranger() -> Respondent:
    return admission.person(community_id=1, user_id=UserFactory.create().pk) or admission.NAMELESS


def _signed_in_with(person: Member, provider: str) -> Respondent:
    client = Client()
    client.force_login(person.user)
    session = client.session
    session[sign_ins.METHODS] = [{"method": "socialaccount", "provider": provider}]
    session.save()
    respondent = admission.signed_in(community_id=1, session_key=str(session.session_key), at=timezone.now())
    assert respondent is not None
    return respondent


def _missing(project: Project, respondent: Respondent, *, at: datetime = LUNCHTIME) -> tuple[str, ...]:
    try:
        admission.check(project=project, respondent=respondent, at=at)
    except NotAdmitted as refusal:
        return refusal.missing
    return ()


def _source_of(person: Member, *, passes: bool = True) -> int:
    """A verified source of the community, with the platform's answer about this person at lunchtime."""
    scenario.community()
    source = VerifiedSourceFactory.create(community_id=1)
    account = IdentityFactory.create(
        user=person.user, provider="video", platform_id="v1", proven_at=LUNCHTIME
    )
    SourceCheckFactory.create(source=source, identity=account, passes=passes, checked_at=LUNCHTIME)
    return source.pk


# --- From what is known -----------------------------------------------------------------------------


def test_a_private_project_admits_members_alone() -> None:
    made, member = _project(participation="private"), _member()

    assert _missing(made, _respondent(member)) == ()
    assert _missing(made, _stranger()) == (Missing.MEMBERSHIP,)
    for unknown in (
        admission.NAMELESS,
        admission.visitor(visitor_id="b"),
        admission.external(external_id="e"),
    ):
        assert _missing(made, unknown) == (Missing.SIGN_IN,)


def test_a_member_who_left_is_admitted_no_more() -> None:
    made, member = _project(participation="private"), _member()
    Member.objects.update(left_at=LUNCHTIME)

    assert _missing(made, _respondent(member)) == (Missing.MEMBERSHIP,)


@pytest.mark.parametrize("participation", ["private", "open_web"])
def test_any_of_the_required_roles_is_enough(participation: str) -> None:
    made = _project(participation=participation, required_role_ids=[ROLE, OTHER_ROLE])

    assert _missing(made, _respondent(_member(OTHER_ROLE))) == ()
    Member.objects.update(role_ids=["33"])
    assert _missing(made, _respondent(Member.objects.get())) == (Missing.ROLE,)
    Member.objects.update(role_ids=None)
    assert _missing(made, _respondent(Member.objects.get())) == (Missing.ROLE,)
    assert _missing(made, admission.NAMELESS) == (Missing.SIGN_IN,)


def test_roles_of_somebody_who_left_do_not_count() -> None:
    made, member = _project(required_role_ids=[ROLE]), _member(ROLE)
    Member.objects.update(left_at=LUNCHTIME)

    assert _missing(made, _respondent(member)) == (Missing.ROLE,)


def test_any_of_the_verified_sources_is_enough_on_an_open_project_without_membership() -> None:
    member = _member()
    source_id = _source_of(member)
    Member.objects.all().delete()
    made = _project(verified_source_ids=[999, source_id])

    assert _missing(made, _respondent(member)) == ()
    assert _missing(made, _stranger()) == (Missing.SOURCE,)
    assert _missing(made, admission.visitor(visitor_id="b")) == (Missing.SIGN_IN,)


def test_roles_and_sources_must_both_hold_where_both_are_given() -> None:
    member = _member(ROLE)
    source_id = _source_of(member)
    made = _project(required_role_ids=[ROLE], verified_source_ids=[source_id])

    assert _missing(made, _respondent(member)) == ()
    Member.objects.update(role_ids=[])
    assert _missing(made, _respondent(member)) == (Missing.ROLE,)
    SourceCheck.objects.update(passes=False)
    assert _missing(made, _respondent(member)) == (Missing.ROLE, Missing.SOURCE)


def test_the_verified_source_is_the_provider_else_the_one_signed_in_with_else_the_chat() -> None:
    """Rule 6.3."""
    member = _member()
    source_id = _source_of(member)
    IdentityFactory.create(user=member.user, provider="chat", platform_id="c1")
    IdentityFactory.create(user=member.user, provider="membership", platform_id="m1")
    made, asking = _project(), _project(verified_source_ids=[source_id])

    shown = {
        how: admission.check(project=project, respondent=respondent, at=LUNCHTIME)
        for how, project, respondent in (
            ("chat", made, _respondent(member)),
            ("membership", made, _signed_in_with(member, "membership")),
            ("video", asking, _signed_in_with(member, "membership")),
            ("web", made, admission.NAMELESS),
        )
    }

    assert {how: (each.provider, each.platform_id) for how, each in shown.items()} == {
        "chat": ("chat", "c1"),
        "membership": ("membership", "m1"),
        "video": ("video", "v1"),
        "web": ("web", None),
    }


def test_a_response_tells_the_source_that_admitted_its_respondent() -> None:
    """Rule 6.3."""
    member = _member()
    made = _project(verified_source_ids=[_source_of(member)])

    told = conversations.begin(project_id=made.pk, respondent=_respondent(member), at=LUNCHTIME)

    row = Conversation.objects.get(pk=told.conversation.pk)
    assert (row.provider, row.platform_id, row.user_id) == ("video", "v1", member.user_id)


@pytest.mark.parametrize(("others", "told"), [(0, "video"), (1, "web")])
def test_an_anonymous_response_tells_the_source_that_all_have_met(others: int, told: str) -> None:
    """Rule 7.4."""
    member = _member()
    more = [VerifiedSourceFactory.create(community_id=1).pk for _ in range(others)]
    made = _project(privacy_mode="anonymous", verified_source_ids=[_source_of(member), *more])

    begun = conversations.begin(project_id=made.pk, respondent=_respondent(member), at=LUNCHTIME)

    row = Conversation.objects.get(pk=begun.conversation.pk)
    assert (row.provider, row.platform_id, row.user_id) == (told, None, None)


# --- Asking again -----------------------------------------------------------------------------------


class Chat:
    """Answers in place of the chat platform, with the next roles; None while it cannot be asked."""

    def __init__(self, *roles: str) -> None:
        self.roles: list[str] | None = list(roles)
        self.questions = 0
        self.rounded_to: Rounding | None = None

    def refresh(self, *, user_id: int, at: datetime, rounded_to: Rounding | None, **_more: object) -> None:
        self.questions += 1
        self.rounded_to = rounded_to
        if self.roles is None:
            raise PlatformUnavailable("down")
        Member.objects.filter(user_id=user_id).update(role_ids=self.roles, roles_told_at=at)


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Chat:
    chat = Chat(ROLE)
    monkeypatch.setattr(platform_members, "refresh", chat.refresh)
    return chat


def _ask(made: Project, respondent: Respondent) -> tuple[Respondent, Asked]:
    return admission.ask_platforms(project=made, respondent=respondent, at=LUNCHTIME)


def test_roles_count_for_a_day(chat: Chat) -> None:
    made, member = _project(required_role_ids=[ROLE]), _member(ROLE, told_at=LUNCHTIME - 24 * HOUR)
    before = _missing(made, _respondent(member), at=LUNCHTIME - timedelta(seconds=1))

    assert (before, _missing(made, _respondent(member))) == ((), (Missing.ROLE,))


def test_roles_are_asked_for_again_before_a_refusal_but_not_without_end(chat: Chat) -> None:
    made, member = _project(required_role_ids=[ROLE]), _member("99")
    chat.roles = ["99"]

    first, *_ = [_ask(made, _respondent(member))[0] for _ in range(admission.MOST_QUESTIONS)]
    chat.roles = [ROLE]
    second, _ = _ask(made, _respondent(member))
    throttling.forget(admission.counted_as(community_id=1, user_id=member.user_id))
    third, _ = _ask(made, _respondent(member))

    assert [_missing(made, each) for each in (first, second, third)] == [(Missing.ROLE,), (Missing.ROLE,), ()]
    assert chat.questions == admission.MOST_QUESTIONS + 1


@pytest.mark.parametrize(("privacy_mode", "rounding"), [("transparent", None), ("anonymous", Rounding.DAY)])
def test_beside_anonymous_answers_times_of_questions_are_rounded(
    chat: Chat, privacy_mode: str, rounding: Rounding | None
) -> None:
    made = _project(required_role_ids=[ROLE], privacy_mode=privacy_mode)

    _ask(made, _respondent(_member("99")))

    assert (chat.questions, chat.rounded_to) == (1, rounding)


def test_nobody_is_asked_about_those_who_are_admitted_or_unknown(chat: Chat) -> None:
    made = _project(required_role_ids=[ROLE])
    admitted = _respondent(_member(ROLE, told_at=LUNCHTIME - 23 * HOUR))

    for respondent in (admitted, admission.NAMELESS, admission.external(external_id="e")):
        assert _ask(made, respondent) == (respondent, Asked())
    assert chat.questions == 0


def test_a_platform_that_cannot_be_asked_is_told(chat: Chat) -> None:
    chat.roles = None
    made, member = _project(required_role_ids=[ROLE]), _member(told_at=None)

    respondent, asked = _ask(made, _respondent(member))

    assert (asked.could_ask, _missing(made, respondent)) == (False, (Missing.ROLE,))


def test_a_process_asks_for_few_people_at_once(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_asking", BoundedSemaphore(1))
    made, member = _project(required_role_ids=[ROLE]), _member(told_at=None)

    with admission._asking:
        _, asked = _ask(made, _respondent(member))

    assert (asked.could_ask, chat.questions) == (False, 0)


# --- Over the interface -----------------------------------------------------------------------------


def test_the_interface_asks_before_it_refuses(chat: Chat) -> None:
    caller = Caller()
    member = caller.beside("member")
    made = scenario.project(
        TEXT,
        community=caller.community,
        delivery={"audience": {"participation": "private", "required_role_ids": [ROLE]}},
        participation="private",
    )
    member_id = str(Member.objects.get(user=member.user).pk)
    address = f"/projects/{made.pk}/conversations"

    begun = caller.post(address, {"member_id": member_id})
    nameless = caller.post(address, {})

    assert (begun.status_code, nameless.status_code) == (201, 403)
    assert nameless.json()["error"] == "forbidden"
    assert chat.questions == 1


def test_the_interface_refuses_nobody_for_good_while_a_platform_cannot_be_asked(chat: Chat) -> None:
    chat.roles = None
    caller = Caller()
    member = caller.beside("member")
    delivery = {"audience": {"participation": "private", "required_role_ids": [ROLE]}}
    made = scenario.project(TEXT, community=caller.community, delivery=delivery, participation="private")
    member_id = str(Member.objects.get(user=member.user).pk)

    answer = caller.post(f"/projects/{made.pk}/conversations", {"member_id": member_id})

    assert (answer.status_code, answer.json()["error"], answer["Retry-After"]) == (503, "unavailable", "30")


def test_an_identity_that_only_an_api_caller_told_meets_no_source() -> None:
    member = _member()
    source_id = _source_of(member)
    Identity.objects.update(proven_at=None, community=member.community)

    assert _missing(_project(verified_source_ids=[source_id]), _respondent(member)) == (Missing.SOURCE,)
