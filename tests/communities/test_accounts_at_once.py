"""An account is proven, changed, invited, joined and erased at the same moment: the order of locks.

A user is locked before their accounts. So each transaction sees the changes of the one before, and there are
no deadlocks. Here nothing runs again after a deadlock, so that one would be seen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.db import IntegrityError, connection, transaction
from django.test import Client

from communities.ground import transactions
from communities.ground.actors import Actor
from communities.ground.errors import Conflict
from communities.models import Identity, Invitation, Member, User
from communities.services.people import identities, memberships
from communities.tasks import join_written
from surveys.services.people import service as people
from surveys.services.people.merging import merge_proven_users
from tests.factories import IdentityFactory, MemberFactory, UserFactory
from tests.support import browsers, our_code
from tests.support.browsers import PASSWORD, invited, new_browser, person, sign_in, who
from tests.support.caller import Caller
from tests.support.concurrency import BackgroundCall, row_locked_elsewhere, run_together, wait_until
from tests.support.moments import NOON
from tests.support.ways_to_sign_in import WAYS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

X, Y = "820000000000000042", "820000000000000043"
EVE = "eve@example.org"


@pytest.fixture(autouse=True)
def _nothing_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "ATTEMPTS", 1)


@pytest.fixture
def attacker() -> Caller:
    return Caller("admin")


@pytest.fixture
def claimed(attacker: Caller) -> Member:
    """A member with an account that the attacker's community has written down."""
    answer = attacker.post("/members", {"platform_id": X, "nick": "Marit"})
    return Member.objects.get(pk=answer.json()["id"])


def prove() -> int:
    """The owner of the account signs in with it."""
    return identities.sign_in(provider="chat", platform_id=X, name="Marit Solberg", at=NOON).user_id


def act(member: Member) -> int:
    """The owner of the account acts in the community's chat."""
    return identities.note_acting(
        community_id=member.community_id, platform_id=X, name="Marit Solberg", at=NOON
    )


def wait_for(count: int) -> None:
    """Wait until this many transactions wait for a lock."""

    def are_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            return bool(cursor.fetchone()[0] >= count)

    wait_until(are_waiting)


# --- An invitation is accepted while its member gets an account -----------------------------------------


def with_a_new_account(path: str) -> tuple[Client, Callable[[], Any]]:
    browser = new_browser()
    return browser, lambda: browser.post(path, {"name": "Eve", "password1": PASSWORD}).status_code


def with_their_account(path: str) -> tuple[Client, Callable[[], Any]]:
    person("Eve", EVE)
    browser = new_browser()
    sign_in(browser, EVE)
    browsers.prove(browser)
    return browser, lambda: browser.post(f"{path}merge/").status_code


@pytest.mark.parametrize(("reader", "refused"), [(with_a_new_account, 410), (with_their_account, 409)])
@pytest.mark.parametrize("is_sign_in", [True, False])
def test_a_reader_gets_no_member_who_proves_an_account_meanwhile(
    attacker: Caller, claimed: Member, reader: Any, refused: int, is_sign_in: bool
) -> None:
    browser, accept = reader(invited(attacker.actor, member_id=claimed.pk, email=EVE))

    with transaction.atomic():
        owner_id = prove() if is_sign_in else act(claimed)
        accepting = BackgroundCall(accept)
        assert accepting.waits_for_lock()

    assert accepting.result() == refused
    account = Identity.objects.get(platform_id=X)
    assert (account.user_id, account.proven_at) == (owner_id, NOON)
    assert Member.objects.get(pk=claimed.pk).user_id == owner_id
    assert not account.user.has_usable_password()
    assert who(browser) != str(owner_id)
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize("reader", [with_a_new_account, with_their_account])
def test_who_proves_an_account_while_its_member_is_taken_is_somebody_new(
    attacker: Caller, claimed: Member, reader: Any
) -> None:
    browser, accept = reader(invited(attacker.actor, member_id=claimed.pk, email=EVE))

    with transaction.atomic():
        accept()
        proving = BackgroundCall(prove)
        assert proving.waits_for_lock()

    assert isinstance(proving.result(), int)
    assert who(browser) not in (None, str(proving.result()))
    assert Member.objects.get(pk=claimed.pk).user_id == int(who(browser) or 0)
    assert Identity.objects.get().user_id == proving.result()


def test_a_member_who_is_joined_to_their_owner_meanwhile_is_not_the_reader_s(
    attacker: Caller, claimed: Member
) -> None:
    Identity.objects.update(user=UserFactory.create(password=""))  # signs in, before it is written once more
    Identity.objects.update(community=None, proven_at=NOON)
    owner_id = Identity.objects.get().user_id
    IdentityFactory.create(user=claimed.user, community=claimed.community, platform_id=X, proven_at=None)
    browser, accept = with_a_new_account(invited(attacker.actor, member_id=claimed.pk, email=EVE))

    with row_locked_elsewhere("communities_member", claimed.pk):
        joining = BackgroundCall(lambda: join_written(user_id=owner_id))
        wait_for(1)
        accepting = BackgroundCall(accept)
        wait_for(2)

    assert (joining.result(), accepting.result()) == (None, 410)
    assert Member.objects.get(pk=claimed.pk).user_id == owner_id
    assert who(browser) is None
    assert not User.objects.get(pk=owner_id).has_usable_password()


# --- An account is changed while it is proven -----------------------------------------------------------


def test_a_sign_in_waits_for_a_change_of_the_account_without_holding_it(
    attacker: Caller, claimed: Member
) -> None:
    change = partial(attacker.in_another_thread().patch, f"/members/{claimed.pk}", {"platform_id": Y})

    with row_locked_elsewhere("communities_community", attacker.community.pk):
        changing = BackgroundCall(lambda: change().status_code)
        wait_for(1)
        proving = BackgroundCall(prove)
        wait_for(2)

    assert changing.result() == 200
    assert proving.result() != claimed.user_id
    assert set(Identity.objects.values_list("user_id", "platform_id", "community_id")) == {
        (claimed.user_id, Y, attacker.community.pk),
        (proving.result(), X, None),
    }


def test_an_account_whose_owner_acts_meanwhile_is_another_member_s(attacker: Caller) -> None:
    other = MemberFactory.create(community=attacker.community, user__password="")
    twin = attacker.in_another_thread()

    with transaction.atomic():
        acting_id = act(other)
        changing = BackgroundCall(lambda: twin.patch(f"/members/{other.pk}", {"platform_id": X}))
        assert changing.waits_for_lock()
    MemberFactory.create(community=attacker.community, user_id=acting_id)

    assert changing.result().status_code == 409
    assert Identity.objects.get().user_id == acting_id


@pytest.mark.parametrize("has_user_locked", [True, False])
def test_an_account_that_is_proven_while_it_leaves_its_user_stays(
    claimed: Member, monkeypatch: pytest.MonkeyPatch, has_user_locked: bool
) -> None:
    if not has_user_locked:
        monkeypatch.setattr(identities, "lock_owners", lambda *_: {})

    with transaction.atomic():
        Identity.objects.update(community=None, proven_at=NOON)
        leaving = BackgroundCall(lambda: identities.leave_unproven(user_id=claimed.user_id))
        assert leaving.waits_for_lock()

    assert leaving.result() is None
    assert Identity.objects.get().user_id == claimed.user_id


def changed(actor: Actor, account: Identity, member: Member) -> Callable[[], Any]:
    changes = {"platform_id": Y}
    return lambda: memberships.change_member(actor=actor, member_id=member.pk, changes=changes, at=NOON)


def erased(actor: Actor, account: Identity, member: Member) -> Callable[[], Any]:
    return lambda: people.erase(actor=actor, member_id=member.pk, at=NOON)


def merged(actor: Actor, account: Identity, member: Member) -> Callable[[], Any]:
    Identity.objects.filter(pk=account.pk).update(community=None, proven_at=NOON)
    keep_id = UserFactory.create(password="").pk
    return lambda: merge_proven_users(
        keep_id=keep_id, drop_id=member.user_id, identity_id=account.pk, at=NOON
    )


RIVALS = (changed, erased, merged)


@pytest.mark.long
def test_nobody_waits_in_a_circle_with_a_sign_in(attacker: Caller) -> None:
    """Twenty sign-ins, each at the same time as a change, erasure or merge of the account's user."""
    ends: list[Any] = []
    for number in range(20):
        SocialAccount.objects.all().delete()
        Identity.objects.filter(platform_id__in=[X, Y]).delete()
        member = MemberFactory.create(community=attacker.community, user__password="")
        account = IdentityFactory.create(
            user=member.user, community=member.community, platform_id=X, proven_at=None
        )
        rival = RIVALS[number % len(RIVALS)](attacker.actor, account, member)

        ends += run_together(prove, rival)

    assert {type(each) for each in ends} <= {int, type(None), Conflict}
    assert all(isinstance(each, int) for each in ends[::2])


# --- The database ---------------------------------------------------------------------------------------


ACCOUNTS: dict[str, Callable[[User], object]] = {
    **WAYS,
    "address": lambda user: EmailAddress.objects.create(user=user, email=EVE, verified=True),
    "acting": lambda user: IdentityFactory.create(
        user=user, community=user.memberships.get().community, platform_id=X, proven_at=NOON
    ),
}


@pytest.fixture
def invitation(attacker: Caller) -> Invitation:
    member = MemberFactory.create(community=attacker.community, user__password="")
    invited(attacker.actor, member_id=member.pk, email=EVE)
    return Invitation.objects.select_related("member__user").get()


def accepted(invitation: Invitation, **values: Any) -> None:
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=NOON, **values)


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_database_refuses_to_accept_an_invitation_of_a_member_who_has_an_account(
    invitation: Invitation, account: str
) -> None:
    assert invitation.member is not None
    owner = invitation.member.user
    ACCOUNTS[account](owner)

    for by in (None, person("Eve", "other@example.org")):
        with pytest.raises(IntegrityError, match="has an account"), transaction.atomic():
            accepted(invitation, accepted_by=by)
    accepted(invitation, accepted_by=owner)  # who is signed in


def test_the_database_lets_an_account_and_an_acceptance_wait_for_each_other(invitation: Invitation) -> None:
    assert invitation.member is not None
    owner = invitation.member.user
    written = IdentityFactory.create(
        user=owner, community=invitation.community, platform_id=X, proven_at=None
    )

    with transaction.atomic():
        Identity.objects.filter(pk=written.pk).update(proven_at=NOON)
        accepting = BackgroundCall(lambda: accepted(invitation))
        assert accepting.waits_for_lock()

    assert isinstance(accepting.result(), IntegrityError)


# --- All places -----------------------------------------------------------------------------------------

LOCKS = ("lock_owners(", "lock_owner_of(", "lock_account(", "_locked(provider")
# These are parts of the transactions of others, or lock nothing before the user.
PARTS = {
    ("communities/services/people/identities.py", "lock_owners"),
    ("communities/services/people/identities.py", "lock_owner_of"),
    ("communities/services/people/identities.py", "lock_account"),
    ("communities/services/people/identities.py", "leave_unproven"),
    ("communities/services/people/identities.py", "_locked"),
    ("communities/services/inviting/invitations.py", "take"),
    ("communities/services/people/memberships.py", "lock_to_change"),
    ("communities/services/people/platform_members.py", "_note_presence"),
    ("surveys/services/people/merging.py", "_merge_users"),
}
# Nobody may refer to a user who is about to be deleted.
STRONGER = {("communities/services/people/personal_data.py", "give_up_account")}


def _functions() -> Iterator[tuple[str, ast.FunctionDef, str]]:
    for module in our_code.modules("User.objects", "Identity.objects", *LOCKS):
        for node in module.tree.body:
            if isinstance(node, ast.FunctionDef):
                yield module.path, node, module.text(node)


def test_users_and_accounts_are_locked_in_one_place():
    careless = [
        (path, node.name)
        for path, node, text in _functions()
        if ("User.objects.select_for_update" in text or "Identity.objects.select_for_update" in text)
        and (path, node.name) not in STRONGER | {("communities/services/people/identities.py", "lock_owners")}
    ]
    assert careless == []


def test_no_account_is_deleted_by_a_key_that_was_read_before():
    """Django reads the rows and deletes them by their keys: one that was proven meanwhile would go."""
    careless = [
        (path, ast.unparse(each))
        for path, node, _ in _functions()
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "delete"
        if "Identity.objects" in ast.unparse(each.func.value)
    ]
    assert careless == []


def test_what_locks_users_runs_again_after_a_deadlock():
    lockers = [
        (path, node)
        for path, node, text in _functions()
        if any(lock in text for lock in LOCKS) and (path, node.name) not in PARTS
    ]
    once = [
        (path, node.name)
        for path, node in lockers
        if "again_after_deadlock"
        not in {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    ]
    assert len(lockers) >= 9
    assert once == []
