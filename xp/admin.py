"""Staff look at what members earned, describe achievements, and may take a member's XP back."""

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

OF_A_MEMBER = ("=member__id", "member__nick", "member__user__name", "=member__community__id")


class OfMemberAdmin(ReadAdmin[M]):
    """What the machine wrote about a member."""

    @admin.display(description="member", ordering="member_id")
    def who(self, row: Any) -> str:
        """A name that staff know somebody by, with the member's id."""
        return f"{row.member.nick or row.member.user.get_full_name()} ({row.member_id})"


def entries_of(member_id: int) -> SafeString:
    """A link to a member's ledger."""
    address = reverse("admin:xp_xpentry_changelist", query={"member__id__exact": member_id})
    return format_html('<a href="{}">Ledger</a>', address)


class OfMember(admin.TabularInline[M, Member]):
    """What a member earned, on the member's own page.

    Staff erase nobody here. An admin of the community does, with their key:
    `DELETE /v1/communities/{community_id}/members/{member_id}/data`.
    """

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class StandingInline(OfMember[Standing]):
    model = Standing
    fields = ("xp_total", "month", "xp_in_month", "participation", "entries")
    readonly_fields = ("entries",)

    @admin.display(description="XP entries")
    def entries(self, standing: Standing) -> SafeString:
        return entries_of(standing.member_id)


class EarnedAchievementInline(OfMember[EarnedAchievement]):
    model = EarnedAchievement
    fields = ("number", "name", "project_id", "awarded_at")


class RoleGrantInline(OfMember[RoleGrant]):
    model = RoleGrant
    fields = ("role_id", "project_name", "created_at", "carried_out_at")


# Communities knows nothing of XP: who stands above adds what it has to the member's page.
MemberAdmin.inlines = (*MemberAdmin.inlines, StandingInline, EarnedAchievementInline, RoleGrantInline)


@admin.register(XpEntry)
class XpEntryAdmin(OfMemberAdmin[XpEntry]):
    list_display = (
        *("id", "who", "delta", "balance_after", "source_kind", "survey_name", "actor"),
        "created_at",
    )
    list_filter = ("source_kind", "created_at")
    list_select_related = ("member__user", "actor")
    search_fields = ("=id", *OF_A_MEMBER)
    ordering = ("-id",)


@admin.register(Standing)
class StandingAdmin(OfMemberAdmin[Standing]):
    list_display = ("who", "community", "xp_total", "month", "xp_in_month", "participation", "entries")
    list_filter = ("month",)
    list_select_related = ("member__user", "community")
    search_fields = OF_A_MEMBER
    ordering = ("-xp_total", "member_id")
    actions = ("reset",)

    @admin.display(description="XP entries")
    def entries(self, standing: Standing) -> SafeString:
        return entries_of(standing.member_id)

    def has_reset_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("xp.change_standing")

    @admin.action(description="Reset XP to 0", permissions=["reset"])
    def reset(self, request: HttpRequest, chosen: QuerySet[Standing]) -> None:
        """Each member's ledger says who did it."""
        assert isinstance(request.user, User)
        by, at = request.user.pk, timezone.now()
        # In one order, or two of the staff at once could wait for each other.
        rows = chosen.order_by("member_id").values_list("member_id", "community_id")
        with transaction.atomic():
            entries = [
                ledger.reset(member_id=member_id, community_id=community_id, actor_id=by, at=at)
                for member_id, community_id in rows
            ]
        count = sum(entry is not None for entry in entries)
        self.message_user(
            request, f"Took back the XP of {count} of {len(entries)} members.", messages.SUCCESS
        )


class AchievementForm(ModelForm[Achievement]):
    """A new one may be left without a number."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "number" in self.fields:
            self.fields["number"].required = False
            self.fields["number"].help_text = "Where it is empty, the community's next one."


@admin.register(Achievement)
class AchievementAdmin(LockedAdmin[Achievement]):
    """A number keeps its community once it is told: projects and scripts name it, and it is not deleted."""

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
class EarnedAchievementAdmin(OfMemberAdmin[EarnedAchievement]):
    list_display = ("name", "number", "who", "project_id", "awarded_at")
    list_filter = ("awarded_at",)
    list_select_related = ("member__user",)
    search_fields = ("name", "=number", "=project_id", *OF_A_MEMBER)
    ordering = ("-id",)


class Progress(admin.SimpleListFilter):
    title = "progress"
    parameter_name = "progress"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("waiting", "Waiting"), ("carried_out", "Carried out")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[RoleGrant]) -> QuerySet[RoleGrant]:
        if self.value() is None:
            return queryset
        return queryset.filter(carried_out_at__isnull=self.value() == "waiting")


@admin.register(RoleGrant)
class RoleGrantAdmin(OfMemberAdmin[RoleGrant]):
    """None is carried out before a chat platform is connected."""

    list_display = ("role_id", "who", "project_name", "created_at", "waits", "carried_out_at")
    list_filter = (Progress,)
    list_select_related = ("member__user",)
    search_fields = ("=role_id", "project_name", "=project_id", *OF_A_MEMBER)
    ordering = ("-id",)

    @admin.display(description="waits for a chat platform", boolean=True)
    def waits(self, grant: RoleGrant) -> bool:
        return grant.is_waiting
