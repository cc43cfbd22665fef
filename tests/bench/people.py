"""Row 21: a page view by a signed-in person, compared with a page view by a stranger."""

from functools import partial
from importlib import import_module

from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from communities.models import Member, User
from tests.bench.client import Client, Visitor
from tests.bench.rows import Bench, Result, cost

WARM_UP = 60  # requests
GOAL = 1.15


def signed_in(user: User) -> dict[str, str]:
    """The cookies of a browser in which a user has signed in."""
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    UserSession.objects.create(user=user, ip="127.0.0.1", session_key=session.session_key)
    return {settings.SESSION_COOKIE_NAME: session.session_key}


def page_views(bench: Bench) -> list[Result]:
    """Both look at a survey's first page, again and again, in turn; neither has begun it."""
    path, client = f"/s/{bench.world.survey.slug}", bench.colloquy.client()
    member = Member.objects.select_related("user").filter(community_id=bench.world.community_id).first()
    assert member is not None
    unknown, known = Visitor(client), Known(client, signed_in(member.user))
    for visitor in (unknown, known):
        for _ in range(WARM_UP):
            visitor.get(path)
    jobs = [partial(visitor.get, path) for visitor in (unknown, known)]
    rounds = max(1, bench.repetitions // 100)
    costs = [[cost(bench.colloquy, [job] * 100) for job in jobs] for _ in range(rounds)]
    plain, signed = (sum(each) / rounds for each in zip(*costs, strict=True))
    return [
        Result("21", "page view, signed in", signed, plain, unit="ms", note="beside: unknown"),
        Result("21", "the same, against unknown", signed / plain, None, GOAL, unit="times"),
    ]


class Known(Visitor):
    """Somebody with a session."""

    def __init__(self, client: Client, cookies: dict[str, str]) -> None:
        super().__init__(client)
        self._cookies.update(cookies)
