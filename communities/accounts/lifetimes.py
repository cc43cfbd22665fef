"""The lifetime of a session: a limit without a visit, and an absolute limit. Both limits are shorter for
staff.

A session row contains the moment at which the session ends, and every page refuses the session after that
moment. Visits to the account area and to the admin extend the session and store its use, at most every
quarter of an hour. Pages on which people answer neither store the use of a session nor extend the session, so
they cost nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest
from django.utils import timezone

BEGAN, SEEN = "session_began", "session_seen"
SEEN_EVERY = timedelta(minutes=15)
# An account has at most this many sessions (rule 11.31), because signing in reads all of them.
MOST_SESSIONS = 50


def begin(sender: object, request: HttpRequest, user: Any, **kwargs: Any) -> None:
    """Start the lifetime of the session when a user signs in.

    If the user has more than MOST_SESSIONS sessions, the oldest sessions end.
    """
    now = timezone.now()
    request.session[BEGAN] = now.isoformat()
    _see(request, user, now)
    others = UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key)
    for oldest in others.order_by("-pk")[MOST_SESSIONS - 1 :]:
        oldest.end()


def settle(request: HttpRequest) -> None:
    """Extend the session after a page of the account area or the admin, or end the session."""
    if not request.user.is_authenticated:
        return
    session, now = request.session, timezone.now()
    if BEGAN not in session:  # The session began before this value existed.
        session[BEGAN] = now.isoformat()
    elif now - datetime.fromisoformat(session[SEEN]) >= SEEN_EVERY:
        UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=now)
    elif not session.modified:  # A modified session is written anyway.
        return
    _see(request, request.user, now)
    if session.get_expiry_date() <= now:  # The user has become staff, whose sessions are shorter.
        logout(request)


def _see(request: HttpRequest, user: Any, now: datetime) -> None:
    session = request.session
    idle, at_all = settings.STAFF_SESSION_HOURS if user.may_enter_admin else settings.SESSION_HOURS
    began = datetime.fromisoformat(session[BEGAN])
    if SEEN not in session or now - datetime.fromisoformat(session[SEEN]) >= SEEN_EVERY:
        session[SEEN] = now.isoformat()
    session.set_expiry(min(now + timedelta(hours=idle), began + timedelta(hours=at_all)))
