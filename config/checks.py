"""System checks of settings that cannot work together, or need care outside of this program."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import Warning as CheckWarning
from django.core.checks import register

from config import environment

NO_PROXY = (
    "BASE_URL is an https address and TRUSTED_PROXIES is 0, so the proxy that ends TLS is not believed: set "
    "TRUSTED_PROXIES to the number of proxies in front of this site."
)
OPEN_PORT = (
    "TRUSTED_PROXIES is {proxies} and BIND is {bind}: a client that reaches the port without the proxy can "
    "claim any address, and https. Let only the proxy reach the port, or set BIND to 127.0.0.1."
)


def lacks_proxy() -> bool:
    """Whether the site's address is https, and no proxy is believed that could end TLS."""
    return settings.SECURE_SSL_REDIRECT and not settings.TRUSTED_PROXIES


@register(deploy=True)
def the_proxy_is_believed_and_alone(**_: Any) -> list[CheckWarning]:
    """Rule 12.586."""
    warnings = []
    if lacks_proxy():
        warnings.append(CheckWarning(NO_PROXY, id="config.W001"))
    if settings.TRUSTED_PROXIES and not environment.is_this_machine(settings.BIND):
        words = OPEN_PORT.format(proxies=settings.TRUSTED_PROXIES, bind=settings.BIND)
        warnings.append(CheckWarning(words, id="config.W002"))
    return warnings
