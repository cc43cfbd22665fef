"""Finds proxies in front of the site that do not say, or are not believed, who asked and how."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

NOT_TRUSTED = (
    "A proxy says in X-Forwarded-Proto that this request came by https, but is not believed, because "
    "TRUSTED_PROXIES is 0: set TRUSTED_PROXIES to the number of proxies in front of this site."
)
NO_PROTO = (
    "The proxy in front of this site sends X-Forwarded-For, but no X-Forwarded-Proto, which says whether a "
    "request came by https: let the proxy send both."
)
NO_HOST = (
    "The proxy in front of this site sends this machine's name as Host: let the proxy pass on the client's "
    "Host. Passkeys and assistants are refused otherwise."
)
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1"})


def reason_of_loop(request: HttpRequest) -> str | None:
    """A sentence if the redirect of a request to https would be redirected again, for ever (rule 12.585)."""
    proto = request.META.get("HTTP_X_FORWARDED_PROTO", "")
    if not settings.TRUSTED_PROXIES:
        return NOT_TRUSTED if proto == "https" else None
    return NO_PROTO if "HTTP_X_FORWARDED_FOR" in request.META and not proto else None


def hides_host(request: HttpRequest) -> bool:
    """Whether a proxy put this machine's host in place of the site's (rule 12.585)."""
    if not settings.TRUSTED_PROXIES or "HTTP_X_FORWARDED_FOR" not in request.META:
        return False
    host = request.META.get("HTTP_HOST", "").partition(":")[0]
    return host in LOCAL_HOSTS and urlsplit(settings.BASE_URL).hostname not in LOCAL_HOSTS
