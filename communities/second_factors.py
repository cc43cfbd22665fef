"""The second factor that a community may require of its staff (`require_second_factor` in its settings).

Pages for staff get their community from `admin_site.acting` or `accounts.own_communities`. Both call
`require`. `communities.accounts.middleware` answers SecondFactorMissing with a page that explains it.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from communities.ground.errors import Forbidden, InvalidRequest, violation
from communities.models import Member, User

# The types of `mfa.Authenticator` that are second factors. The app `mfa` is installed if there are accounts.
FACTORS = ["totp", "webauthn"]
ADD_ONE = "Add a passkey or an authenticator app under “Passkeys and codes” in your account."
CONFIRM = "You signed in without yours: please confirm it."
FIELD = "require_second_factor"
_CACHE = "_has_second_factor"
# The keys of a session. The first lists django-allauth's proofs. The second names the user who has proven a
# factor in a way that is not listed.
_PROOFS, _PROVER = "account_authentication_methods", "account_authentication_methods_user"
_PROVEN_BY = "second_factor_proven_by"
_WANTED = "wanted_before_second_factor"


class SecondFactorMissing(Forbidden):
    """This community requires a second factor of its staff, and the person has none.

    With `factor`, the person has a second factor of this type, but opened the session without it.
    """

    def __init__(self, community_id: int, name: str, factor: str | None = None) -> None:
        super().__init__(f"{name} asks its staff for a second factor. {CONFIRM if factor else ADD_ONE}")
        self.community_id, self.name, self.factor = community_id, name, factor


class OwnFactorMissing(InvalidRequest):
    """A person without a second factor wants their community to require one of its staff."""

    def __init__(self) -> None:
        message = f"{FIELD} cannot be switched on by somebody without a second factor. {ADD_ONE}"
        super().__init__(message, violations=[violation(FIELD, "not_allowed", message)])


def has_one(*, user_id: int) -> bool:
    """Whether a user has an authenticator app or a passkey.

    Recovery codes do not count: they replace one of these.
    """
    return bool(_factors_of(user_id).exists())


def is_missing(request: HttpRequest) -> bool:
    """Whether the signed-in person has no second factor, or opened the session without it.

    The value is read once for each request.
    """
    missing: bool | None = getattr(request, _CACHE, None)
    if missing is None:
        missing = not (is_proven(request) and has_one(user_id=int(request.user.pk or 0)))
        setattr(request, _CACHE, missing)
    return missing


def is_proven(request: HttpRequest) -> bool:
    """Return whether a person has proven a factor in this session: a passkey, or a code of an app or on
    paper.
    """
    session, user_id = request.session, int(request.user.pk or 0)
    if session.get(_PROVEN_BY) == user_id:
        return True
    proofs = session.get(_PROOFS) or ()
    return session.get(_PROVER) == str(user_id) and any(each.get("method") == "mfa" for each in proofs)


def prove(request: HttpRequest, *, user_id: int) -> None:
    """Record that the session belongs to a person with a factor, as in a browser that is remembered."""
    request.session[_PROVEN_BY] = user_id


def note_added(request: HttpRequest, *, user_id: int) -> None:
    """Record that the session, in which the person has just confirmed who they are, has added a factor.

    Adding the first factor proves it. Adding another factor proves nothing, because the session may not know
    the first.
    """
    if _factors_of(user_id).count() == 1:
        prove(request, user_id=user_id)


def require(request: HttpRequest, community_id: int, name: str) -> None:
    """Refuse staff without a second factor, and sessions that were opened without it.

    Call this for communities that require one. Raises SecondFactorMissing.
    """
    if is_missing(request):
        raise SecondFactorMissing(community_id, name, unproven(request))


def unproven(request: HttpRequest) -> str | None:
    """The type of a second factor that the signed-in person has, and has not proven in this session; None if
    there is none, or one is proven.
    """
    if is_proven(request):
        return None
    types: list[str] = sorted(_factors_of(int(request.user.pk or 0)).values_list("type", flat=True))
    return types[0] if types else None


def require_own(*, user_id: int) -> None:
    """Refuse a user without a second factor who wants to require one of others. Raises OwnFactorMissing."""
    if not has_one(user_id=user_id):
        raise OwnFactorMissing


def asked_by(user: User) -> list[str]:
    """The names of the communities that require a second factor and have this person among their staff."""
    present = user.memberships.filter(left_at=None, community__settings__require_second_factor=True)
    if not user.is_staff:
        present = present.filter(~Q(access=Member.Access.MEMBER) | Q(project_grants__isnull=False)).distinct()
    return list(present.order_by("community__name").values_list("community__name", flat=True))


def is_last(user: User) -> bool:
    """Whether a user has exactly one second factor."""
    return bool(_factors_of(user.pk).count() == 1)


# --- The requested page -------------------------------------------------------------------------------


def remember_wanted(request: HttpRequest) -> None:
    """Store the address of the page, to which the person returns once they have a second factor.

    The address is the page's own address if the page was opened, else the address of the page that sent the
    form or the script's request.
    """
    is_page = request.method == "GET" and "text/html" in request.headers.get("Accept", "text/html")
    if is_page and "HX-Request" not in request.headers:
        address = request.get_full_path()
    else:
        address = request.headers.get("Referer", "")
    if url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure()):
        request.session[_WANTED] = address


def forget_wanted(request: HttpRequest) -> str:
    """The stored address, else the page of second factors. The address is deleted."""
    return str(request.session.pop(_WANTED, "") or reverse("mfa_index"))


def _factors_of(user_id: int) -> QuerySet[Any]:
    factors: QuerySet[Any] = apps.get_model("mfa", "Authenticator").objects.all()
    return factors.filter(user_id=user_id, type__in=FACTORS)
