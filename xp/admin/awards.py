"""Giving and taking XP by hand, in two steps: enter the amount, then confirm the new total."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.errors import Refusal
from communities.ground.form_fields import TextField
from communities.models import Member
from communities.services import get_settings
from communities.staff import refusals
from communities.staff.texts import number
from xp.admin import profile
from xp.services import awards, ledger, standings

MAX_XP_PER_AWARD = 1_000_000
CHANGED_MEANWHILE = "The total has changed meanwhile. Please look at the new one and confirm again."


class AwardForm(forms.Form):
    direction = forms.ChoiceField(
        choices=[("give", "Give"), ("take", "Take away")],
        widget=forms.RadioSelect,
        label="Give or take away",
        initial="give",
    )
    amount = forms.IntegerField(min_value=1, max_value=MAX_XP_PER_AWARD)
    note = TextField(
        required=False,
        max_length=ledger.MAX_NOTE_LENGTH,
        help_text="Say why. The ledger keeps it for good, and the person can read it.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    @property
    def signed_amount(self) -> int:
        amount: int = self.cleaned_data["amount"]
        return amount if self.cleaned_data["direction"] == "give" else -amount


class SeenForm(forms.Form):
    """The total that was shown and confirmed. With it, an award is never made twice, nor from
    another total.
    """

    seen = forms.IntegerField(min_value=0, required=False)


class Unseen(Exception):
    """The total has changed since it was confirmed."""


def _may_be_awarded(actor: Actor, member: Member) -> bool:
    return member.belongs


@profile.member_page("award", label="Give or take {xp}", order=10, is_offered=_may_be_awarded)
def award(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Show the form, then ask to confirm the new total, then show the new entry on the profile."""
    form = AwardForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid() or "change" in request.POST:
        return _ask_what(request, actor, member, form)
    seen = SeenForm(request.POST)
    total = seen.cleaned_data["seen"] if seen.is_valid() else None
    if "confirmed" not in request.POST or total is None:
        return _ask_whether(request, actor, member, form)
    try:
        entry_id = _award(actor, member, form, seen=total)
    except Unseen:
        return _ask_whether(request, actor, member, form, warning=CHANGED_MEANWHILE)
    except Refusal as refusal:
        refusals.add_to_form(form, refusal)
        return _ask_what(request, actor, member, form)
    messages.success(request, "Done. The new entry stands at the top of the ledger.")
    return HttpResponseRedirect(f"{profile.address(member.pk)}#entry-{entry_id}")


@transaction.atomic
def _award(actor: Actor, member: Member, form: AwardForm, *, seen: int) -> int:
    """Award by the service that the API uses, if the total is still the one that was shown. Raises Unseen."""
    ledger.lock(community_id=actor.community_id, member_id=member.pk)
    at = timezone.now()
    if standings.of_member(member_id=member.pk, at=at).total != seen:
        raise Unseen
    entry = awards.award_by_hand(
        actor=actor,
        member_id=member.pk,
        amount=form.signed_amount,
        note=form.cleaned_data["note"].strip() or None,
        at=at,
    )
    return entry.pk


def _ask_what(request: HttpRequest, actor: Actor, member: Member, form: AwardForm) -> HttpResponse:
    settings = get_settings(community_id=actor.community_id)
    xp = settings.name_of_xp
    form.fields["amount"].label = f"How much {xp}"
    context = {
        "title": f"Give or take {xp}",
        "subtitle": f"{profile.name_of(member)} has {number(_total(member))} {xp}.",
        "form": form,
        "button": "Go on",
        "refusal": None if settings.gives_xp else f"{xp} is switched off in this community's settings.",
    }
    return profile.render(request, member, "admin/form.html", context)


def _ask_whether(
    request: HttpRequest, actor: Actor, member: Member, form: AwardForm, warning: str = ""
) -> HttpResponse:
    xp, total, amount = get_settings(community_id=actor.community_id).name_of_xp, _total(member), 0
    amount = form.signed_amount
    after = max(total + amount, 0)
    verb = "Give" if amount > 0 else "Take"
    whom = f"{'to' if amount > 0 else 'from'} {profile.name_of(member)}"
    stops = [f"The total cannot fall below 0: {number(total)} {xp} are taken, not {number(-amount)}."]
    context: dict[str, Any] = {
        "title": f"{verb} {number(abs(amount))} {xp} {whom}?",
        "warning": warning,
        "consequences": [
            f"The total changes from {number(total)} to {number(after)} {xp}.",
            *(stops if total + amount < 0 else []),
            "The ledger keeps it for good, with your name. Another entry can correct it.",
        ],
        "form": form,
        "total": total,
        "button": f"{verb} {number(abs(amount))} {xp}",
    }
    return profile.render(request, member, "admin/communities/member/confirm_award.html", context)


@profile.member_page("reset", label="Reset {xp} to 0", order=30)
def reset(request: HttpRequest, actor: Actor, member: Member) -> HttpResponse:
    """Ask for confirmation, then take all XP by an entry in the ledger."""
    xp, total = get_settings(community_id=actor.community_id).name_of_xp, _total(member)
    if request.method == "POST":
        entry = awards.reset_by_hand(actor=actor, member_id=member.pk, at=timezone.now())
        if entry is None:
            messages.info(request, f"There was no {xp} to take.")
            return HttpResponseRedirect(profile.address(member.pk))
        messages.success(request, f"{profile.name_of(member)} has 0 {xp} now.")
        return HttpResponseRedirect(f"{profile.address(member.pk)}#entry-{entry.pk}")
    context = {
        "title": f"Reset the {xp} of {profile.name_of(member)} to 0?",
        "consequences": [
            f"All {number(total)} {xp} are taken, and the level falls to 0.",
            "Achievements, roles and the number of completed surveys stay.",
            "The ledger keeps it for good, with your name. To undo it, give the same amount again.",
        ],
        "button": f"Reset to 0 {xp}",
        "is_dangerous": True,
    }
    return profile.render(request, member, "admin/confirm.html", context)


def _total(member: Member) -> int:
    return standings.of_member(member_id=member.pk, at=timezone.now()).total
