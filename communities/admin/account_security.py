"""The sign-in and security of a user. On these pages superusers see and remove ways to sign in, for people
who cannot do that themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from communities.accounts import browsers
from communities.accounts.providers.freshness import require_fresh_sign_in
from communities.models import User
from communities.services.people import account_security
from communities.services.people.account_security import WaysIn
from communities.staff import acting
from communities.staff.base import OperationsModelAdmin
from communities.staff.texts import moment

TITLE = "Sign-in and security"
NO_FACTORS = "There is no authenticator app and no passkey to remove."
OWN = "This is your own account. Change it on your own pages."
OWN_PAGES = "My sessions"


class Change(Protocol):
    """A function that removes something from a user."""

    def __call__(self, *, by: User, user: User, at: datetime) -> None: ...


class AccountSecurityPages(OperationsModelAdmin[User]):
    """Three pages of each user: their ways to sign in, and two confirmations before a removal."""

    def get_urls(self) -> list[URLPattern]:
        views = {
            "sign-in": self.security_view,
            "sign-in/end": self.end_view,
            "sign-in/remove": self.remove_view,
        }
        return [*(self._user_path(*each) for each in views.items()), *super().get_urls()]

    def _user_path(self, name: str, view: Callable[[HttpRequest, User], HttpResponse]) -> URLPattern:
        def opened(request: HttpRequest, object_id: str) -> HttpResponse:
            """Open the page only for superusers, because an account may belong to communities that other
            staff do not see.
            """
            user = self.get_object(request, object_id) if acting.user_of(request).is_superuser else None
            if user is None:
                raise Http404
            return view(request, user)

        url_name = f"communities_user_{name.replace('/', '_').replace('-', '_')}"
        return path(f"<path:object_id>/{name}/", self.admin_site.admin_view(opened), name=url_name)

    @staticmethod
    def link_to_security(user: User) -> SafeString:
        """A link for the form of a user."""
        address = reverse("admin:communities_user_sign_in", args=[user.pk])
        return format_html('<a href="{}">Sessions, authenticator app, passkeys</a>', address)

    def security_view(self, request: HttpRequest, user: User) -> HttpResponse:
        """The ways in which a user can sign in, and their sessions."""
        ways, sessions = account_security.ways_in(user), account_security.sessions_of(user, at=timezone.now())
        is_own = user == acting.user_of(request)
        end = [("End all sessions…", self.address("sign_in_end", user.pk))]
        remove = [("Remove second factors…", self.address("sign_in_remove", user.pk))]
        context = {
            "title": TITLE,
            "subtitle": OWN if is_own else "",
            "tools": [(OWN_PAGES, reverse("usersessions_list"))]
            if is_own
            else end + remove * ways.has_factors,
            "facts": [
                ("Account", user.get_full_name()),
                *_facts(ways),
                ("Last sign-in", moment(user.last_login)),
            ],
            "sessions": [
                {
                    "browser": browsers.name_of(each.user_agent),
                    "place": browsers.place_of(str(each.ip)),
                    "since": each.created_at,
                    "seen": each.last_seen_at,
                }
                for each in sessions
            ],
            **self._way_back(user),
        }
        return self.render(request, "admin/communities/user/security.html", context)

    def end_view(self, request: HttpRequest, user: User) -> HttpResponse:
        """Ask for confirmation, then end all sessions of a user."""
        context = {
            "title": f"End all sessions of {user.get_full_name()}?",
            "consequences": [
                "They are signed out in every browser, and sign in again with what they have.",
                "Browsers that they told us to remember ask for a code again.",
                "Somebody who knows their password can sign in again: set another one too, if that is why.",
                "They are told by mail, if they have confirmed an address.",
            ],
            "button": "End all sessions",
        }
        return self._ask(request, user, context, account_security.end_sessions, "All sessions are ended.")

    def remove_view(self, request: HttpRequest, user: User) -> HttpResponse:
        """Ask for confirmation, then remove a user's second factors."""
        ways = account_security.ways_in(user)
        if not ways.has_factors:
            messages.info(request, NO_FACTORS)
            return HttpResponseRedirect(self.address("sign_in", user.pk))
        context = {
            "title": f"Remove the second factors of {user.get_full_name()}?",
            "question": "Be sure that it is they who ask: talk to them on a way that you knew before.",
            "consequences": [
                "Their authenticator app, its recovery codes and their passkeys do not work any more.",
                _what_remains(ways),
                "They are signed out in every browser.",
                "They are told by mail, if they have confirmed an address.",
            ],
            "button": "Remove the second factors",
        }
        done = "The second factors are removed, and all sessions are ended."
        return self._ask(request, user, context, account_security.remove_factors, done)

    def _ask(
        self, request: HttpRequest, user: User, context: dict[str, Any], change: Change, done: str
    ) -> HttpResponse:
        """Show the confirmation page, or make the change after a POST.

        The superuser must have confirmed recently who they are.
        """
        address = self.address("sign_in", user.pk)
        if user == acting.user_of(request):
            messages.info(request, OWN)
            return HttpResponseRedirect(address)
        require_fresh_sign_in(request)
        if request.method == "POST":
            change(by=acting.user_of(request), user=user, at=timezone.now())
            messages.success(request, done)
            return HttpResponseRedirect(address)
        context = {**context, "is_dangerous": True, "back": address, "back_label": TITLE}
        return self.render(request, "admin/confirm.html", context)

    def _way_back(self, user: User) -> dict[str, str]:
        return {"back": self.address("change", user.pk), "back_label": user.get_full_name()}


def _facts(ways: WaysIn) -> list[tuple[str, object]]:
    return [
        ("Password", "Yes" if ways.has_password else "None"),
        ("Confirmed addresses", ", ".join(ways.proven_addresses) or "None"),
        ("Connected platforms", ", ".join(ways.platforms) or "None"),
        ("Authenticator app", "Yes" if ways.has_authenticator_app else "None"),
        ("Passkeys", ", ".join(ways.passkeys) or "None"),
    ]


def _what_remains(ways: WaysIn) -> str:
    """Return the ways in which a user can sign in without a second factor."""
    left = [
        *(["their password"] if ways.has_password else []),
        *(["a new password by mail"] if ways.proven_addresses and not ways.has_password else []),
        *ways.platforms,
    ]
    if not left:
        return "No way to sign in is left to them: set a password for them, too."
    return f"They sign in with {' or '.join(left)} alone."
