"""Verified sources: the rules that a person meets, requests to the platforms, and editing by staff."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from communities.ground.actors import Actor
from communities.ground.errors import Forbidden, InvalidRequest, NotFound
from communities.ground.rounding import Rounding
from communities.identity_providers import rules
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import AuditEntry, Identity, SourceCheck, User, VerifiedSource
from communities.services.tenants import verified_sources
from communities.services.tenants.verified_sources import Asked, Met
from tests.factories import (
    CommunityFactory,
    IdentityFactory,
    SourceCheckFactory,
    UserFactory,
    VerifiedSourceFactory,
)
from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)


class Platform:
    """Replaces the clients of all platforms: it has prepared answers, and records the questions."""

    def __init__(self) -> None:
        self.answers: dict[str, bool | Exception] = {}
        self.asked: list[str] = []

    def answer(self, *, target: str, **_more: object) -> bool:
        self.asked.append(target)
        answer = self.answers[target]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def platform(monkeypatch: pytest.MonkeyPatch) -> Platform:
    platform = Platform()
    monkeypatch.setattr(rules, "answer", platform.answer)
    return platform


@pytest.fixture
def person() -> User:
    return UserFactory.create()


def _account(person: User, provider: str = "video") -> Identity:
    return IdentityFactory.create(user=person, provider=provider)


def _claim(person: User, source: VerifiedSource) -> Identity:
    """An account that the source's community wrote down."""
    return IdentityFactory.create(user=person, provider=source.provider, community=source.community)


def _met(person: User, *wanted: VerifiedSource, at: datetime = NOON) -> int | None:
    found = verified_sources.first_met(
        community_id=wanted[0].community_id,
        source_ids=[source.pk for source in wanted],
        user_id=person.pk,
        at=at,
    )
    return found.source_id if found else None


def _ask(person: User, *wanted: VerifiedSource, at: datetime = NOON, **how: Any) -> Asked:
    return verified_sources.ask(
        community_id=wanted[0].community_id,
        source_ids=[source.pk for source in wanted],
        user_id=person.pk,
        at=at,
        **how,
    )


# --- What a person meets ----------------------------------------------------------------------------


def test_a_yes_counts_for_a_day(person: User) -> None:
    check = SourceCheckFactory.create(identity=_account(person))

    assert _met(person, check.source, at=NOON + DAY - timedelta(seconds=1)) == check.source_id
    assert _met(person, check.source, at=NOON + DAY) is None


def test_a_no_does_not_count(person: User) -> None:
    check = SourceCheckFactory.create(identity=_account(person), passes=False)

    assert _met(person, check.source) is None


def test_having_a_proven_account_is_enough_where_the_rule_asks_for_no_more(person: User) -> None:
    source = VerifiedSourceFactory.create(rule="has_account", target="")
    _claim(person, source)
    before = _met(person, source)
    Identity.objects.update(proven_at=NOON, community=None)

    assert (before, _met(person, source)) == (None, source.pk)


def test_an_account_that_nobody_proved_meets_nothing(person: User) -> None:
    source = VerifiedSourceFactory.create()
    check = SourceCheckFactory.create(source=source, identity=_claim(person, source))

    assert _met(person, check.source) is None


def test_the_first_source_in_the_projects_order_is_the_one_that_counts(person: User) -> None:
    community, account = CommunityFactory.create(), _account(person)
    late, early = (VerifiedSourceFactory.create(community=community, target=target) for target in "ab")
    for source in (late, early):
        SourceCheckFactory.create(source=source, identity=account)

    found = verified_sources.first_met(
        community_id=community.pk, source_ids=[early.pk, late.pk], user_id=person.pk, at=NOON
    )

    assert found == Met(early.pk, "video", account.platform_id)


def test_removed_sources_and_those_of_another_community_are_met_by_nobody(person: User) -> None:
    check = SourceCheckFactory.create(identity=_account(person))
    elsewhere = verified_sources.first_met(
        community_id=CommunityFactory.create().pk, source_ids=[check.source_id], user_id=person.pk, at=NOON
    )
    VerifiedSource.objects.update(removed_at=NOON)

    assert (elsewhere, _met(person, check.source)) == (None, None)


# --- Asking -----------------------------------------------------------------------------------------


def test_a_platform_is_asked_until_it_says_yes(person: User, platform: Platform) -> None:
    community = CommunityFactory.create()
    wanted = [VerifiedSourceFactory.create(community=community, target=target) for target in "abc"]
    account = _account(person)
    platform.answers = {"a": False, "b": True}

    asked = _ask(person, *wanted)

    assert (asked, platform.asked) == (Asked(), ["a", "b"])
    stored = SourceCheck.objects.order_by("source_id").values_list("source_id", "identity_id", "passes")
    assert list(stored) == [(wanted[0].pk, account.pk, False), (wanted[1].pk, account.pk, True)]


def test_beside_anonymous_answers_only_the_day_of_a_question_is_stored(
    person: User, platform: Platform
) -> None:
    source = VerifiedSourceFactory.create()
    _account(person)
    platform.answers = {source.target: True}

    _ask(person, source, rounded_to=Rounding.DAY)

    assert SourceCheck.objects.get().checked_at == NOON.replace(hour=0)
    assert _met(person, source) == source.pk


def test_accounts_of_other_platforms_and_unproven_ones_are_not_asked_about(
    person: User, platform: Platform
) -> None:
    source = VerifiedSourceFactory.create()
    _claim(person, source)
    _account(UserFactory.create(), "video")

    assert _ask(person, source) == Asked()
    assert platform.asked == []


def test_a_platform_that_is_down_is_told_and_leaves_what_was_known(person: User, platform: Platform) -> None:
    source = VerifiedSourceFactory.create()
    SourceCheckFactory.create(source=source, identity=_account(person), checked_at=NOON - HOUR)
    platform.answers = {source.target: PlatformUnavailable("down")}

    assert _ask(person, source) == Asked(could_ask=False)
    assert _met(person, source) == source.pk


def test_a_permission_that_was_withdrawn_is_a_no(person: User, platform: Platform) -> None:
    source = VerifiedSourceFactory.create()
    SourceCheckFactory.create(source=source, identity=_account(person), checked_at=NOON - HOUR)
    platform.answers = {source.target: TokenRefused("withdrawn")}

    assert _ask(person, source) == Asked(refused=frozenset(["video"]))
    assert _met(person, source) is None


def test_an_answer_about_an_earlier_target_is_not_kept(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    source = VerifiedSourceFactory.create()
    _account(person)

    def answer_late(**_more: object) -> bool:
        VerifiedSource.objects.update(target="another")
        return True

    monkeypatch.setattr(rules, "answer", answer_late)
    _ask(person, source)

    assert not SourceCheck.objects.exists()


# --- Keeping them -----------------------------------------------------------------------------------


@pytest.fixture
def admin() -> Actor:
    return Caller().actor


def _add(admin: Actor, **fields: str) -> VerifiedSource:
    values = {"provider": "video", "rule": "subscribes_to", "target": "UC1", "label": "Subscribers"}
    return verified_sources.add(actor=admin, at=NOON, **{**values, **fields})


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"provider": "game_store", "rule": "subscribes_to"}, "rule", "not_allowed"),
        ({"provider": "web", "rule": "has_account", "target": ""}, "rule", "not_allowed"),
        ({"target": ""}, "target", "required"),
        ({"rule": "has_account"}, "target", "not_allowed"),
        ({"target": "UC 1"}, "target", "invalid"),
        ({"target": "UCé"}, "target", "invalid"),
    ],
)
def test_a_rule_that_no_platform_can_answer_is_refused(
    admin: Actor, fields: dict[str, str], field: str, code: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        _add(admin, **fields)

    assert [(each["field"], each["code"]) for each in refused.value.violations] == [(field, code)]


def test_another_target_forgets_what_was_answered(admin: Actor, person: User) -> None:
    source = _add(admin)
    SourceCheckFactory.create(source=source, identity=_account(person))

    verified_sources.change(actor=admin, source_id=source.pk, target="UC1", label="Our subscribers", at=NOON)
    kept = _met(person, source)
    verified_sources.change(actor=admin, source_id=source.pk, target="UC2", label="Our subscribers", at=NOON)

    assert (kept, _met(person, source)) == (source.pk, None)


def test_changes_are_recorded(admin: Actor) -> None:
    source = _add(admin)
    verified_sources.change(actor=admin, source_id=source.pk, target="UC1", label="Ours", at=NOON)
    verified_sources.remove(actor=admin, source_id=source.pk, at=NOON)

    entries = AuditEntry.objects.filter(object_type="verified_source", object_id=str(source.pk))

    assert sorted(entries.values_list("action", flat=True)) == [
        "verified_source.created",
        "verified_source.removed",
        "verified_source.updated",
    ]


def test_a_removed_source_and_one_of_another_community_are_not_there(admin: Actor) -> None:
    source, foreign = _add(admin), VerifiedSourceFactory.create()
    verified_sources.remove(actor=admin, source_id=source.pk, at=NOON)

    for absent in (source, foreign):
        with pytest.raises(NotFound):
            verified_sources.change(actor=admin, source_id=absent.pk, target="UC1", label="Ours", at=NOON)


def test_only_admins_keep_sources(admin: Actor) -> None:
    creator = replace(admin, role="creator")
    source = _add(admin)

    calls = [
        lambda: _add(creator),
        lambda: verified_sources.change(actor=creator, source_id=source.pk, target="9", label="X", at=NOON),
        lambda: verified_sources.remove(actor=creator, source_id=source.pk, at=NOON),
    ]

    for call in calls:
        with pytest.raises(Forbidden):
            call()
    assert verified_sources.in_community(community_id=admin.community_id).count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_at_once_do_not_exceed_the_limit(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified_sources, "MOST_SOURCES", 1)

    results = run_together(*[lambda: _add(admin)] * 3)

    assert sorted(type(each).__name__ for each in results) == [
        "InvalidRequest",
        "InvalidRequest",
        "VerifiedSource",
    ]
