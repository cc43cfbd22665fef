"""How long a session lasts: so long without a visit, and so long at all; less for staff.

A session row has a moment of its own at which it ends, so every page refuses it from then on. Visits to the
account area and to the admin put that moment off, and note that the session was seen, at most every quarter
of an hour. Pages on which people answer cost nothing: a session is not seen there, and does not last longer.
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
MOST_SESSIONS = 50  # of an account (rule 11.31): signing in looks at each of them


def begin(sender: object, request: HttpRequest, user: Any, **kwargs: Any) -> None:
    """Somebody has signed in: the session's time starts. Beyond MOST_SESSIONS the oldest of theirs end."""
    now = timezone.now()
    request.session[BEGAN] = now.isoformat()
    _see(request, user, now)
    others = UserSession.objects.filter(user=user).exclude(session_key=request.session.session_key)
    for oldest in others.order_by("-pk")[MOST_SESSIONS - 1 :]:
        oldest.end()


def settle(request: HttpRequest) -> None:
    """After a page of the account area or the admin, put the session's end off; or end it."""
    if not request.user.is_authenticated:
        return
    session, now = request.session, timezone.now()
    if BEGAN not in session:  # begun before sessions had this
        session[BEGAN] = now.isoformat()
    elif now - datetime.fromisoformat(session[SEEN]) >= SEEN_EVERY:
        UserSession.objects.filter(session_key=session.session_key).update(last_seen_at=now)
    elif not session.modified:  # else it is written anyway
        return
    _see(request, request.user, now)
    if session.get_expiry_date() <= now:  # became staff, whose sessions are shorter
        logout(request)


def _see(request: HttpRequest, user: Any, now: datetime) -> None:
    session = request.session
    idle, at_all = settings.STAFF_SESSION_HOURS if user.may_enter_admin else settings.SESSION_HOURS
    began = datetime.fromisoformat(session[BEGAN])
    if SEEN not in session or now - datetime.fromisoformat(session[SEEN]) >= SEEN_EVERY:
        session[SEEN] = now.isoformat()
    session.set_expiry(min(now + timedelta(hours=idle), began + timedelta(hours=at_all)))
