"""Members and roles, as the chat platform lists them."""

from datetime import timedelta

import pytest

from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import AuditEntry, Community, Identity, Member, SourceToken, User
from communities.services.people import platform_members
from tests.factories import CommunityFactory, IdentityFactory, MemberFactory
from tests.support.concurrency import run_together
from tests.support.identity_providers import visits
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms
from tests.support.moments import NOON

HERE = "/api/v10/users/@me/guilds/{}/member"
ASKED_AGAIN = NOON + timedelta(minutes=46)


@pytest.fixture
def community() -> Community:
    return CommunityFactory.create()


@pytest.fixture
def identity(platforms: Platforms, nelly: Person, community: Community) -> Identity:
    """Nelly has signed in, and is in the community's server."""
    nelly.guilds = {str(community.pk): ["7", "8"]}
    return visits.signed_in("chat", nelly)


def _refresh(identity: Identity, community: Community, *, minutes: float = 0) -> Member | None:
    at = NOON + timedelta(minutes=minutes)
    return platform_members.refresh(community_id=community.pk, user_id=identity.user_id, at=at)


@pytest.mark.django_db
def test_somebody_in_the_server_becomes_a_member(identity: Identity, community: Community) -> None:
    member = _refresh(identity, community)

    assert member == Member.objects.get()
    assert (member.user_id, member.access, member.left_at) == (identity.user_id, "member", None)
    assert (member.nick, member.role_ids, member.roles_told_at) == ("Nelly", ["7", "8"], NOON)
    assert str(member.joined_at) == "2023-04-26 06:26:56.936000+00:00"
    assert AuditEntry.objects.get().action == "member.created"


@pytest.mark.django_db
def test_a_stranger_to_the_server_becomes_no_member(
    identity: Identity, community: Community, nelly: Person
) -> None:
    nelly.guilds = {}

    assert _refresh(identity, community) is None
    assert not Member.objects.exists()


@pytest.mark.django_db
def test_roles_and_nick_follow_the_platform(identity: Identity, community: Community, nelly: Person) -> None:
    _refresh(identity, community)
    nelly.guilds[str(community.pk)], nelly.nick = ["9"], "Nell"

    member = _refresh(identity, community, minutes=5)

    assert member is not None
    assert (member.role_ids, member.nick) == (["9"], "Nell")


@pytest.mark.django_db
def test_somebody_who_is_gone_has_left_and_comes_back_with_their_access(
    identity: Identity, community: Community, nelly: Person
) -> None:
    _refresh(identity, community)
    Member.objects.update(access=Member.Access.CREATOR)
    roles = nelly.guilds.pop(str(community.pk))

    gone = _refresh(identity, community, minutes=5)
    nelly.guilds[str(community.pk)] = roles
    back = _refresh(identity, community, minutes=10)

    assert gone is not None
    assert (gone.left_at, gone.role_ids) == (NOON + timedelta(minutes=5), [])
    assert back is not None
    assert (back.left_at, back.access, back.role_ids) == (None, "creator", ["7", "8"])


@pytest.mark.django_db
def test_somebody_who_left_on_purpose_stays_away(identity: Identity, community: Community) -> None:
    _refresh(identity, community)
    Member.objects.update(left_at=NOON)

    member = _refresh(identity, community, minutes=5)

    assert member is not None
    assert member.left_at == NOON


@pytest.mark.django_db
def test_a_member_added_by_hand_is_never_marked_as_left(
    identity: Identity, community: Community, nelly: Person
) -> None:
    nelly.guilds = {}
    by_hand = MemberFactory.create(community=community, user=identity.user)
    without_account = MemberFactory.create(community=community)

    first = _refresh(identity, community)
    second = platform_members.refresh(community_id=community.pk, user_id=without_account.user_id, at=NOON)

    assert first == by_hand
    assert second == without_account
    assert not Member.objects.filter(left_at__isnull=False).exists()


@pytest.mark.django_db
def test_without_a_token_the_person_has_to_sign_in_again(
    identity: Identity, community: Community, platforms: Platforms
) -> None:
    _refresh(identity, community)
    platforms.grants.revoke_all()

    with pytest.raises(TokenRefused):
        _refresh(identity, community, minutes=5)

    assert Member.objects.get().left_at is None
    assert not SourceToken.objects.exists()


@pytest.mark.django_db
def test_an_account_that_nobody_has_proven_makes_no_member(
    platforms: Platforms, community: Community
) -> None:
    claimed = IdentityFactory.create()

    with pytest.raises(TokenRefused):
        _refresh(claimed, community)

    assert platforms.requests == []


@pytest.mark.django_db
def test_an_outage_changes_nothing(identity: Identity, community: Community, platforms: Platforms) -> None:
    _refresh(identity, community)
    platforms.scripted[HERE.format(community.pk)] = (502, "", {})

    with pytest.raises(PlatformUnavailable):
        _refresh(identity, community, minutes=5)

    assert Member.objects.get().roles_told_at == NOON


@pytest.mark.django_db
def test_a_late_answer_does_not_replace_a_newer_one(identity: Identity, community: Community) -> None:
    _refresh(identity, community, minutes=5)

    member = _refresh(identity, community, minutes=4)

    assert member is not None
    assert member.roles_told_at == NOON + timedelta(minutes=5)


@pytest.mark.django_db
def test_at_sign_in_all_communities_are_joined_whose_server_they_are_in(
    identity: Identity, community: Community, nelly: Person
) -> None:
    other = CommunityFactory.create()
    CommunityFactory.create()
    nelly.guilds |= {str(other.pk): [], "5": []}

    refreshed = platform_members.refresh_at_sign_in(
        identity_id=identity.pk, user_id=identity.user_id, at=NOON
    )

    assert refreshed == sorted([community.pk, other.pk])
    assert {each.community_id for each in Member.objects.all()} == {community.pk, other.pk}


@pytest.mark.django_db
def test_a_sign_in_goes_on_while_the_platform_is_silent(identity: Identity, platforms: Platforms) -> None:
    platforms.scripted["/api/v10/users/@me/guilds"] = (500, "", {})

    assert (
        platform_members.refresh_at_sign_in(identity_id=identity.pk, user_id=identity.user_id, at=NOON) == []
    )


@pytest.mark.django_db
def test_the_worker_refreshes_members_whose_roles_are_old(
    identity: Identity, community: Community, nelly: Person
) -> None:
    _refresh(identity, community)
    nelly.guilds[str(community.pk)] = ["9"]

    too_early = platform_members.refresh_old(at=NOON + timedelta(minutes=44))
    in_time = platform_members.refresh_old(at=ASKED_AGAIN)
    again = platform_members.refresh_old(at=ASKED_AGAIN)

    assert (too_early, in_time, again) == (0, 1, 0)
    assert Member.objects.get().role_ids == ["9"]


@pytest.mark.django_db
def test_the_worker_does_not_bring_back_an_erased_member(
    identity: Identity, community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refresh(identity, community)
    ask = platform_members._ask

    def erased_meanwhile(**kwargs: object) -> object:
        listed = ask(**kwargs)  # type: ignore[arg-type]
        Member.objects.all().delete()
        return listed

    monkeypatch.setattr(platform_members, "_ask", erased_meanwhile)

    assert platform_members.refresh_old(at=ASKED_AGAIN) == 1
    assert not Member.objects.exists()


@pytest.mark.django_db
def test_the_worker_leaves_the_platform_alone_for_as_long_as_it_says(
    identity: Identity, community: Community, platforms: Platforms
) -> None:
    _refresh(identity, community)
    path = HERE.format(community.pk)
    platforms.scripted[path] = (429, {"retry_after": 1200}, {"Retry-After": "1200"})
    platforms.requests.clear()

    for minutes in (46, 57, 65, 67):
        platform_members.refresh_old(at=NOON + timedelta(minutes=minutes))

    assert platforms.asked(path) == 2  # at once, and after the 20 minutes


@pytest.mark.django_db
def test_a_sign_in_that_takes_too_long_leaves_the_other_communities_to_the_worker(
    identity: Identity, community: Community, nelly: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = CommunityFactory.create()
    nelly.guilds[str(second.pk)] = ["9"]
    first_id, second_id = sorted([community.pk, second.pk])
    woken: list[tuple[str, dict[str, int]]] = []
    monkeypatch.setattr("communities.ground.queue.wake", lambda task, **kwargs: woken.append((task, kwargs)))
    monkeypatch.setattr(platform_members, "SECONDS_AT_SIGN_IN", -1.0)
    person = {"identity_id": identity.pk, "user_id": identity.user_id}

    at_sign_in = platform_members.refresh_at_sign_in(**person, at=NOON)
    in_the_worker = platform_members.refresh_rest(**woken[0][1], at=NOON)

    assert (at_sign_in, in_the_worker) == ([first_id], [second_id])
    assert woken == [(platform_members.REFRESH, {**person, "after": first_id})]
    assert Member.objects.filter(user=identity.user_id).count() == 2


@pytest.mark.django_db
def test_nobody_asks_about_an_inactive_person_at_sign_in(
    identity: Identity, community: Community, platforms: Platforms
) -> None:
    User.objects.filter(pk=identity.user_id).update(is_active=False)
    platforms.requests.clear()

    refreshed = platform_members.refresh_at_sign_in(
        identity_id=identity.pk, user_id=identity.user_id, at=NOON
    )

    assert refreshed == []
    assert platforms.asked(HERE.format(community.pk)) == 0
    assert not Member.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_first_answers_at_once_make_one_member(identity: Identity, community: Community) -> None:
    results = run_together(*[lambda: _refresh(identity, community)] * 3)

    assert {each.pk for each in results} == {Member.objects.get().pk}
