"""OpenID 2.0 of the game store, in stateless mode: the platform itself confirms the browser's data.

Written here because python3-openid, which django-allauth would use, has had no release since 2020.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from communities.identity_providers import api, platforms
from communities.identity_providers.failures import BadProof

ENDPOINT = "https://steamcommunity.com/openid/login"
IDENTIFIER = "https://steamcommunity.com/openid/id/"
NAMESPACE = "http://specs.openid.net/auth/2.0"
NONCE_LASTS = timedelta(minutes=5)
_SELECT = f"{NAMESPACE}/identifier_select"
_NONCE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)[!-~]{0,235}", re.ASCII)
_PLATFORM_ID = re.compile(r"[0-9]{17}", re.ASCII)
_SIGNED = {"op_endpoint", "claimed_id", "identity", "return_to", "response_nonce", "assoc_handle"}


def authorize_address(*, return_to: str, realm: str) -> str:
    """The address for the browser. The browser returns to `return_to`, an address below `realm`."""
    parameters = {
        "openid.ns": NAMESPACE,
        "openid.mode": "checkid_setup",
        "openid.claimed_id": _SELECT,
        "openid.identity": _SELECT,
        "openid.return_to": return_to,
        "openid.realm": realm,
    }
    return f"{platforms.address('game_store', ENDPOINT)}?{urlencode(parameters)}"


def read_assertion(answer: Mapping[str, str], *, return_to: str, at: datetime) -> str:
    """The platform's id that an assertion claims, unconfirmed: `confirm` asks the platform.

    Raises BadProof unless the assertion is from the game store, for us, and fresh.
    """
    endpoint = platforms.address("game_store", ENDPOINT)
    identifier = platforms.address("game_store", IDENTIFIER)
    claimed = answer.get("openid.claimed_id", "")
    if answer.get("openid.ns") != NAMESPACE or answer.get("openid.mode") != "id_res":
        raise BadProof("This is no positive assertion.")
    if answer.get("openid.op_endpoint") != endpoint:
        raise BadProof("The assertion is of another endpoint.")
    if answer.get("openid.return_to") != return_to:
        raise BadProof("The assertion is for another address.")
    if not claimed.startswith(identifier) or answer.get("openid.identity") != claimed:
        raise BadProof("The identifier is of another host.")
    if not _PLATFORM_ID.fullmatch(claimed.removeprefix(identifier)):
        raise BadProof("The identifier has another form.")
    if not set(answer.get("openid.signed", "").split(",")) >= _SIGNED or not answer.get("openid.sig"):
        raise BadProof("Not all that matters is signed.")
    _check_time(answer.get("openid.response_nonce", ""), at=at)
    return claimed.removeprefix(identifier)


def confirm(answer: Mapping[str, str]) -> None:
    """Ask the platform whether it made this assertion. Raises BadProof, PlatformUnavailable."""
    form = {name: value for name, value in answer.items() if name.startswith("openid.")}
    reply = api.post("game_store", ENDPOINT, form=form | {"openid.mode": "check_authentication"})
    lines = dict(line.split(":", 1) for line in reply.text.splitlines() if ":" in line)
    if reply.status != 200 or lines.get("ns") != NAMESPACE or lines.get("is_valid") != "true":
        raise BadProof("The platform does not confirm the assertion.")


def _check_time(nonce: str, *, at: datetime) -> None:
    match = _NONCE.fullmatch(nonce)
    try:
        made_at = datetime.strptime(match[1] if match else "", "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise BadProof("The nonce has another form.") from None
    if abs(at - made_at) > NONCE_LASTS:
        raise BadProof("The assertion is too old.")
