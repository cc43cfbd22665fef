"""Admin pages for XP: staff read what members earned, describe achievements, and may reset a member's XP."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.admin import WITH_ADDRESSES, LockedAdmin, M, MemberAdmin, ReadAdmin
from communities.models import Member, User
from xp.models import Achievement, EarnedAchievement, RoleGrant, Standing, XpEntry
from xp.services import achievements, ledger

MEMBER_SEARCH_FIELDS = ("=member__id", "member__nick", "member__user__name", "=member__community__id")


class MemberRowAdmin(ReadAdmin[M]):
    """Rows that belong to a member. Staff read them and edit none."""

    @admin.display(description="member", ordering="member_id")
    def member_name(self, row: Any) -> str:
        """The member's nick or the user's name, with the member's id."""
        return f"{row.member.nick or row.member.user.get_full_name()} ({row.member_id})"


def ledger_link(member_id: int) -> SafeString:
    """A link to the list of a member's XP entries."""
    address = reverse("admin:xp_xpentry_changelist", query={"member__id__exact": member_id})
    return format_html('<a href="{}">Ledger</a>', address)


class MemberRowInline(admin.TabularInline[M, Member]):
    """Rows that belong to a member, shown on the member's page.

    Staff cannot erase them here. An admin of the community can, with an API key:
    `DELETE /v1/communities/{community_id}/members/{member_id}/data`.
    """

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class StandingInline(MemberRowInline[Standing]):
    model = Standing
    fields = ("xp_total", "month", "xp_in_month", "participation", "entries")
    readonly_fields = ("entries",)

    @admin.display(description="XP entries")
    def entries(self, standing: Standing) -> SafeString:
        return ledger_link(standing.member_id)


class EarnedAchievementInline(MemberRowInline[EarnedAchievement]):
    model = EarnedAchievement
    fields = ("number", "name", "project_id", "awarded_at")


class RoleGrantInline(MemberRowInline[RoleGrant]):
    model = RoleGrant
    fields = ("role_id", "project_name", "created_at", "carried_out_at")


# `communities` must not import this app, so this app adds its inlines to the member's page.
MemberAdmin.inlines = (*MemberAdmin.inlines, StandingInline, EarnedAchievementInline, RoleGrantInline)


@admin.register(XpEntry)
class XpEntryAdmin(MemberRowAdmin[XpEntry]):
    list_display = (
        *("id", "member_name", "delta", "balance_after", "source_kind", "survey_name", "actor"),
        "created_at",
    )
    list_filter = ("source_kind", "created_at")
    list_select_related = ("member__user", "actor")
    search_fields = ("=id", *MEMBER_SEARCH_FIELDS)
    ordering = ("-id",)


@admin.register(Standing)
class StandingAdmin(MemberRowAdmin[Standing]):
    list_display = (
        *("member_name", "community", "xp_total", "month", "xp_in_month", "participation"),
        "entries",
    )
    list_filter = ("month",)
    list_select_related = ("member__user", "community")
    search_fields = MEMBER_SEARCH_FIELDS
    ordering = ("-xp_total", "member_id")
    actions = ("reset",)

    @admin.display(description="XP entries")
    def entries(self, standing: Standing) -> SafeString:
        return ledger_link(standing.member_id)

    def has_reset_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("xp.change_standing")

    @admin.action(description="Reset XP to 0", permissions=["reset"])
    def reset(self, request: HttpRequest, chosen: QuerySet[Standing]) -> None:
        """Reset each chosen member's XP. The new ledger entry records the staff user."""
        assert isinstance(request.user, User)
        actor_id, at = request.user.pk, timezone.now()
        # In a fixed order, or two concurrent resets could deadlock.
        rows = chosen.order_by("member_id").values_list("member_id", "community_id")
        with transaction.atomic():
            entries = [
                ledger.reset(member_id=member_id, community_id=community_id, actor_id=actor_id, at=at)
                for member_id, community_id in rows
            ]
        count = sum(entry is not None for entry in entries)
        self.message_user(request, f"Reset the XP of {count} of {len(entries)} members.", messages.SUCCESS)


class AchievementForm(ModelForm[Achievement]):
    """The form of an achievement. A new one may leave its number empty."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "number" in self.fields:
            self.fields["number"].required = False
            self.fields["number"].help_text = "Leave empty to use the community's next number."


@admin.register(Achievement)
class AchievementAdmin(LockedAdmin[Achievement]):
    """Achievements cannot be deleted, moved or renumbered: projects and scripts refer to their numbers."""

    list_display = ("name", "number", "community", "role_id", "image_url")
    list_select_related = ("community",)
    search_fields = ("name", "=number", "=community__id", "community__name")
    ordering = ("community_id", "number")
    raw_id_fields = ("community",)
    form = AchievementForm
    fields = ("community", "number", "name", "image_url", "role_id")
    formfield_overrides = WITH_ADDRESSES
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Achievement | None = None) -> tuple[str, ...]:
        return () if obj is None else ("community", "number")

    def save_model(
        self, request: HttpRequest, obj: Achievement, form: ModelForm[Achievement], change: bool
    ) -> None:
        if not change and form.cleaned_data["number"] is None:
            obj.number = achievements.next_number(community_id=obj.community_id)
        super().save_model(request, obj, form, change)

    def has_delete_permission(self, request: HttpRequest, obj: Achievement | None = None) -> bool:
        return False


@admin.register(EarnedAchievement)
class EarnedAchievementAdmin(MemberRowAdmin[EarnedAchievement]):
    list_display = ("name", "number", "member_name", "project_id", "awarded_at")
    list_filter = ("awarded_at",)
    list_select_related = ("member__user",)
    search_fields = ("name", "=number", "=project_id", *MEMBER_SEARCH_FIELDS)
    ordering = ("-id",)


class RoleGrantProgressFilter(admin.SimpleListFilter):
    title = "progress"
    parameter_name = "progress"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("waiting", "Waiting"), ("carried_out", "Carried out")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RoleGrant]) -> QuerySet[RoleGrant]:
        if self.value() is None:
            return queryset
        return queryset.filter(carried_out_at__isnull=self.value() == "waiting")


@admin.register(RoleGrant)
class RoleGrantAdmin(MemberRowAdmin[RoleGrant]):
    """Roles wait until a chat platform is connected."""

    list_display = ("role_id", "member_name", "project_name", "created_at", "is_waiting", "carried_out_at")
    list_filter = (RoleGrantProgressFilter,)
    list_select_related = ("member__user",)
    search_fields = ("=role_id", "project_name", "=project_id", *MEMBER_SEARCH_FIELDS)
    ordering = ("-id",)

    @admin.display(description="waits for a chat platform", boolean=True)
    def is_waiting(self, grant: RoleGrant) -> bool:
        return grant.is_waiting
