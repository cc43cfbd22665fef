"""The rights of staff over other people's accounts in the admin, so that nobody gains more rights than they
have.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.transactions import in_transaction
from communities.models import Community, Member, User
from communities.services.people import project_grants
from communities.services.people.members import OF_TESTS, subject_of
from communities.services.trail import audit
from communities.services.trail.audit import Values


def communities_of_admin(user: User) -> QuerySet[Member, int]:
    """The ids of the communities in which a user is a present admin."""
    own = Member.objects.filter(user=user, access=Member.Access.ADMIN, left_at__isnull=True)
    return own.values_list("community_id", flat=True)


def actor_of(*, user_id: int, community_id: int) -> Actor | None:
    """A user as an actor in a community, with the rights that they would have if they were signed in.

    None for people who are deactivated or have no role there. For work that a person planned.
    """
    user = User.objects.filter(pk=user_id, is_active=True).first()
    community = Community.objects.filter(pk=community_id).first()
    if user is None or community is None:
        return None
    member = Member.objects.filter(user=user, community=community, left_at__isnull=True).first()
    if user.is_superuser:
        return Actor(user.pk, "admin", community.pk, community.tier)
    if member is None:
        return None
    grants = project_grants.of_member(member)
    return Actor(user.pk, member.access, community.pk, community.tier, grants=grants)


def users_to_view(*, staff: User) -> QuerySet[User]:
    """The users that staff may view: the present members of the communities they administer, for superusers
    all but those of test sides.
    """
    users: QuerySet[User] = User.objects.all()
    if staff.is_superuser:
        return users.exclude(OF_TESTS)
    theirs = Member.objects.filter(community_id__in=communities_of_admin(staff), left_at__isnull=True)
    return users.filter(pk__in=theirs.values("user_id"))


def permissions_of(user: User) -> QuerySet[Permission]:
    """A user's permissions; for an inactive user, the permissions that they would have if they were
    active.
    """
    return Permission.objects.filter(Q(user=user) | Q(group__user=user)).distinct()


def may_view_user(*, staff: User, user: User) -> bool:
    """Return whether staff who may view users may view this user, who must be a member of a community that
    they administer.

    Only superusers may view superusers.
    """
    if staff.is_superuser:
        return True
    return not user.is_superuser and users_to_view(staff=staff).filter(pk=user.pk).exists()


def may_change_user(*, staff: User, user: User) -> bool:
    """Return whether staff who may change users may change this user, and set a password that lets them sign
    in as the user.

    The account must not have permissions that the staff lack. All its memberships must be in communities that
    the staff administer, because a new name, password or state takes effect in all of them.
    """
    if staff.is_superuser:
        return True
    elsewhere = user.memberships.exclude(community_id__in=communities_of_admin(staff))
    is_theirs = may_view_user(staff=staff, user=user) and not elsewhere.exists()
    return is_theirs and _has_all(staff, permissions_of(user))


def may_change_group(*, staff: User, group: Group) -> bool:
    """Return whether staff who may change groups may change or delete this group. It must contain no
    permission that they lack.
    """
    return staff.is_superuser or _has_all(staff, group.permissions.all())


def permissions_to_grant(*, staff: User, granted: QuerySet[Permission] | None) -> QuerySet[Permission]:
    """The permissions that staff may leave or give: those `granted` already, and their own."""
    every = Permission.objects.select_related("content_type")
    if staff.is_superuser:
        return every
    own = Q(pk__in=permissions_of(staff).values("pk"))
    return every.filter(own if granted is None else own | Q(pk__in=granted.values("pk")))


def groups_to_grant(*, staff: User, granted: QuerySet[Group] | None) -> QuerySet[Group]:
    """The groups that staff may leave a user in or add them to: those `granted` already, and their own."""
    if staff.is_superuser:
        return Group.objects.all()
    own = Q(pk__in=staff.groups.values("pk"))
    return Group.objects.filter(own if granted is None else own | Q(pk__in=granted.values("pk")))


def _has_all(staff: User, permissions: QuerySet[Permission]) -> bool:
    return not permissions.exclude(pk__in=permissions_of(staff).values("pk")).exists()


@in_transaction
def record_account_change(
    *, staff: User, user: User, fields: Collection[str], before: Values, after: Values, at: datetime
) -> None:
    """Write an entry into the audit trail of each community whose member the user is or was.

    `fields` are the names of all changed fields. `before` and `after` contain the values that the communities
    may read: whether the account is active and whether it is staff's.
    """
    for member in Member.objects.filter(user=user).select_related("community").order_by("pk"):
        community_id = member.community_id
        audit.record(
            actor=Actor(staff.pk, "admin", community_id, member.community.tier),
            action=Action.MEMBER_UPDATED,
            on=subject_of(community_id=community_id, member_id=member.pk, user_id=user.pk),
            at=at,
            before=before,
            after={**after, "account": sorted(fields)},
        )
