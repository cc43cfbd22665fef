"""Users and groups: for superusers, and for staff with Django's permissions for them.

Staff see the members of the communities that they administer, and cannot give anybody more rights than they
have.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_post_parameters

from communities.admin.account_security import AccountSecurityPages
from communities.models import Identity, User
from communities.services.people import identities
from communities.services.people import staff as staff_rules
from communities.services.tenants.member_search import find_users
from communities.staff import acting
from communities.staff.base import Nav, OperationsModelAdmin
from communities.staff.listing import Column, Empty, Filter, Listing, Order
from communities.staff.texts import moment

# The audit trails of communities may show the values of these fields.
FLAGS = ("is_active", "is_staff", "is_superuser")
YES_OR_NO = [("yes", "Yes"), ("no", "No")]


class IdentityInline(admin.TabularInline[Identity, User]):
    """Accounts on platforms.

    Superusers can delete accounts. Nobody can add an account, because owners prove their accounts themselves.
    """

    model = Identity
    fields = readonly_fields = ("provider", "platform_id", "community", "name", "proven_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Identity]:
        """All accounts for superusers; for other staff, the accounts of a community that they administer."""
        rows, staff = super().get_queryset(request), acting.user_of(request)
        if staff.is_superuser:
            return rows
        return rows.filter(community_id__in=staff_rules.communities_of_admin(staff))

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return acting.user_of(request).is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return acting.user_of(request).is_superuser


class PasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg] # not generic when run
    """The form for a password that staff set. Accounts that only a community wrote down are first removed
    from the user.
    """

    def save(self, commit: bool = True) -> User:
        identities.leave_unproven(user_id=self.user.pk)
        user: User = super().save(commit)
        return user


@admin.register(User)
class UserAdmin(AccountSecurityPages, DjangoUserAdmin[User]):
    nav = Nav("Users", "person", 80, is_operations=True)
    search_fields = ("=id", "username__startswith")  # An index supports these searches.
    fieldsets = (
        (None, {"fields": ("username", "password", "name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    FOR_SUPERUSERS = frozenset({"username", "password", "email", "last_login", "date_joined"})
    change_password_form = PasswordForm
    add_fieldsets = ((None, {"fields": ("username", "name", "usable_password", "password1", "password2")}),)
    inlines = (IdentityInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return staff_rules.users_to_view(staff=acting.user_of(request))

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("Add a user", self.address("add"))] if self.has_add_permission(request) else []

    def listing(self, request: HttpRequest) -> Listing[User]:
        is_superuser = acting.user_of(request).is_superuser
        sign_in: list[Column] = [
            Column("User name", lambda row: row.username if row.has_chosen_username else "–"),
            Column("Email", lambda row: row.email or "–"),
            Column("Last sign-in", lambda row: moment(row.last_login) if row.last_login else "Never"),
        ]
        return Listing(
            columns=[
                Column(
                    "Name",
                    lambda row: row.get_full_name() if is_superuser else row.name or f"User {row.pk}",
                    is_title=True,
                ),
                *(sign_in if is_superuser else []),
                Column("Staff", lambda row: "Yes" if row.is_staff else "No"),
                Column("Active", lambda row: "Yes" if row.is_active else "No"),
                Column("Id", lambda row: str(row.pk)),
            ],
            orders={"newest": Order("Newest first", ("-id",))},
            filters=[
                Filter("staff", "Staff", YES_OR_NO, lambda rows, value: rows.filter(is_staff=value == "yes")),
                Filter(
                    "active", "Active", YES_OR_NO, lambda rows, value: rows.filter(is_active=value == "yes")
                ),
            ],
            searches="names, the beginning of a user name, or a complete id"
            if is_superuser
            else "names, or a complete id",
            search=lambda rows, term: rows.filter(
                pk__in=find_users(among=rows, term=term, by_username=is_superuser)
            ),
            empty=Empty("Users are all people that the installation knows: those who answer, and staff."),
            address_of=lambda row: self.address("change", row.pk),
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Allow new users only for superusers. A new user belongs to no community, so other staff could not
        see the user.
        """
        return acting.user_of(request).is_superuser

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may = admin.ModelAdmin.has_view_permission(self, request, obj)
        return may and (obj is None or staff_rules.may_view_user(staff=acting.user_of(request), user=obj))

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the history only to superusers, because Django's log names staff of other communities."""
        if not acting.user_of(request).is_superuser:
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return whether staff may change a user. The result also applies to changes of the user's
        password.
        """
        may = admin.ModelAdmin.has_change_permission(self, request, obj)
        return may and (obj is None or staff_rules.may_change_user(staff=acting.user_of(request), user=obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Refuse deletions. Staff make people inactive instead, because a deletion would delete their keys
        and the author of their projects.
        """
        return False

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the related rows of a user, and record the change in the audit trails of the user's
        communities.
        """
        super().save_related(request, form, formsets, change)
        if not change:
            return
        # A field with a default counts as changed if the form lacks its hidden initial value.
        changed = [name for name in form.changed_data if form.initial.get(name) != form.cleaned_data[name]]
        if any(each.has_changed() for each in formsets):
            changed.append("accounts")
        if changed:
            flags = [name for name in changed if name in FLAGS]
            staff_rules.record_account_change(
                staff=acting.user_of(request),
                user=form.instance,
                fields=changed,
                before={name: form.initial[name] for name in flags},
                after={name: form.cleaned_data[name] for name in flags},
                at=timezone.now(),
            )

    @method_decorator(sensitive_post_parameters())
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Set a password, and record it in the communities that know the user. For superusers only.

        The function is for superusers only: other staff could sign in as the user with the password, also in
        communities that the user joins later.
        """
        if not acting.user_of(request).is_superuser:
            raise PermissionDenied
        with transaction.atomic():
            before = self.get_object(request, id)
            response: HttpResponse = super().user_change_password(request, id, form_url)
            user = self.get_object(request, id)
            if user is not None and before is not None and user.password != before.password:
                staff_rules.record_account_change(
                    staff=acting.user_of(request),
                    user=user,
                    fields=["password"],
                    before={},
                    after={},
                    at=timezone.now(),
                )
        return response

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """The fields about signing in, sessions and second factors are only for superusers (rule 7.29)."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        if not acting.user_of(request).is_superuser:
            shown = [
                (title, [name for name in options["fields"] if name not in self.FOR_SUPERUSERS])
                for title, options in fieldsets
            ]
            return [(title, {"fields": names}) for title, names in shown if names]
        (title, options), *rest = fieldsets
        return [(title, {**options, "fields": (*options["fields"], "sign_in_and_security")}), *rest]

    @admin.display(description="Sign-in and security")
    def sign_in_and_security(self, user: User) -> SafeString:
        return self.link_to_security(user)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Return the read-only fields. Only superusers can make superusers."""
        is_superuser = acting.user_of(request).is_superuser
        return ("sign_in_and_security",) if is_superuser else ("is_superuser",)

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The form offers only groups and permissions that its user may give."""
        form = super().get_form(request, obj, change=change, **kwargs)
        groups, permissions = (obj.groups.all(), obj.user_permissions.all()) if obj else (None, None)
        staff = acting.user_of(request)
        _offer(form, "groups", staff_rules.groups_to_grant(staff=staff, granted=groups))
        _offer(form, "user_permissions", staff_rules.permissions_to_grant(staff=staff, granted=permissions))
        return form


@admin.register(Group)
class GroupAdmin(OperationsModelAdmin[Group], DjangoGroupAdmin):
    """The page of groups. Nobody can add a permission to a group that they do not have themselves."""

    nav = Nav("Groups", "people", 81, is_operations=True)

    def has_view_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return admin.ModelAdmin.has_view_permission(self, request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        may = admin.ModelAdmin.has_change_permission(self, request, obj)
        return may and (obj is None or staff_rules.may_change_group(staff=acting.user_of(request), group=obj))

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Return whether staff may delete a group. Django also calls this method for each group of a bulk
        deletion.
        """
        may = admin.ModelAdmin.has_delete_permission(self, request, obj)
        return may and (obj is None or staff_rules.may_change_group(staff=acting.user_of(request), group=obj))

    def get_form(
        self, request: HttpRequest, obj: Group | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        granted = obj.permissions.all() if obj else None
        permissions = staff_rules.permissions_to_grant(staff=acting.user_of(request), granted=granted)
        _offer(form, "permissions", permissions)
        return form


def _offer(form: Any, name: str, rows: QuerySet[Any]) -> None:
    """Limit the choices of a form's field to these rows, if the form has the field."""
    if name in form.base_fields:
        form.base_fields[name].queryset = rows
