"""The page of a community: fields for its admins, and fields for superusers."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from django.conf import settings as config
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from communities import second_factors
from communities.admin.community_forms import CommunityForm, initial_of
from communities.ground import brands
from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.tiers import TIERS
from communities.models import Community, CommunitySettings
from communities.second_factors import OwnFactorMissing
from communities.services import get_settings
from communities.services.tenants import communities, settings
from communities.services.tenants.places import common_time_zones
from communities.staff import acting, refusals, zone_changes
from communities.staff.base import CommunityPage, Nav
from communities.staff.texts import moment, number

# The parts of the form: a heading, an explanation, and the names of its fields.
PARTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("The community", "", ("name", "icon_url", "topics", "locale", "time_zone")),
    ("Joining", "", ("allow_sign_up",)),
    ("Security", "", ("require_second_factor",)),
    (
        "Other sites",
        "Pages of these sites may lead conversations, with tokens that your server asks for.",
        ("allowed_origins",),
    ),
    ("Privacy", "", ("default_anonymous_mode", "privacy_url")),
    ("Brand", "How pages look. A project can have a brand of its own.", brands.FIELDS),
    (
        "XP",
        "Points that members earn by answering.",
        ("use_xp", "xp_name", "xp_per_question", "use_leader_board"),
    ),
    (
        "Thanks",
        "What respondents read at the end of a survey.",
        ("thank_you_type", "thank_you_custom_message", "thank_you_custom_label"),
    ),
    ("Tier and credits", "Only superusers change these.", ("tier", "bot_credits")),
)


@admin.register(CommunitySettings)
class CommunityPageAdmin(CommunityPage[CommunitySettings]):
    nav = Nav("Community", "house", 60)

    def page(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        """Show the page, also before any settings were saved."""
        community = Community.objects.get(pk=actor.community_id)
        own = get_settings(community_id=community.pk)
        form = CommunityForm(
            request.POST if request.method == "POST" else None,
            initial=initial_of(community, own),
            is_superuser=acting.user_of(request).is_superuser,
        )
        if request.method == "POST" and form.is_valid():
            try:
                _save(actor, form)
            except OwnFactorMissing:
                _ask_for_own_factor(form)
            except Refusal as refusal:
                refusals.add_to_form(form, refusal)
            else:
                messages.success(request, _saved_in_words(request, actor, form))
                _say_what_moves(request, actor, own, form)
                _say_what_is_corrected(request, form)
                # Without a fragment the browser keeps the fragment of the form, from which the message is not
                # visible.
                return HttpResponseRedirect(f"{self.address('change', community.pk)}#content-start")
        context = {
            "title": "Community",
            "form": form,
            "parts": [
                (heading, text, [form[name] for name in names if name in form.fields])
                for heading, text, names in PARTS
                if any(name in form.fields for name in names)
            ],
            "facts": [*_facts(community), *_joining(community, own)],
            "time_zones": common_time_zones(),
            "preview": reverse("admin:surveys_project_community_look", args=[community.pk]),
        }
        return self.render(request, "admin/communities/communitysettings/page.html", context)


def _saved_in_words(request: HttpRequest, actor: Actor, form: CommunityForm) -> str:
    """Return a message about the saved values, and mark the first steps whose settings were chosen.

    A save without a change chooses all values on the page. A save with a change chooses the setting whose
    step links to this page.
    """
    asked = request.GET.get("choose")
    names = [name for name in settings.TO_CHOOSE if name == asked or not form.has_changed()]
    kept = settings.keep_settings(actor=actor, names=names, at=timezone.now())
    if form.has_changed():
        return "Saved."
    return "Saved as it is." if kept else "Nothing was changed."


def _say_what_moves(request: HttpRequest, actor: Actor, own: CommunitySettings, form: CommunityForm) -> None:
    """After a change of the time zone, list the planned times that are now at another time of day."""
    if "time_zone" not in form.changed_data:
        return
    zones = {"before": ZoneInfo(own.time_zone), "after": ZoneInfo(form.cleaned_data["time_zone"])}
    for note in zone_changes.notes(actor, **zones):
        messages.warning(request, note)


def _say_what_is_corrected(request: HttpRequest, form: CommunityForm) -> None:
    """After a change of the colours, list the colours that have too little contrast."""
    if {"accent_color", "background_color"} & set(form.changed_data):
        values = form.cleaned_data
        for note in brands.corrections(values["accent_color"], values["background_color"]):
            messages.warning(request, note)


def _ask_for_own_factor(form: CommunityForm) -> None:
    """Add a link beside the error, because each error in the list is a link itself."""
    words = '<a href="{}">Set up a second factor</a> for your own account first.'
    form[second_factors.FIELD].help_text = format_html(words, reverse("mfa_index"))
    form.add_error(second_factors.FIELD, "You have no second factor yourself yet.")


@transaction.atomic
def _save(actor: Actor, form: CommunityForm) -> None:
    """Save the changes through the services that the API uses."""
    at, (of_community, of_settings) = timezone.now(), form.changes
    if of_community or form.credits_change:
        communities.change_community(
            actor=actor, changes=of_community, credits_change=form.credits_change, at=at
        )
    if of_settings:
        settings.save_settings(actor=actor, changes=of_settings, at=at)


def _joining(community: Community, own: CommunitySettings) -> list[tuple[str, object]]:
    """Return the address at which people join, if anybody may join."""
    if not own.allow_sign_up:
        return []
    address = f"{config.BASE_URL}{reverse('account_signup')}?community={community.pk}"
    return [("Address to join", format_html('<a href="{0}">{0}</a>', address))]


def _facts(community: Community) -> list[tuple[str, object]]:
    tier = TIERS[community.tier]
    return [
        ("Tier", community.get_tier_display()),
        ("Credits for AI", number(community.bot_credits)),
        ("Requests a minute and key", number(tier.requests_per_minute)),
        ("Premium features", "Yes" if tier.has_premium_features else "No"),
        ("Projects open or scheduled", number(community.active_project_count)),
        ("Projects ever made", number(community.total_project_count)),
        ("Made", moment(community.created_date)),
        ("Id", str(community.pk)),
    ]
