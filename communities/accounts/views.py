"""Pages of django-allauth that we extend."""

from __future__ import annotations

from typing import Any

from allauth.account import views as account
from allauth.account.decorators import reauthentication_required
from allauth.usersessions import views as sessions
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from communities.accounts import browsers, sign_ups
from communities.accounts.frame import user_of
from communities.accounts.providers.freshness import has_just_signed_in, require_fresh_sign_in
from communities.ground.ids import id_of


class SignUp(account.SignupView):
    """The page for signing up in a community that lets anybody sign up. A signed-in user joins instead."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        community = sign_ups.community_of(request)
        if request.user.is_authenticated and community is not None:
            return redirect("account_join", community.pk)
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "community": sign_ups.community_of(self.request)}


class Addresses(account.EmailView):
    """The page of e-mail addresses. Only a confirmed address can become the main one."""

    def _action_primary(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        address = self._get_email_address(request)
        if address is None or not address.verified:
            messages.error(request, "Confirm the address before it can be your main one.")
            return HttpResponseRedirect(self.get_success_url())
        return super()._action_primary(request, *args, **kwargs)


@method_decorator(reauthentication_required(app="allauth.account"), name="dispatch")
class SetPassword(account.PasswordSetView):
    """A first password, for people who signed up in another way."""


def absent(request: HttpRequest) -> HttpResponse:
    raise Http404


@require_POST
@login_required
def forget_browsers(request: HttpRequest) -> HttpResponse:
    """Make every remembered browser, this one included, require a code at the next sign-in."""
    user = user_of(request)
    user.browsers_forgotten_at = timezone.now()
    user.save(update_fields=["browsers_forgotten_at"])
    messages.success(request, "All remembered browsers are forgotten.")
    return redirect("mfa_index")


class Sessions(sessions.ListUserSessionsView):
    """The sessions of the user; one session can be ended, or all but this one."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        self._note_present_session()
        context = super().get_context_data(**kwargs)
        own = self.request.session.session_key
        rows = [
            {
                "id": each.pk,
                "browser": browsers.name_of(each.user_agent),
                "place": browsers.place_of(str(each.ip)),
                "since": each.created_at,
                "seen": each.last_seen_at,
                "is_this": each.session_key == own,
            }
            for each in context["sessions"]
        ]
        return {**context, "rows": sorted(rows, key=lambda row: (not row["is_this"], -row["id"]))}

    def _note_present_session(self) -> None:
        """List also a session that began without django-allauth."""
        key = self.request.session.session_key
        if not UserSession.objects.filter(session_key=key).exists():
            UserSession.objects.create_from_request(self.request)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not has_just_signed_in(request):
            require_fresh_sign_in(request)
        chosen = request.POST.get("session", "")
        if not chosen:
            response: HttpResponse = super().post(request, *args, **kwargs)
            return response
        rows = UserSession.objects.filter(user_id=request.user.pk)
        session = rows.filter(pk=id_of(chosen)).first()
        if session is not None and session.session_key != request.session.session_key:
            session.end()
            messages.success(request, "The session is ended.")
        return HttpResponseRedirect(reverse("usersessions_list"))
