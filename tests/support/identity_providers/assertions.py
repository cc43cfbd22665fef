"""OpenID 2.0: positive assertions, each confirmed once."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import UTC, datetime

NAMESPACE = "http://specs.openid.net/auth/2.0"
SIGNED = "signed,op_endpoint,claimed_id,identity,return_to,response_nonce,assoc_handle"


class Assertions:
    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._confirmed: set[str] = set()
        self.confirms_again = False  # a careless platform

    def make(self, *, base: str, platform_id: str, return_to: str) -> dict[str, str]:
        identifier = f"{base}/openid/id/{platform_id}"
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        answer = {
            "openid.ns": NAMESPACE,
            "openid.mode": "id_res",
            "openid.op_endpoint": f"{base}/openid/login",
            "openid.claimed_id": identifier,
            "openid.identity": identifier,
            "openid.return_to": return_to,
            "openid.response_nonce": f"{moment}{secrets.token_urlsafe(12)}=",
            "openid.assoc_handle": "1234567890",
            "openid.signed": SIGNED,
        }
        return answer | {"openid.sig": self.sign(answer)}

    def sign(self, answer: dict[str, str]) -> str:
        names = answer["openid.signed"].split(",")
        text = "".join(f"{name}:{answer[f'openid.{name}']}\n" for name in names)
        return base64.b64encode(hmac.digest(self._secret, text.encode(), hashlib.sha1)).decode()

    def confirm(self, form: dict[str, str]) -> bool:
        nonce = form.get("openid.response_nonce", "")
        if form.get("openid.mode") != "check_authentication" or (
            nonce in self._confirmed and not self.confirms_again
        ):
            return False
        try:
            expected = self.sign(form)
        except KeyError:
            return False
        self._confirmed.add(nonce)
        return hmac.compare_digest(expected, form.get("openid.sig", ""))
