"""Staff who may change users and groups cannot give themselves rights, and cannot change superusers."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from communities.models import AuditEntry, User
from tests.factories import CommunityFactory, IdentityFactory, MemberFactory, StaffFactory
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
OWN = ("change_user", "view_user", "add_user", "change_group", "add_group", "delete_group", "view_group")


class Staff:
    """Somebody with the permissions OWN, which they have from a group: admin of a community."""

    def __init__(self) -> None:
        self.user: User = StaffFactory.create(is_superuser=False)
        self.community = CommunityFactory.create()
        MemberFactory.create(community=self.community, user=self.user, access="admin")
        self.group = group("editors", *OWN)
        self.user.groups.add(self.group)
        self.client = Client()
        self.client.force_login(self.user)

    def colleague(self, **fields: Any) -> User:
        """Somebody else of the staff, a member of the same community."""
        user: User = StaffFactory.create(**{"is_superuser": False, **fields})
        MemberFactory.create(community=self.community, user=user)
        return user

    def open(self, page: str, *args: object) -> Any:
        return self.client.get(reverse(f"admin:{page}", args=args))

    def save(self, user: User, **values: object) -> Any:
        """Send the form of a user, as a browser would, with these values."""
        address = reverse("admin:communities_user_change", args=[user.pk])
        return self.client.post(address, {**form_of(user), **values})


def permission(name: str) -> Permission:
    return Permission.objects.get(codename=name)


def group(name: str, *permissions: str) -> Group:
    made, _ = Group.objects.get_or_create(name=name)
    made.permissions.set(map(permission, permissions))
    return made


def form_of(user: User) -> dict[str, object]:
    joined = user.date_joined
    return {
        "username": user.username,
        "name": user.name,
        "is_active": "on",
        "is_staff": "on",
        "date_joined_0": f"{joined:%Y-%m-%d}",
        "date_joined_1": f"{joined:%H:%M:%S}",
        "groups": list(user.groups.values_list("pk", flat=True)),
        "user_permissions": list(user.user_permissions.values_list("pk", flat=True)),
        "identities-TOTAL_FORMS": 0,
        "identities-INITIAL_FORMS": 0,
    }


def is_superuser(user: User) -> bool:
    return User.objects.get(pk=user.pk).is_superuser


def held(user: User) -> set[str]:
    user = User.objects.get(pk=user.pk)
    return {name.partition(".")[2] for name in user.get_all_permissions()}


def test_nobody_makes_themselves_or_others_superusers() -> None:
    staff = Staff()
    other = staff.colleague()

    answers = [staff.save(user, is_superuser="on", name="Changed") for user in (staff.user, other)]

    assert [answer.status_code for answer in answers] == [302, 302]
    for user in (staff.user, other):
        assert not is_superuser(user)
        assert User.objects.get(pk=user.pk).name == "Changed"
    assert b'name="is_superuser"' not in staff.open("communities_user_change", other.pk).content


@pytest.mark.parametrize("is_active", [True, False])
def test_superusers_are_not_to_be_touched(is_active: bool) -> None:
    staff = Staff()
    root = staff.colleague(is_superuser=True, is_active=is_active)
    passwords = {"password1": "a new secret 1", "password2": "a new secret 1", "set-password": "1"}

    answers = [
        staff.save(root, name="Changed"),
        staff.open("communities_user_change", root.pk),
        staff.open("communities_user_history", root.pk),
        staff.open("communities_user_delete", root.pk),
        staff.open("auth_user_password_change", root.pk),
        staff.client.post(reverse("admin:auth_user_password_change", args=[root.pk]), passwords),
    ]
    staff.client.post(
        reverse("admin:communities_user_changelist"),
        {"action": "delete_selected", "_selected_action": [root.pk], "post": "yes"},
    )

    assert [answer.status_code for answer in answers] == [403] * 6
    kept = User.objects.get(pk=root.pk)
    assert (kept.name, kept.password) == (root.name, root.password)


def test_an_account_that_may_do_more_is_not_changed() -> None:
    """Only superusers set passwords, because a person who sets a password can sign in as the user."""
    staff = Staff()
    direct = staff.colleague()
    direct.user_permissions.add(permission("delete_project"))
    by_group = staff.colleague(is_active=False)
    by_group.groups.add(group("curators", "delete_project"))
    same = staff.colleague()
    same.user_permissions.add(permission("view_user"))

    for user, expected in ((direct, 403), (by_group, 403), (same, 302)):
        passwords = {"password1": "a new secret 1", "password2": "a new secret 1", "set-password": "1"}
        page = reverse("admin:auth_user_password_change", args=[user.pk])
        assert staff.client.post(page, {**passwords, "usable_password": "true"}).status_code == 403
        assert staff.save(user, name="Changed").status_code == expected
        assert not User.objects.get(pk=user.pk).check_password("a new secret 1")


def test_nobody_grants_what_they_do_not_hold() -> None:
    staff = Staff()
    other = staff.colleague()
    foreign = group("viewers", "view_user")  # no more than they have, but not theirs to give
    powerful = group("curators", "delete_project")

    for user, values in (
        (staff.user, {"groups": [powerful.pk]}),
        (other, {"groups": [foreign.pk]}),
        (other, {"user_permissions": [permission("delete_project").pk]}),
    ):
        answer = staff.save(user, **values)
        assert answer.status_code == 200, values
        assert "is not one of the available choices" in answer.content.decode()
    allowed = staff.save(other, groups=[staff.group.pk], user_permissions=[permission("view_user").pk])

    assert allowed.status_code == 302
    assert held(staff.user) == held(other) == set(OWN)


def test_what_a_user_has_already_stays_when_somebody_else_saves_them() -> None:
    staff = Staff()
    other = staff.colleague()
    other.groups.add(group("viewers", "view_user"))

    answer = staff.save(other, name="Changed")

    assert answer.status_code == 302
    assert [each.name for each in other.groups.all()] == ["viewers"]


def test_groups_give_nobody_more_than_the_person_who_changes_them_has() -> None:
    staff, powerful, weak = Staff(), group("curators", "delete_project"), group("viewers", "view_user")
    own, foreign = permission("view_user").pk, permission("delete_project").pk

    def saved(*args: object, permissions: list[int]) -> int:
        page = reverse(f"admin:auth_group_{'change' if args else 'add'}", args=args)
        answer = staff.client.post(page, {"name": f"Group {args}", "permissions": permissions})
        return answer.status_code

    assert saved(staff.group.pk, permissions=[own, foreign]) == 200
    assert saved(permissions=[foreign]) == 200
    assert saved(powerful.pk, permissions=[own]) == 403
    assert staff.open("auth_group_delete", powerful.pk).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [powerful.pk, weak.pk], "post": "yes"}
    staff.client.post(reverse("admin:auth_group_changelist"), chosen)
    assert Group.objects.filter(pk__in=[powerful.pk, weak.pk]).count() == 2
    assert held(staff.user) == set(OWN)

    assert saved(weak.pk, permissions=[own, permission("change_user").pk]) == 302
    assert saved(permissions=[own]) == 302
    staff.client.post(reverse("admin:auth_group_changelist"), {**chosen, "_selected_action": [weak.pk]})
    assert not Group.objects.filter(pk=weak.pk).exists()


def test_only_members_of_ones_own_communities_are_seen() -> None:
    staff, other = Staff(), Staff()
    colleague = staff.colleague(name="Colleague")
    gone: User = StaffFactory.create(is_superuser=False, name="Gone")
    MemberFactory.create(community=staff.community, user=gone, left_at=gone.date_joined)
    other.colleague(name="Foreign")
    MemberFactory.create(community=other.community, user=staff.user, access="creator")

    page = staff.open("communities_user_changelist").content.decode()

    assert "Colleague" in page
    for name in ("Foreign", "Gone"):
        assert name not in page
        user = User.objects.get(name=name)
        assert staff.save(user, name="Changed").status_code == 302  # to the start, as for an unknown id
        assert User.objects.get(pk=user.pk).name == name
    assert staff.save(colleague, name="Changed").status_code == 302
    assert User.objects.get(pk=colleague.pk).name == "Changed"


def test_an_account_that_another_community_knows_is_seen_but_not_changed() -> None:
    """A new password would be one for the other community too."""
    staff, other = Staff(), Staff()
    both = staff.colleague(name="Both")
    MemberFactory.create(community=other.community, user=both)
    passwords = {"password1": "a new secret 1", "password2": "a new secret 1", "usable_password": "true"}
    page = reverse("admin:auth_user_password_change", args=[both.pk])

    assert "Both" in staff.open("communities_user_changelist").content.decode()
    assert staff.save(both, name="Changed").status_code == 403
    assert staff.client.post(page, passwords).status_code == 403
    assert User.objects.get(pk=both.pk).name == "Both"


def test_accounts_of_other_communities_are_not_shown() -> None:
    staff, other = Staff(), Staff()
    staff.group.permissions.add(permission("view_identity"))
    colleague = staff.colleague()
    IdentityFactory.create(user=colleague, platform_id="everywhere")
    IdentityFactory.create(user=colleague, platform_id="here", provider="web", community=staff.community)
    IdentityFactory.create(user=colleague, platform_id="elsewhere", provider="web", community=other.community)

    page = staff.open("communities_user_change", colleague.pk).content.decode()

    assert ["everywhere" in page, ">here<" in page, "elsewhere" in page] == [False, True, False]


def test_how_people_sign_in_is_for_superusers() -> None:
    staff, root = Staff(), Client()
    root.force_login(StaffFactory.create())
    colleague = staff.colleague(
        name="Mira", username="mira-77", email="mira@example.org", last_login=NOON, password="!x"
    )
    pages = [
        reverse("admin:communities_user_changelist"),
        reverse("admin:communities_user_changelist") + "?q=mira-77",
        reverse("admin:communities_user_change", args=[colleague.pk]),
    ]

    own, roots = ([client.get(page).content.decode() for page in pages] for client in (staff.client, root))

    for secret in ("mira@example.org", "mira-77</", "Last sign-in", "Last login"):
        assert not any(secret in page for page in own), secret
    assert ["mira-77" in pages[2] for pages in (own, roots)] == [False, True]
    assert "mira@example.org" in roots[0]
    assert ["Mira" in page for page in own] == [True, False, True]


def test_staff_of_no_community_see_no_users() -> None:
    staff = Staff()
    staff.user.memberships.update(access="creator")
    staff.colleague(name="Colleague")

    assert "Colleague" not in staff.open("communities_user_changelist").content.decode()


def test_only_superusers_add_users() -> None:
    assert Staff().open("communities_user_add").status_code == 403


def test_superusers_may_do_all_of_it() -> None:
    root: User = StaffFactory.create()
    other: User = StaffFactory.create(is_superuser=False)
    powerful = group("curators", "delete_project")
    client = Client()
    client.force_login(root)
    page = reverse("admin:communities_user_change", args=[other.pk])

    answer = client.post(page, {**form_of(other), "is_superuser": "on", "groups": [powerful.pk]})

    assert answer.status_code == 302
    assert is_superuser(other)
    assert list(other.groups.all()) == [powerful]
    for each in ("change", "history"):
        assert client.get(reverse(f"admin:communities_user_{each}", args=[other.pk])).status_code == 200


def test_a_changed_account_and_password_are_recorded_in_the_communities_that_know_it() -> None:
    staff = Staff()
    colleague = staff.colleague(name="Mira", username="mira", date_joined=NOON)
    password = reverse("admin:auth_user_password_change", args=[colleague.pk])

    staff.save(colleague)
    assert list(AuditEntry.objects.values_list("after", flat=True)) == []
    values = form_of(colleague)
    del values["is_active"]
    staff.client.post(
        reverse("admin:communities_user_change", args=[colleague.pk]), {**values, "name": "Mirabel"}
    )
    root = Client()
    root.force_login(StaffFactory.create())
    root.post(
        password, {"password1": "a-very-l0ng-one", "password2": "a-very-l0ng-one", "usable_password": "true"}
    )

    first, second = AuditEntry.objects.order_by("pk")
    assert (first.action, first.object_type, first.object_name) == ("member.updated", "member", "Mirabel")
    assert (first.community_id, first.actor_id) == (staff.community.pk, staff.user.pk)
    assert first.before == {"is_active": True}
    assert first.after == {"is_active": False, "account": ["is_active", "name"]}
    assert second.after == {"account": ["password"]}
    assert "a-very-l0ng-one" not in f"{second.before}{second.after}"


def test_a_user_is_added_without_a_password_and_a_refused_password_is_not_recorded() -> None:
    client = Client()
    client.force_login(StaffFactory.create())
    added = {"username": "kim", "name": "Kim", "usable_password": "false"}
    identities = {"identities-TOTAL_FORMS": 0, "identities-INITIAL_FORMS": 0}

    answer = client.post(reverse("admin:communities_user_add"), {**added, **identities})

    assert answer.status_code == 302
    kim = User.objects.get(username="kim")
    MemberFactory.create(user=kim)
    client.post(reverse("admin:auth_user_password_change", args=[kim.pk]), {"usable_password": "false"})
    assert not AuditEntry.objects.exists()
