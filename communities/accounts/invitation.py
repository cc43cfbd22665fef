"""The page of an invitation, and of joining an open community."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.signup import complete_signup
from allauth.account.models import EmailAddress
from allauth.account.utils import get_next_redirect_url
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters

from communities import sign_in
from communities.accounts import failures
from communities.accounts.forms import InvitedSignUp, LinkInvitation
from communities.ground.errors import Conflict, Forbidden, NotFound, Refusal
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import Invitation, Member, User
from communities.services.inviting import invitation_letters, invitations
from communities.services.people import identities

GONE = 410
CAN = {
    Member.Access.MEMBER: "answer its surveys and polls",
    Member.Access.CREATOR: "make surveys and polls there",
    Member.Access.ADMIN: "do everything there, as its other admins can",
}


@sensitive_post_parameters("password1")
def page(request: HttpRequest, token: str) -> HttpResponse:
    """Show the inviter and the community.

    A POST accepts the invitation, either with the account that is signed in or with a new account.
    """
    at = timezone.now()
    try:
        invitation = invitations.find(token=token, at=at)
    except (NotFound, Conflict) as refusal:
        failures.record(request, "link", "invalid_link")
        return render(request, "account/invitation_over.html", {"refusal": refusal.message}, status=GONE)
    if request.user.is_authenticated:
        return _accept(request, token, invitation)
    if invitation.uses_left is not None:
        return _ask_by_link(request, token, invitation)
    has_account = _has_account(invitation)
    form = InvitedSignUp(request.POST or None, initial={"name": invitation.name})
    form.judge_password_of(User(email=invitation.email, name=request.POST.get("name", "")))
    # The person created the account after they opened the page, perhaps with this invitation.
    if request.method == "POST" and has_account:
        return HttpResponseRedirect(request.path)
    if request.method == "POST" and form.is_valid():
        return _sign_up(request, token, form.cleaned_data)
    return _draw(request, invitation, {"form": form, "has_account": has_account})


def _draw(request: HttpRequest, invitation: Invitation, context: dict[str, Any]) -> HttpResponse:
    access = Member.Access(invitation.access)
    if invitation.member is not None:
        access = Member.Access(invitations.access_given(invitation, invitation.member))
    told = {
        "invitation": invitation,
        "community": invitation.community,
        "inviter": invitation_letters.inviter_of(invitation),
        "access": access.label,
        "role": invitation_letters.AS[access],
        "can": CAN[access],
        "gives": invitation_letters.gives(invitation),
        "refusal": "",
        "form": None,
        "has_account": True,
        "is_link": False,
        "sent_to": "",
        **context,
    }
    return render(request, "account/invitation.html", told)


def _accept(request: HttpRequest, token: str, invitation: Invitation) -> HttpResponse:
    user = request.user
    assert user.is_authenticated
    if invitation.member is not None and invitation.member.user_id != user.pk:
        return HttpResponseRedirect(reverse("account_invitation_merge", args=[token]))
    if request.method != "POST":
        return _draw(request, invitation, {})
    at = timezone.now()
    join = invitations.accept if invitation.uses_left is None else invitations.join_by_link
    try:
        join(token=token, user=user, at=at)
    except Refusal as refusal:
        return _draw(request, invitation, {"refusal": refusal.message})
    identities.join_written(user_id=user.pk, community_id=invitation.community_id, at=at)
    messages.success(request, f"You are a member of {invitation.community.name} now.")
    return HttpResponseRedirect(reverse("account"))


def _ask_by_link(request: HttpRequest, token: str, invitation: Invitation) -> HttpResponse:
    """Have the invitation sent to the address of a holder of a link, because only a mail proves the address.

    The page says the same whether or not the address has an account or an invitation.
    """
    form = LinkInvitation(request.POST if request.method == "POST" else None)
    told = {"form": form, "has_account": False, "is_link": True}
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        try:
            invitations.ask_by_link(token=token, email=email, at=timezone.now())
        except Refusal as refusal:
            return _draw(request, invitation, {**told, "refusal": refusal.message})
        return _draw(request, invitation, {**told, "sent_to": email})
    return _draw(request, invitation, told)


def _has_account(invitation: Invitation) -> bool:
    """Return whether a person has proven that they own the address. Only the reader of the mail learns the
    result.
    """
    return bool(EmailAddress.objects.filter(email=invitation.email, verified=True).exists())


def _sign_up(request: HttpRequest, token: str, values: dict[str, Any]) -> HttpResponse:
    """Create the account for the invited address, which the mail has proven, and sign in."""
    at = timezone.now()
    with sign_in.hashing_slot():
        fresh = User(email="", name=values["name"])
        fresh.set_password(values["password1"])
    try:
        user, invitation = _make_account(token, fresh, at)
    except Refusal as refusal:
        return render(request, "account/invitation_over.html", {"refusal": refusal.message}, status=GONE)
    except IntegrityError:  # Another request has just confirmed the address.
        return HttpResponseRedirect(request.path)
    messages.success(request, f"Welcome to {invitation.community.name}.")
    response: HttpResponse = complete_signup(request, user=user)
    return response


@again_after_deadlock
@in_transaction
def _make_account(token: str, fresh: User, at: Any) -> tuple[User, Invitation]:
    invitation = invitations.take(token=token, at=at)
    known = invitation.member.user if invitation.member else None
    user = known or fresh
    if known is not None:
        identities.leave_unproven(user_id=known.pk)
    user.name, user.password, user.email = fresh.name, fresh.password, invitation.email
    user.save()
    EmailAddress.objects.filter(user=user).delete()  # Nobody has confirmed these addresses.
    EmailAddress.objects.create(user=user, email=invitation.email, verified=True, primary=True)
    invitations.admit(invitation, user=user, at=at)
    return user, invitation


@login_required
def join(request: HttpRequest, community_id: int) -> HttpResponse:
    """Join a community that lets anybody join, and redirect to `next`, such as the survey that requires
    it.
    """
    community = invitations.open_community(community_id=community_id)
    if community is None:
        raise Http404
    if request.method == "POST":
        user = request.user
        assert user.is_authenticated
        at = timezone.now()
        try:
            invitations.join(community_id=community.pk, user=user, at=at)
        except Forbidden as refusal:
            messages.error(request, refusal.message)
            return HttpResponseRedirect(reverse("account"))
        identities.join_written(user_id=user.pk, community_id=community.pk, at=at)
        messages.success(request, f"You are a member of {community.name} now.")
        return HttpResponseRedirect(get_next_redirect_url(request) or reverse("account"))
    return render(request, "account/join.html", {"community": community})
