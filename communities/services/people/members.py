"""Members of communities, and respondents whom API callers identify by ids of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery
from django.utils.crypto import salted_hmac

from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound
from communities.ground.statements import columns_of, instance_of, prepared
from communities.ground.transactions import in_transaction
from communities.models import CommunitySettings, Identity, Member, User
from communities.services.people import identities, member_changes
from communities.services.trail import audit
from communities.services.trail.audit import Subject

_LOCKS = "communities.members.lock_user"
# Whether test keys made this user (rule 1.765): a member or a respondent of a test side.
OF_TESTS = Exists(Member.objects.filter(user=OuterRef("pk"), community__test_of__isnull=False)) | Exists(
    Identity.objects.filter(user=OuterRef("pk"), community__test_of__isnull=False)
)


class NoSuchMember(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such member.")


@dataclass(frozen=True, slots=True)
class Membership:
    """The user of a member, and whether the member has left."""

    user_id: int
    has_left: bool


@dataclass(frozen=True, slots=True)
class Account:
    """An account by which a platform knows a person."""

    provider: str
    platform_id: str


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """A user as one community knows them.

    `member_id` is None for a person who is not a present member. `role_ids` are their roles on the chat
    platform as it last listed them at `roles_told_at`; None if it never did. `accounts` begin with the
    account on the chat platform. `merged_ids` are users who were merged into this one. `is_active` is false
    for a deactivated person.
    """

    user_id: int
    name: str
    member_id: int | None = None
    role_ids: frozenset[str] = frozenset()
    roles_told_at: datetime | None = None
    accounts: tuple[Account, ...] = ()
    merged_ids: tuple[int, ...] = ()
    is_active: bool = True

    def account_on(self, provider: str | None) -> Account | None:
        return next((each for each in self.accounts if each.provider == provider), None)


# The columns for `person_of`, in its order. `person` is the user, and `here` their present membership.
COLUMNS_OF_PERSON = """
    person.id, coalesce(nullif(here.nick, ''), person.name), here.id, here.role_ids, here.roles_told_at,
    ARRAY(
        SELECT own.provider || ' ' || own.platform_id FROM communities_identity own
        WHERE own.user_id = person.id AND own.provider <> 'web'
            AND (own.community_id IS NULL OR own.community_id = %(community)s)
        ORDER BY own.provider <> 'chat', own.id
    ), person.merged_ids, person.is_active
"""
PERSON_HERE = """
    communities_user person LEFT JOIN communities_member here
        ON here.user_id = person.id AND here.community_id = %(community)s AND here.left_at IS NULL
"""


def find_person(*, community_id: int, user_id: int) -> KnownPerson | None:
    """Return a user as a community knows them, member or not; None if there is no such user."""
    return _known_person("WHERE person.id = %(user)s", {"community": community_id, "user": user_id})


def find_member(*, community_id: int, member_id: int) -> KnownPerson | None:
    """Return a present member by id; None if there is none."""
    return _known_person("WHERE here.id = %(member)s", {"community": community_id, "member": member_id})


def _known_person(where: str, values: dict[str, int]) -> KnownPerson | None:
    with prepared() as cursor:
        cursor.execute(f"SELECT {COLUMNS_OF_PERSON} FROM {PERSON_HERE} {where}", values)
        row = cursor.fetchone()
    return None if row is None else person_of(row)


def person_of(row: Sequence[Any]) -> KnownPerson:
    """The person in a row of `COLUMNS_OF_PERSON`."""
    user_id, name, member_id, role_ids, roles_told_at, accounts, merged_ids, is_active = row
    return KnownPerson(
        user_id,
        name,
        member_id,
        frozenset(role_ids or ()),
        roles_told_at,
        tuple(Account(*account.split(" ", 1)) for account in accounts),
        tuple(merged_ids or ()),
        is_active,
    )


def is_deactivated(*, user_id: int) -> bool:
    """Whether a user, or the user into whom they were merged, is deactivated."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM communities_user"
            " WHERE (id = %s OR merged_ids @> ARRAY[%s]::bigint[]) AND NOT is_active)",
            [user_id, user_id],
        )
        return bool(cursor.fetchone()[0])


def get_membership(*, community_id: int, member_id: int) -> Membership:
    """Return a member's user and whether they have left. Raises NoSuchMember."""
    members = Member.objects.filter(community_id=community_id, pk=member_id)
    row = members.values_list("user_id", "left_at").first()
    if row is None:
        raise NoSuchMember
    user_id, left_at = row
    return Membership(user_id, has_left=left_at is not None)


def find_member_id(*, community_id: int, user_id: int) -> int | None:
    """Return the id of a user's membership in a community; None if they are not a present member."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT id FROM communities_member WHERE community_id = %s AND user_id = %s AND left_at IS NULL",
            [community_id, user_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


@dataclass(frozen=True, slots=True)
class CurrentUser:
    """A user after all merges: their own id, and the ids of the users merged into them."""

    user_id: int
    merged_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LockedMember:
    """A present member under a lock, with the community's settings and the users merged into theirs."""

    member_id: int
    settings: CommunitySettings
    user: CurrentUser


def lock_member(*, community_id: int, user_id: int) -> LockedMember | None:
    """Lock a user's present membership until the transaction ends, so that it can get XP and rewards.

    During this time, nobody else can give anything to the member or erase them. Returns None for a user who
    is not a present member.
    """
    return lock_members(community_id=community_id, user_ids=[user_id]).get(user_id)


def lock_members(*, community_id: int, user_ids: Collection[int]) -> Mapping[int, LockedMember]:
    """Lock the present memberships of these users as `lock_member` does, in the order of user ids."""
    return _present_members(community_id, user_ids, "ORDER BY m.user_id FOR NO KEY UPDATE OF m")


def _present_members(
    community_id: int, user_ids: Collection[int], locking: str
) -> Mapping[int, LockedMember]:
    with prepared() as cursor:
        cursor.execute(
            f"SELECT m.user_id, m.id, u.merged_ids, {columns_of(CommunitySettings, 's')}"
            " FROM communities_member m JOIN communities_user u ON u.id = m.user_id"
            " LEFT JOIN communities_communitysettings s ON s.community_id = m.community_id"
            f" WHERE m.community_id = %s AND m.user_id = ANY(%s) AND m.left_at IS NULL {locking}",
            [community_id, list(user_ids)],
        )
        rows = cursor.fetchall()
    return {row[0]: _locked_member(community_id, row) for row in rows}


def _locked_member(community_id: int, row: Sequence[Any]) -> LockedMember:
    user_id, member_id, merged_ids, *columns = row
    has_settings = columns[0] is not None
    settings = (
        instance_of(CommunitySettings, columns)
        if has_settings
        else CommunitySettings(community_id=community_id)
    )
    return LockedMember(member_id, settings, CurrentUser(user_id, tuple(merged_ids or ())))


def hold_member(*, community_id: int, user_id: int) -> LockedMember | None:
    """Erasing and merging the user take the same lock (`lock_user`).

    Lock a user who may have been merged into another user since. Returns None for a user who is not a present
    member.
    """
    lock_user(user_id=user_id)
    return _present_members(community_id, [user_id], "").get(user_id)


def lock_current(
    lock: Callable[[int], LockedMember | None], *, user_id: int
) -> tuple[CurrentUser, LockedMember | None]:
    """Lock a user who may have been merged into another one since; None if they are not a present member.

    `lock` locks the membership of the user with this id. The merge may commit while `lock` waits, so the user
    is looked up after the lock.
    """
    while True:
        locked = lock(user_id)
        if locked is not None:
            return locked.user, locked
        user = current_user(user_id=user_id)
        if user is None or user.user_id == user_id:
            return user or CurrentUser(user_id), None
        user_id = user.user_id


def current_user(*, user_id: int) -> CurrentUser | None:
    """Return a user, or the user into whom they were merged; None if neither exists."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT id, merged_ids FROM communities_user WHERE id = %s"
            " UNION ALL SELECT id, merged_ids FROM communities_user WHERE merged_ids @> ARRAY[%s]::bigint[]"
            " LIMIT 1",
            [user_id, user_id],
        )
        row = cursor.fetchone()
    return CurrentUser(row[0], tuple(row[1] or ())) if row else None


def lock_user(*, user_id: int) -> None:
    """Wait for transactions that use the user's memberships. Later transactions wait for this transaction.

    The lock's key is a keyed hash, because PostgreSQL shows the owner of each lock, together with the
    transaction that writes an anonymous answer.
    """
    digest = salted_hmac(_LOCKS, str(user_id), algorithm="sha256").digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    with prepared() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def display_name(*, community_id: int, user_id: int) -> str:
    """Return a user's nick in a community, else their name; empty if they have neither."""
    nick = Member.objects.filter(user=OuterRef("pk"), community_id=community_id).values("nick")[:1]
    row = User.objects.filter(pk=user_id).annotate(nick=Subquery(nick)).values_list("nick", "name").first()
    return (row[0] or row[1]) if row else ""


def subject_of(*, community_id: int, member_id: int, user_id: int) -> Subject:
    """A member as the subject of an entry of the audit trail, by their current name."""
    name = display_name(community_id=community_id, user_id=user_id)
    return Subject(community_id, "member", member_id, name)


def display_names(*, community_id: int, user_ids: Collection[int]) -> Mapping[int, str]:
    """Return the names of users in a community who are staff or its members, present or not.

    Other users have no name here, even if other communities know them, so an erased member stays erased. User
    names, with which people sign in, are never returned (rule 7.29).
    """
    if not user_ids:
        return {}
    here = Member.objects.filter(user=OuterRef("pk"), community_id=community_id)
    users = User.objects.filter(Exists(here) | Q(is_staff=True), pk__in=user_ids)
    rows = users.annotate(nick=Subquery(here.values("nick")[:1])).values_list(
        "pk", "nick", "name", "is_staff"
    )
    names = {
        pk: nick or name or (audit.NAMELESS_STAFF if is_staff else "") for pk, nick, name, is_staff in rows
    }
    return {user_id: name for user_id, name in names.items() if name}


def user_for_external_id(*, community_id: int, external_id: str) -> int:
    """Return the user behind a caller's own id for a respondent, created when the id is first used."""
    fields = {"provider": Identity.Provider.WEB, "platform_id": external_id, "community_id": community_id}
    existing = Identity.objects.filter(**fields).values_list("user_id", flat=True).first()
    if existing is not None:
        return existing
    with in_transaction:
        user = User.objects.create()
        # The insert waits for a concurrent request with the same id, and does nothing if that request has
        # created the identity. A failed insert would end the transaction.
        Identity.objects.bulk_create([Identity(user=user, **fields)], ignore_conflicts=True)
        user_id = Identity.objects.values_list("user_id", flat=True).get(**fields)
        if user_id != user.pk:
            user.delete()
    return user_id


def users_for_external_ids(*, community_id: int, external_ids: Collection[str]) -> Mapping[str, int]:
    """Return the users behind many ids of a caller, as `user_for_external_id` does for one."""
    known = _users_by_external_id(community_id, external_ids)
    # The ids are sorted, because concurrent calls could deadlock otherwise.
    missing = sorted(set(external_ids) - known.keys())
    if not missing:
        return known
    with in_transaction:
        users = User.objects.bulk_create(User() for _ in missing)
        named = zip(missing, users, strict=True)
        Identity.objects.bulk_create(
            [
                Identity(
                    user=user,
                    provider=Identity.Provider.WEB,
                    platform_id=external_id,
                    community_id=community_id,
                )
                for external_id, user in named
            ],
            ignore_conflicts=True,
        )
        found = _users_by_external_id(community_id, external_ids)
        taken = set(found.values())
        if spare := [user.pk for user in users if user.pk not in taken]:
            User.objects.filter(pk__in=spare).delete()
    return found


def _users_by_external_id(community_id: int, external_ids: Collection[str]) -> dict[str, int]:
    identities = Identity.objects.filter(
        provider=Identity.Provider.WEB, platform_id__in=external_ids, community_id=community_id
    )
    return dict(identities.values_list("platform_id", "user_id"))


@dataclass(frozen=True, slots=True)
class AccountOfMember:
    """A present member with one of their accounts."""

    account: Account
    user_id: int
    member_id: int


def find_by_accounts(*, community_id: int, platform_ids: Collection[str]) -> Sequence[AccountOfMember]:
    """Return the present members with one of these ids on a platform that the community asks about.

    Accounts on the chat platform are listed first.
    """
    with prepared() as cursor:
        cursor.execute(
            "SELECT own.provider, own.platform_id, here.user_id, here.id FROM communities_identity own"
            " JOIN communities_member here ON here.user_id = own.user_id"
            " WHERE own.provider = ANY(%(providers)s) AND own.platform_id = ANY(%(ids)s)"
            " AND (own.community_id IS NULL OR own.community_id = %(community)s)"
            " AND here.community_id = %(community)s AND here.left_at IS NULL"
            " ORDER BY own.provider <> 'chat', own.id",
            {
                "providers": sorted(identities.asked_about(community_id=community_id)),
                "ids": list(platform_ids),
                "community": community_id,
            },
        )
        rows = cursor.fetchall()
    return [
        AccountOfMember(Account(provider, platform_id), user_id, member_id)
        for provider, platform_id, user_id, member_id in rows
    ]


def keep_members(*, member_ids: Collection[int]) -> Mapping[int, int]:
    """Protect present members from being erased or merged until the transaction ends.

    Respondents do not wait for this lock. Returns the members who still exist, with their users: a merge may
    have given a member another user.
    """
    with prepared() as cursor:
        cursor.execute(
            "SELECT id, user_id FROM communities_member WHERE id = ANY(%s) AND left_at IS NULL"
            " ORDER BY user_id FOR KEY SHARE",  # Merges lock the rows in the same order.
            [sorted(member_ids)],
        )
        return dict(cursor.fetchall())


@in_transaction
def create_member(*, community_id: int, name: str, access: str, at: datetime) -> Member:
    """Create a user and make them a member of a community, at the command line."""
    user = User.objects.create(name=name)
    member = Member.objects.create(community_id=community_id, user=user, access=access, joined_at=at)
    audit.record(
        actor=None,
        action=Action.MEMBER_CREATED,
        on=Subject(community_id, "member", member.pk, name),
        at=at,
        after={"access": access},
    )
    member_changes.announce(member_ids=[member.pk], at=at)
    return member
