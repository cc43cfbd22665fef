"""The community's achievements, with their pictures and the members who earned them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.forms import once
from communities.forms.pictures import PictureField
from communities.ground.actors import Actor, Role
from communities.ground.errors import Refusal
from communities.ground.form_fields import TextField
from communities.services.chat import overview
from communities.services.chat.guilds import Guild
from communities.services.pictures import copies
from communities.services.pictures.copies import Copy
from communities.staff import listing, refusals
from communities.staff.base import CommunityModelAdmin, Nav
from communities.staff.chat_choices import offer_reward_role
from communities.staff.listing import Column, Empty, Listing, Order
from communities.staff.texts import moment, number
from xp.admin import profile
from xp.models import Achievement, EarnedAchievement
from xp.services import achievements, catalogue

WHAT_THEY_ARE = (
    "Achievements are badges that members earn by completing surveys, or where a survey gives one. A survey "
    "that gives its own achievement adds it here by itself."
)
MAX_NUMBER = achievements.ASSIGNED_NUMBERS_END - 1


class DescriptionForm(forms.Form):
    name = TextField(max_length=200, show_hidden_initial=True)
    image_url = PictureField(
        required=False,
        label="Picture",
        help_text="The https address of a square picture. Without one, Colloquy draws a badge.",
        widget=forms.URLInput(attrs={"data-picture": ""}),
        show_hidden_initial=True,
    )
    role_id = TextField(
        max_length=64,
        required=False,
        label="Role",
        help_text="The id of a role on the chat platform that members get with the achievement.",
        show_hidden_initial=True,
    )


class NewAchievementForm(DescriptionForm, once.CreationForm):
    number = forms.IntegerField(
        min_value=1,
        max_value=MAX_NUMBER,
        help_text="Surveys refer to the achievement by this number. It cannot be changed later.",
    )
    field_order = ("name", "number", "image_url", "role_id")


@admin.register(Achievement)
class AchievementAdmin(CommunityModelAdmin[Achievement]):
    """All members of the community may read them.

    Admins add and edit achievements. Nobody can delete an achievement, because surveys refer to its number.
    """

    nav = Nav("Achievements", "medal", 30)
    least_role = Role.MEMBER
    list_template = "admin/xp/achievement/list.html"

    def get_urls(self) -> list[URLPattern]:
        return [self.row_path("edit", self.edit_view), *super().get_urls()]

    def tools(self, request: HttpRequest, actor: Actor) -> list[tuple[str, str]]:
        return [("New achievement", self.address("add"))] if actor.is_admin else []

    def listing(self, request: HttpRequest, actor: Actor) -> Listing[Achievement]:
        earned = dict[int, int]()
        pictures = dict[str | None, Copy]()
        guild = overview.snapshot(community_id=actor.community_id)

        def load(rows: Sequence[Achievement]) -> None:
            numbers = [row.number for row in rows]
            earned.update(catalogue.count_earned(community_id=actor.community_id, numbers=numbers))
            pictures.update(copies.in_community(actor.community_id, [row.image_url for row in rows]))

        return Listing(
            columns=[
                Column("Name", lambda row: _with_badge(row, pictures), is_title=True),
                Column("Number", lambda row: row.number, is_number=True),
                Column("Earned by", lambda row: counted(earned[row.number]), is_number=True),
                Column("Role", lambda row: _role_of(row, guild) or "–"),
            ],
            orders={"number": Order("By number", ("number",))},
            empty=Empty(
                WHAT_THEY_ARE,
                "Make the first achievement" if actor.is_admin else "",
                self.address("add") if actor.is_admin else "",
            ),
            address_of=lambda row: self.address("change", row.pk),
            load=load,
        )

    def detail_view(self, request: HttpRequest, actor: Actor, row: Achievement) -> HttpResponse:
        rows = EarnedAchievement.objects.filter(community_id=row.community_id, number=row.number)
        guild = overview.snapshot(community_id=row.community_id)
        count = catalogue.count_earned(community_id=row.community_id, numbers=[row.number])[row.number]
        pictures = copies.in_community(row.community_id, [row.image_url])
        context = {
            "title": row.name,
            "tools": [("Edit", self.address("edit", row.pk))] if actor.is_admin else [],
            "back": self.address("changelist"),
            "back_label": "Achievements",
            "picture": picture_of(pictures.get(row.image_url), row.number),
            "facts": [
                ("Number", row.number),
                ("Earned by", counted(count)),
                ("Role that comes with it", _role_of(row, guild) or "None"),
            ],
            "page": listing.draw(request, _earners(), rows.select_related("member__user")),
        }
        return self.render(request, "admin/xp/achievement/detail.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        actor = self.actor(request)
        _require_admin(actor)
        proposed = catalogue.propose_number(community_id=actor.community_id)
        form = NewAchievementForm(
            request.POST if request.method == "POST" else None, initial={"number": proposed}
        )
        _offer_roles(form, actor)
        if request.method == "POST" and form.is_valid():
            values = form.cleaned_data

            def make() -> str:
                achievement = catalogue.add_achievement(
                    actor=actor,
                    number=values["number"],
                    name=values["name"],
                    image_url=values["image_url"] or None,
                    role_id=values["role_id"] or None,
                    at=timezone.now(),
                )
                messages.success(request, f"“{achievement.name}” is made.")
                return self.address("change", achievement.pk)

            try:
                return once.redirect(request, values["ticket"], make)
            except Refusal as refusal:
                form.add_error("number", refusal.message)
        context = {
            "title": "New achievement",
            "form": form,
            "button": "Make the achievement",
            "back": self.address("changelist"),
        }
        return self.render(request, "admin/form.html", context)

    def edit_view(self, request: HttpRequest, actor: Actor, row: Achievement) -> HttpResponse:
        """Edit the description. Only the fields that were changed in the form are saved."""
        _require_admin(actor)
        initial = {"name": row.name, "image_url": row.image_url or "", "role_id": row.role_id or ""}
        form = DescriptionForm(request.POST if request.method == "POST" else None, initial=initial)
        _offer_roles(form, actor)
        if request.method == "POST" and form.is_valid():
            changes = {name: form.cleaned_data[name] or None for name in form.changed_data}
            try:
                catalogue.change_achievement(
                    actor=actor, number=row.number, changes=changes, at=timezone.now()
                )
            except Refusal as refusal:
                refusals.add_to_form(form, refusal)
            else:
                messages.success(request, "Saved. Members who earned it keep the name it had then.")
                return HttpResponseRedirect(self.address("change", row.pk))
        context = {
            "title": f"Edit “{row.name}”",
            "form": form,
            "back": self.address("change", row.pk),
        }
        return self.render(request, "admin/form.html", context)


def picture_of(copy: Copy | None, number_: int, *, size: int = 96) -> SafeString:
    """Our copy of an achievement's own picture, or the generated badge for its number."""
    return format_html(
        '<img class="badge" src="{}" alt="" width="{}" height="{}" loading="lazy">',
        achievements.picture_path(number_, copy),
        size,
        size,
    )


def counted(count: int) -> str:
    """A number of members in words."""
    if count > catalogue.MAX_COUNTED:
        return f"More than {catalogue.MAX_COUNTED} members"
    return "Nobody yet" if not count else "1 member" if count == 1 else f"{number(count)} members"


def _with_badge(row: Achievement, pictures: Mapping[str | None, Copy]) -> SafeString:
    picture = picture_of(pictures.get(row.image_url), row.number, size=36)
    return format_html('<span class="with-badge">{}{}</span>', picture, row.name)


def _earners() -> Listing[EarnedAchievement]:
    return Listing(
        columns=[
            Column("Member", lambda row: profile.name_of(row.member), is_title=True),
            Column("Name at that time", lambda row: row.name),
            Column("Earned", lambda row: moment(row.awarded_at)),
        ],
        orders={"newest": Order("Newest first", ("-id",))},
        empty=Empty("Nobody has earned it yet."),
        address_of=lambda row: profile.address(row.member_id),
    )


def _offer_roles(form: DescriptionForm, actor: Actor) -> None:
    guild = overview.snapshot(community_id=actor.community_id)
    offer_reward_role(form, "role_id", guild, nothing="None")


def _role_of(row: Achievement, guild: Guild | None) -> str:
    """The role that an achievement gives, by its name if it is known."""
    if not row.role_id:
        return ""
    role = guild.roles.get(row.role_id) if guild else None
    return role.name if role else row.role_id


def _require_admin(actor: Actor) -> None:
    """Raise Http404 for all but admins, to whom alone these pages exist."""
    if not actor.is_admin:
        raise Http404
