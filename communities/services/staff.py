"""What staff may do to other people's accounts in the admin, so that nobody gains more than they have."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission
from django.db.models import Q, QuerySet

from communities.models import User


def permissions_of(user: User) -> QuerySet[Permission]:
    """A user's permissions, also those that they would have if they were active."""
    return Permission.objects.filter(Q(user=user) | Q(group__user=user)).distinct()


def may_view_user(*, staff: User, user: User) -> bool:
    """Whether staff who may view users may look at this one: superusers are for superusers."""
    return staff.is_superuser or not user.is_superuser


def may_change_user(*, staff: User, user: User) -> bool:
    """Whether staff who may change users may change this one, and set a password to sign in as them.

    Nobody may change an account that may do anything that they may not do themselves.
    """
    if staff.is_superuser:
        return True
    return not user.is_superuser and _has_all(staff, permissions_of(user))


def may_change_group(*, staff: User, group: Group) -> bool:
    """Whether staff who may change groups may change or delete this one: it must hold nothing they lack."""
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
