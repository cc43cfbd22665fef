"""Two users who turn out to be one person become one, and nothing of either is lost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.db import transaction

from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.models import (
    ApiKey,
    AuditEntry,
    Identity,
    Invitation,
    Mail,
    Member,
    SourceToken,
    User,
)
from communities.services.inviting import invitations
from communities.services.mail import mails
from communities.services.mail.mails import Message
from communities.services.people import memberships, source_tokens
from surveys.models import Completion, Conversation, PersonalLink, Project
from surveys.services.conversations import admission, moves
from surveys.services.conversations import service as conversations
from surveys.services.conversations.saving import LimitReached
from surveys.services.ground import anonymity
from surveys.services.people import service as people
from surveys.services.people.merging import merge_proven_users, merge_users
from tests.factories import (
    ApiKeyFactory,
    CommunitySettingsFactory,
    EarnedAchievementFactory,
    IdentityFactory,
    MemberFactory,
    UserFactory,
)
from tests.support import mails as support_mails
from tests.support.dumps import dump
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT
from xp.models import EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import ledger, roles

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def keep() -> Member:
    return scenario.member("Ann")


@pytest.fixture
def drop() -> Member:
    return scenario.member("Ann, too")


def _merge(keep: Member, drop: Member) -> None:
    merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=LUNCHTIME)


def _answer(made: Project, member: Member, *said: str) -> Conversation:
    respondent = admission.person(community_id=made.community_id, user_id=member.user_id)
    assert respondent is not None
    told = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    scenario.say(told, *said)
    return Conversation.objects.get(pk=told.conversation.pk)


def _award(member: Member, amount: int, *, days_ago: int = 0) -> None:
    ledger.award(
        member_id=member.pk,
        community_id=member.community_id,
        amount=amount,
        kind=XpEntry.SourceKind.SURVEY_COMPLETION,
        participation=1,
        at=LUNCHTIME - days_ago * DAY,
    )


def test_responses_become_the_kept_users_and_are_numbered_on(keep: Member, drop: Member) -> None:
    made = scenario.project(TEXT)
    own = [_answer(made, keep, "one"), _answer(made, keep, "two")]
    theirs = [_answer(made, drop, "three"), _answer(made, drop, "four")]

    _merge(keep, drop)

    rows = Conversation.objects.in_bulk([each.pk for each in (*own, *theirs)])
    assert [rows[each.pk].session_number for each in (*own, *theirs)] == [1, 2, 3, 4]
    assert {row.user_id for row in rows.values()} == {keep.user_id}
    assert _answer(made, keep, "five").session_number == 5


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_completions_of_both_count_towards_the_limit(keep: Member, drop: Member, privacy_mode: str) -> None:
    made = scenario.project(TEXT, max_completes_per_user=2, privacy_mode=privacy_mode)
    _answer(made, keep, "one")
    _answer(made, drop, "two")

    _merge(keep, drop)

    assert sum(scenario.completions(made)) == 2
    with pytest.raises(LimitReached):
        _answer(made, keep, "three")


def test_an_open_conversation_goes_on(keep: Member, drop: Member) -> None:
    made = scenario.project(TEXT, TEXT)
    begun = _answer(made, drop, "one")

    _merge(keep, drop)

    assert _answer(made, keep, "two").pk == begun.pk


def test_of_two_open_conversations_the_kept_users_goes_on_and_the_other_stays_partial(
    keep: Member, drop: Member
) -> None:
    made = scenario.project(TEXT, TEXT)
    own, theirs = _answer(made, keep, "own"), _answer(made, drop, "other")

    _merge(keep, drop)

    assert _answer(made, keep, "two").pk == own.pk
    left = Conversation.objects.get(pk=theirs.pk)
    assert (left.user_id, left.respondent, left.completed_at) == (keep.user_id, None, None)


@pytest.mark.parametrize("completes_first", [False, True])
def test_two_conversations_of_one_person_complete_once(
    keep: Member, drop: Member, completes_first: bool
) -> None:
    """Rule 6.470."""
    made = scenario.project(TEXT, TEXT, max_completes_per_user=1)
    own, theirs = _answer(made, keep, "own"), _answer(made, drop, "other")
    _merge(keep, drop)
    if completes_first:
        _answer(made, keep, "two")
    block = scenario.script(made).blocks[1].id

    with pytest.raises(Conflict):
        moves.answer(conversation_id=theirs.pk, raw={"block_id": block, "value": "late"}, at=LUNCHTIME)
    with pytest.raises(Conflict):
        moves.back(conversation_id=theirs.pk, at=LUNCHTIME)

    if not completes_first:
        _answer(made, keep, "two")
    done = Conversation.objects.filter(project=made, completed_at__isnull=False)
    assert [each.pk for each in done] == [own.pk]
    assert scenario.completions(made) == [1]


def test_xp_are_added_by_one_entry_and_the_month_counts_what_it_did(keep: Member, drop: Member) -> None:
    _award(keep, 10)
    _award(drop, 100, days_ago=40)
    _award(drop, 5)

    _merge(keep, drop)

    standing = Standing.objects.get()
    assert (standing.member_id, standing.xp_total, standing.xp_in_month, standing.participation) == (
        *(keep.pk, 115, 15),
        3,
    )
    newest = XpEntry.objects.order_by("-pk").first()
    assert newest is not None
    assert (newest.delta, newest.balance_after, newest.source_kind) == (105, 115, "opening_balance")


def test_achievements_and_roles_are_had_once(keep: Member, drop: Member) -> None:
    for member, number, at in ((keep, 1, LUNCHTIME), (drop, 1, LUNCHTIME - DAY), (drop, 2, LUNCHTIME)):
        EarnedAchievementFactory.create(member=member, number=number, awarded_at=at)
    for member, role_id in ((keep, "7"), (drop, "7"), (drop, "8")):
        roles.grant(member_id=member.pk, role_id=role_id, project_id=None, project_name="", at=LUNCHTIME)

    _merge(keep, drop)

    earned = EarnedAchievement.objects.order_by("number").values_list("member_id", "number", "awarded_at")
    assert list(earned) == [(keep.pk, 1, LUNCHTIME - DAY), (keep.pk, 2, LUNCHTIME)]
    granted = RoleGrant.objects.order_by("role_id").values_list("member_id", "role_id")
    assert list(granted) == [(keep.pk, "7"), (keep.pk, "8")]


def test_a_membership_that_only_the_other_has_moves_as_it_is(keep: Member, drop: Member) -> None:
    there = MemberFactory.create(community=scenario.community(2), user=drop.user, access="admin")
    _award(there, 50)

    _merge(keep, drop)

    assert Member.objects.get(pk=there.pk).user_id == keep.user_id
    assert Standing.objects.get(pk=there.pk).xp_total == 50


def test_of_two_memberships_the_higher_access_and_the_newer_roles_are_kept(
    keep: Member, drop: Member
) -> None:
    Member.objects.filter(pk=keep.pk).update(
        role_ids=["1"],
        roles_told_at=LUNCHTIME - DAY,
        joined_at=LUNCHTIME,
        left_at=LUNCHTIME,
        left_server=True,
    )
    Member.objects.filter(pk=drop.pk).update(
        role_ids=["2"], roles_told_at=LUNCHTIME, joined_at=LUNCHTIME - DAY, access="creator", nick="Annie"
    )

    _merge(keep, drop)

    member = Member.objects.get()
    assert (member.pk, member.access, member.role_ids, member.joined_at, member.left_at, member.nick) == (
        *(keep.pk, "creator", ["2"], LUNCHTIME - DAY),
        *(None, "Annie"),
    )
    entry = AuditEntry.objects.get(action="member.merged")
    assert (entry.object_id, entry.before) == (str(keep.pk), {"member_id": str(drop.pk)})


@pytest.mark.parametrize("who_left", ["keep", "drop"])
def test_access_that_was_lost_does_not_come_back(keep: Member, drop: Member, who_left: str) -> None:
    left, present = (keep, drop) if who_left == "keep" else (drop, keep)
    Member.objects.filter(pk=left.pk).update(access="admin", left_at=LUNCHTIME, left_server=True)
    Member.objects.filter(pk=present.pk).update(access="member")

    _merge(keep, drop)

    member = Member.objects.get()
    assert (member.access, member.left_at, member.left_server) == ("member", None, False)


PRESENT = {"left_at": None, "left_server": False}
GONE_FROM_THE_SERVER = {"left_at": LUNCHTIME, "left_server": True}
REMOVED = {"left_at": LUNCHTIME - DAY, "left_server": False}


@pytest.mark.parametrize(
    ("own", "other", "merged"),
    [
        (REMOVED, PRESENT, REMOVED),
        (REMOVED, GONE_FROM_THE_SERVER, REMOVED),
        (GONE_FROM_THE_SERVER, REMOVED, REMOVED),
        (REMOVED, {**REMOVED, "left_at": LUNCHTIME}, {**REMOVED, "left_at": LUNCHTIME}),
        (PRESENT, REMOVED, REMOVED),
        ({**PRESENT, "joined_at": LUNCHTIME}, REMOVED, PRESENT),
        (REMOVED, {**PRESENT, "joined_at": LUNCHTIME}, PRESENT),
        (REMOVED, {**GONE_FROM_THE_SERVER, "joined_at": LUNCHTIME}, GONE_FROM_THE_SERVER),
        (GONE_FROM_THE_SERVER, PRESENT, PRESENT),
    ],
)
def test_a_membership_that_staff_ended_stays_ended_unless_the_other_one_began_later(
    keep: Member, drop: Member, own: dict[str, Any], other: dict[str, Any], merged: dict[str, Any]
) -> None:
    Member.objects.filter(pk=keep.pk).update(**own)
    Member.objects.filter(pk=drop.pk).update(**other)

    _merge(keep, drop)

    member = Member.objects.get()
    assert {"left_at": member.left_at, "left_server": member.left_server} == merged


def test_an_admins_invitations_end_if_a_merge_ends_their_membership(keep: Member, drop: Member) -> None:
    Member.objects.filter(pk=keep.pk).update(**REMOVED)
    Member.objects.filter(pk=drop.pk).update(access="admin")
    MemberFactory.create(community=keep.community, access="admin")
    actor = Actor(drop.user_id, "admin", drop.community_id, "premium")
    invitations.invite(actor=actor, email="bo@example.org", access="admin", at=LUNCHTIME)

    _merge(keep, drop)

    assert Invitation.objects.get().revoked_at == LUNCHTIME
    assert AuditEntry.objects.filter(action="invitation.revoked", actor_id=None).exists()


def _staff(member: Member) -> Actor:
    admin = MemberFactory.create(community=member.community, access="admin")
    return Actor(admin.user_id, "admin", member.community_id, "premium")


def _demote(member: Member, *, by: Actor) -> None:
    """Make an admin a member, at lunchtime."""
    Member.objects.filter(pk=member.pk).update(access="admin")
    memberships.change_access(actor=by, member_id=member.pk, access="member", at=LUNCHTIME)


def _accept(member: Member, *, by: Actor, days: int) -> None:
    """Make a user an admin by an invitation that was sent so many days after lunchtime."""
    Member.objects.filter(pk=member.pk).delete()
    sent_at = LUNCHTIME + days * DAY
    invitations.invite(actor=by, email="ann@work.example", access="admin", at=sent_at)
    token = support_mails.path_in(support_mails.written("ann@work.example")[-1]).split("/")[-2]
    invitations.accept(token=token, user=member.user, at=LUNCHTIME + 2 * DAY)


def _merge_in(direction: str, first: Member, second: Member) -> Member:
    keep, drop = (first, second) if direction == "into the first" else (second, first)
    merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=LUNCHTIME + 3 * DAY)
    return Member.objects.get(user_id=keep.user_id)


DIRECTIONS = pytest.mark.parametrize("direction", ["into the first", "into the second"])


@DIRECTIONS
@pytest.mark.parametrize(("days", "given"), [(-1, "member"), (1, "admin")])
def test_a_demotion_stays_unless_the_other_account_was_invited_later(
    keep: Member, drop: Member, direction: str, days: int, given: str
) -> None:
    staff = _staff(keep)
    _demote(keep, by=staff)
    _accept(drop, by=staff, days=days)

    assert _merge_in(direction, keep, drop).access == given


@DIRECTIONS
@pytest.mark.parametrize("days", [-1, 1])
def test_a_removal_stays_unless_the_other_account_was_invited_later(
    keep: Member, drop: Member, direction: str, days: int
) -> None:
    staff = _staff(keep)
    Member.objects.filter(pk=keep.pk).update(left_at=LUNCHTIME)
    _accept(drop, by=staff, days=days)

    assert _merge_in(direction, keep, drop).belongs is (days == 1)


@DIRECTIONS
def test_who_was_removed_and_joined_again_as_anybody_may_is_removed(
    keep: Member, drop: Member, direction: str
) -> None:
    CommunitySettingsFactory.create(community=keep.community, allow_sign_up=True)
    Member.objects.filter(pk=keep.pk).update(left_at=LUNCHTIME)
    user = UserFactory.create()
    invitations.join(community_id=keep.community_id, user=user, at=LUNCHTIME + DAY)

    assert _merge_in(direction, keep, Member.objects.get(user=user)).left_at == LUNCHTIME


@DIRECTIONS
@pytest.mark.parametrize("days", [-1, 1])
def test_a_member_whom_staff_added_later_keeps_their_access(keep: Member, direction: str, days: int) -> None:
    staff = _staff(keep)
    _demote(keep, by=staff)
    added = memberships.add_member(actor=staff, nick="Ann", access="creator", at=LUNCHTIME + days * DAY)

    assert _merge_in(direction, keep, added).access == ("creator" if days == 1 else "member")


def test_an_admin_who_lowers_their_own_other_account_stays_an_admin(keep: Member, drop: Member) -> None:
    Member.objects.filter(pk=keep.pk).update(access="admin")
    _demote(drop, by=Actor(keep.user_id, "admin", keep.community_id, "premium"))

    _merge(keep, drop)

    assert Member.objects.get().access == "admin"


def test_a_merge_leaves_no_community_without_an_admin(keep: Member, drop: Member) -> None:
    Member.objects.filter(pk=keep.pk).update(**REMOVED)
    Member.objects.filter(pk=drop.pk).update(access="admin")

    with pytest.raises(Conflict, match="would have no admin"):
        _merge(keep, drop)

    assert User.objects.count() == 2


@pytest.mark.parametrize("who", ["keep", "drop"])
def test_a_locked_account_neither_gets_nor_gives_anything(keep: Member, drop: Member, who: str) -> None:
    User.objects.filter(pk={"keep": keep, "drop": drop}[who].user_id).update(is_active=False)

    with pytest.raises(Conflict, match="locked"):
        _merge(keep, drop)

    assert User.objects.count() == 2


def test_an_account_that_has_just_gone_is_refused(keep: Member) -> None:
    with pytest.raises(Conflict, match="gone"):
        merge_users(keep_id=keep.user_id, drop_id=keep.user_id + 1_000, at=LUNCHTIME)


def test_an_address_that_the_kept_user_has_not_confirmed_gives_way(keep: Member, drop: Member) -> None:
    EmailAddress.objects.create(user=keep.user, email="Ann@b.example", verified=False)
    EmailAddress.objects.create(user=drop.user, email="ann@b.example", verified=True, primary=True)

    _merge(keep, drop)

    address = EmailAddress.objects.get()
    assert (address.user_id, address.email, address.verified) == (keep.user_id, "ann@b.example", True)


def test_mails_that_wait_are_sent_all_the_same(keep: Member, drop: Member) -> None:
    mails.write(
        Message("a@b.example", "Hello", "Dear Ann"),
        kind="account/email/new_sign_in",
        at=LUNCHTIME,
        user_id=drop.user_id,
    )

    _merge(keep, drop)

    assert Mail.objects.get().user_id == keep.user_id


def test_a_proof_holds_for_the_owner_of_then_alone(keep: Member, drop: Member) -> None:
    account = IdentityFactory.create(user=UserFactory.create())

    with pytest.raises(Conflict, match="changed its owner"):
        merge_proven_users(keep_id=keep.user_id, drop_id=drop.user_id, identity_id=account.pk, at=LUNCHTIME)


def test_a_community_that_only_the_other_knew_reads_of_it_too(keep: Member, drop: Member) -> None:
    there = MemberFactory.create(community=scenario.community(2), user=drop.user)

    _merge(keep, drop)

    entry = AuditEntry.objects.get(community_id=2)
    assert (entry.action, entry.object_id, entry.actor_id) == ("member.merged", str(there.pk), keep.user_id)


def test_accounts_tokens_and_addresses_move_and_the_primary_address_stays(keep: Member, drop: Member) -> None:
    account = IdentityFactory.create(user=drop.user, provider="video", platform_id="v1", proven_at=LUNCHTIME)
    SocialAccount.objects.create(user=drop.user, provider="video", uid="v1")
    source_tokens.save(identity_id=account.pk, access="access", refresh="", expires_at=None)
    for member, email, is_verified in (
        (keep, "a@b.example", True),
        (drop, "c@d.example", True),
        (drop, "e@f.example", False),
    ):
        EmailAddress.objects.create(
            user=member.user, email=email, verified=is_verified, primary=email[0] != "e"
        )

    _merge(keep, drop)

    assert Identity.objects.get().user_id == SocialAccount.objects.get().user_id == keep.user_id
    assert SourceToken.objects.exists()
    kept = EmailAddress.objects.order_by("email").values_list("user_id", "email", "primary")
    assert list(kept) == [(keep.user_id, "a@b.example", True), (keep.user_id, "c@d.example", False)]


@pytest.mark.parametrize(
    ("dropped", "kept", "restricted", "is_revoked"),
    [
        ("admin", "admin", None, False),
        ("creator", "admin", "creator", False),
        ("creator", "member", None, False),
        ("member", "creator", None, True),
        ("member", "admin", None, True),
        ("member", "member", None, False),
    ],
)
@pytest.mark.parametrize("is_kept", [False, True])
def test_a_key_gets_no_more_rights_than_its_own_account_had(
    keep: Member, drop: Member, dropped: str, kept: str, restricted: str, is_revoked: bool, is_kept: bool
) -> None:
    """Rule 11.38. `dropped` is the access of the account with the key, which may be the one that stays."""
    with_key, other = (keep, drop) if is_kept else (drop, keep)
    Member.objects.filter(pk=other.pk).update(access=kept)
    Member.objects.filter(pk=with_key.pk).update(access=dropped)
    ApiKeyFactory.create(community=drop.community, user=with_key.user)
    CommunitySettingsFactory.create(community=drop.community)

    _merge(keep, drop)

    key = ApiKey.objects.get()
    assert key.user_id == keep.user_id
    assert (key.restricted_to, key.revoked_at is not None) == (restricted, is_revoked)
    changes = AuditEntry.objects.filter(action__startswith="api_key.").values_list("action", "after")
    expected = [("api_key.updated", {"role": "creator"})] if restricted else []
    assert [(action, after if action != "api_key.revoked" else {}) for action, after in changes] == (
        [("api_key.revoked", {})] if is_revoked else expected
    )


def test_a_key_of_somebody_who_is_no_member_is_revoked_when_they_become_one(
    keep: Member, drop: Member
) -> None:
    """Rule 11.38: it did not work, and would work again."""
    ApiKeyFactory.create(community=drop.community, user=keep.user)
    Member.objects.filter(pk=keep.pk).delete()

    _merge(keep, drop)

    assert ApiKey.objects.get().revoked_at == LUNCHTIME
    assert Member.objects.get().user_id == keep.user_id


def test_keys_projects_and_links_move(keep: Member, drop: Member) -> None:
    made = scenario.project(TEXT, author=drop.user)
    ApiKeyFactory.create(community=drop.community, user=drop.user)
    PersonalLink.objects.create(
        project=made, member=drop, created_by=drop.user, created_at=LUNCHTIME, expires_at=LUNCHTIME
    )

    _merge(keep, drop)

    assert Project.objects.get().author_id == ApiKey.objects.get().user_id == keep.user_id
    link = PersonalLink.objects.get()
    assert (link.member_id, link.created_by_id) == (keep.pk, keep.user_id)


def test_nothing_refers_to_the_dropped_user_but_the_history(drop: Member) -> None:
    keep = scenario.member("Ann")
    User.objects.filter(pk=drop.user_id).update(username="the-dropped-one")
    made = scenario.project(TEXT, TEXT)
    _answer(made, drop, "one")
    gone = anonymity.respondent_hash(project_id=made.pk, who=f"user:{drop.user_id}")

    _merge(keep, drop)

    rows = "\n".join(row for rows in dump().values() for row in rows)
    assert not User.objects.filter(pk=drop.user_id).exists()
    assert ("the-dropped-one" in rows, gone in rows) == (False, False)


def test_who_was_merged_can_be_erased_whole(keep: Member, drop: Member) -> None:
    made = scenario.project(TEXT)
    _answer(made, keep, "one")
    _answer(made, drop, "two")
    _merge(keep, drop)

    people.erase_account(user_id=keep.user_id, at=LUNCHTIME)

    assert not Completion.objects.exists()
    assert not Conversation.objects.filter(user__isnull=False).exists()


def test_a_superuser_is_never_dropped(keep: Member) -> None:
    root = UserFactory.create(is_superuser=True)

    with pytest.raises(Conflict):
        merge_users(keep_id=keep.user_id, drop_id=root.pk, at=LUNCHTIME)

    merge_users(keep_id=root.pk, drop_id=keep.user_id, at=LUNCHTIME)
    assert Member.objects.get().user_id == root.pk


def test_staff_stay_staff(keep: Member, drop: Member) -> None:
    User.objects.filter(pk=drop.user_id).update(is_staff=True)

    _merge(keep, drop)

    assert User.objects.get(pk=keep.user_id).is_staff


def test_a_fault_halfway_leaves_both_as_they_were(
    keep: Member, drop: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = scenario.project(TEXT)
    _answer(made, drop, "one")
    before = dump()

    def fail(**_user: Any) -> None:
        raise RuntimeError("The machine stopped.")

    monkeypatch.setattr("communities.services.people.personal_data.erase_user", fail)
    with pytest.raises(RuntimeError), transaction.atomic():
        _merge(keep, drop)

    assert dump() == before
