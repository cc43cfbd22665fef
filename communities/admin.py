"""The admin site for staff. Rows that the service writes for itself are shown here, but not edited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest

from communities.models import (
    ApiKey,
    Community,
    CommunitySettings,
    IdempotentRequest,
    Identity,
    Member,
    User,
)
from communities.services import staff as staff_rules

M = TypeVar("M", bound=models.Model)

WITH_ADDRESSES: Mapping[type[models.Field[Any, Any]], Mapping[str, Any]] = {
    models.URLField: {"assume_scheme": "https"}
}


class LockedAdmin(admin.ModelAdmin[M]):
    """Rows that other requests change too. Each is locked before it is read for a change.

    Django's admin saves all fields of the row that it has read, and would overwrite concurrent changes.
    """

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        row = super().get_object(request, object_id, from_field)
        if row is None or request.method != "POST":
            return row
        self.lock(row)
        return super().get_object(request, object_id, from_field)

    def lock(self, row: M) -> None:
        """Lock this row until the transaction ends."""
        list(self.model._default_manager.select_for_update().filter(pk=row.pk))


class ReadAdmin(admin.ModelAdmin[M]):
    """Rows that the service writes. They are shown, but not edited."""

    formfield_overrides = WITH_ADDRESSES
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False


def _staff(request: HttpRequest) -> User:
    """Who is signed in to the admin."""
    return cast(User, request.user)


class SettingsInline(admin.StackedInline[CommunitySettings, Community]):
    model = CommunitySettings
    can_delete = False


class IdentityInline(admin.TabularInline[Identity, User]):
    model = Identity
    extra = 0
    raw_id_fields = ("community",)


@admin.register(User)
class UserAdmin(DjangoUserAdmin[User]):
    list_display = ("id", "name", "username", "email", "is_staff", "is_active", "last_login")
    list_display_links = ("id", "name")
    search_fields = ("=id", "name", "username", "email")
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("username", "password", "name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "name", "usable_password", "password1", "password2")}),)
    inlines = (IdentityInline,)
    show_full_result_count = False

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        may = super().has_view_permission(request, obj)
        return may and (obj is None or staff_rules.may_view_user(staff=_staff(request), user=obj))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Also for the password and the history of a user."""
        may = super().has_change_permission(request, obj)
        return may and (obj is None or staff_rules.may_change_user(staff=_staff(request), user=obj))

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """People are made inactive: deleting them would delete their keys and their projects' author."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Only superusers make superusers."""
        return () if _staff(request).is_superuser else ("is_superuser",)

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The form offers no group and no permission that the person at it could not have themselves."""
        form = super().get_form(request, obj, change=change, **kwargs)
        groups, permissions = (obj.groups.all(), obj.user_permissions.all()) if obj else (None, None)
        staff = _staff(request)
        _offer(form, "groups", staff_rules.groups_to_grant(staff=staff, granted=groups))
        _offer(form, "user_permissions", staff_rules.permissions_to_grant(staff=staff, granted=permissions))
        return form


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin):
    """Groups, which give nobody more than the person who changes them has."""

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        may = super().has_change_permission(request, obj)
        return may and (obj is None or staff_rules.may_change_group(staff=_staff(request), group=obj))

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        """Also for each of several groups that are deleted at once."""
        may = super().has_delete_permission(request, obj)
        return may and (obj is None or staff_rules.may_change_group(staff=_staff(request), group=obj))

    def get_form(
        self, request: HttpRequest, obj: Group | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        granted = obj.permissions.all() if obj else None
        permissions = staff_rules.permissions_to_grant(staff=_staff(request), granted=granted)
        _offer(form, "permissions", permissions)
        return form


def _offer(form: Any, name: str, rows: QuerySet[Any]) -> None:
    """Let a form's field, if it has it, choose among these rows alone."""
    if name in form.base_fields:
        form.base_fields[name].queryset = rows


@admin.register(Community)
class CommunityAdmin(LockedAdmin[Community]):
    list_display = ("id", "name", "tier", "bot_credits", "active_project_count", "total_project_count")
    list_display_links = ("id", "name")
    list_filter = ("tier",)
    search_fields = ("=id", "name")
    ordering = ("name",)
    readonly_fields = ("total_project_count", "active_project_count")
    raw_id_fields = ("user_setup",)
    formfield_overrides = WITH_ADDRESSES
    inlines = (SettingsInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Community | None = None) -> tuple[str, ...]:
        """The id cannot be changed, because Django would create another community."""
        return self.readonly_fields if obj is None else ("id", *self.readonly_fields)

    def has_delete_permission(self, request: HttpRequest, obj: Community | None = None) -> bool:
        """To delete a community, Django would load all of its answers."""
        return False


@admin.register(Member)
class MemberAdmin(admin.ModelAdmin[Member]):
    list_display = ("id", "user", "nick", "community", "access", "joined_at", "left_at")
    list_filter = ("access",)
    list_select_related = ("user", "community")
    search_fields = ("=id", "nick", "user__name", "=community__id")
    ordering = ("-id",)
    raw_id_fields = ("user", "community")
    formfield_overrides = WITH_ADDRESSES
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Member | None = None) -> tuple[str, ...]:
        """A membership stays one of the same user in the same community: keys, XP and answers refer to it."""
        return () if obj is None else ("user", "community")


@admin.register(ApiKey)
class ApiKeyAdmin(LockedAdmin[ApiKey]):
    """Keys are created through the interface or by `create_api_key`, since only those show the secret."""

    list_display = (
        "id",
        "name",
        "key_prefix",
        "community",
        "user",
        "last_used_at",
        "expires_at",
        "revoked_at",
        "rotated_by",
    )
    list_filter = ("restricted_to",)
    list_select_related = ("user", "community", "rotated_by")
    search_fields = ("=id", "name", "key_prefix", "=community__id")
    ordering = ("-id",)
    fields = (
        *("name", "description", "restricted_to", "expires_at", "revoked_at"),
        *("community", "user", "key_prefix", "created_at", "last_used_at", "rotated_at", "rotated_by"),
    )
    readonly_fields = fields[5:]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadAdmin[IdempotentRequest]):
    list_display = ("claim", "status", "expires_at")
    fields = ("claim", "status", "expires_at")
