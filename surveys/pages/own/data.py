"""A person's own data: everything as a file, leaving a community, and erasing the account."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from communities.accounts.frame import user_of
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.gate.downloads import File, download
from communities.ground.errors import Conflict
from communities.ground.form_fields import TextField
from communities.ground.slots import of_user
from communities.models import Community
from surveys.services.people import own_data, own_responses
from surveys.services.people import service as people

ERASE = "erase"


class EraseForm(forms.Form):
    """A text to type, so that nobody erases themselves by mistake."""

    confirmation = TextField(
        label=f"Type “{ERASE}” to confirm",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )

    def clean_confirmation(self) -> str:
        text: str = self.cleaned_data["confirmation"]
        if text.strip().lower() != ERASE:
            raise forms.ValidationError(f"Type the word “{ERASE}”.")
        return text


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """The possible actions on a person's own data."""
    context = {
        "memberships": own_responses.memberships(user_id=user_of(request).pk, at=timezone.now()),
        "form": EraseForm(),
    }
    return render(request, "account/data.html", context)


@require_POST
@login_required
def export(request: HttpRequest) -> StreamingHttpResponse:
    """Everything that is stored about the person, as one archive of JSON and CSV files."""
    require_fresh_sign_in(request)
    user_id = user_of(request).pk
    chunks = own_data.export(user_id=user_id, at=timezone.now())
    return download(request, File("application/zip", "colloquy-data.zip", chunks), owner=of_user(user_id))


@require_http_methods(["GET", "POST"])
@login_required
def erase(request: HttpRequest) -> HttpResponse:
    """Ask for confirmation, then erase the account with everything about the person in all communities."""
    require_fresh_sign_in(request)
    form = EraseForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            people.erase_account(user_id=user_of(request).pk, at=timezone.now())
        except Conflict as refusal:
            form.add_error(None, refusal.message)
        else:
            logout(request)
            return render(request, "account/erased.html")
    status = 422 if form.errors else 200
    return render(request, "account/erase.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def leave(request: HttpRequest, community_id: int) -> HttpResponse:
    """Ask for confirmation, then erase the person from one community."""
    require_fresh_sign_in(request)
    user = user_of(request)
    membership = user.memberships.filter(community_id=community_id).select_related("community").first()
    if membership is None:
        raise Http404("You are no member of such a community.")
    community: Community = membership.community
    form = EraseForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            people.erase_membership(user_id=user.pk, community_id=community_id, at=timezone.now())
        except Conflict as refusal:
            form.add_error(None, refusal.message)
        else:
            messages.success(request, f"You have left {community.name}, and your data there is erased.")
            return HttpResponseRedirect(reverse("account_data"))
    status = 422 if form.errors else 200
    return render(request, "account/leave.html", {"form": form, "community": community}, status=status)
