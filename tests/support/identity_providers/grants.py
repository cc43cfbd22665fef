"""Codes and tokens of OAuth 2, by the rules of RFC 6749 and 7636."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from tests.support.identity_providers.people import Person

CLIENT_ID = "our-client-id"
CLIENT_SECRET = "our-client-secret"


class Refused(Exception):
    """An error of the token endpoint, by its code in RFC 6749."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class Code:
    platform: str
    person: Person
    redirect_uri: str
    challenge: str
    scopes: set[str]
    nonce: str
    expires_at: float
    is_used: bool = False


@dataclass
class Grant:
    """The access that a person has granted. It ends when it is revoked or a code is used twice."""

    platform: str
    person: Person
    scopes: set[str]
    access: dict[str, float] = field(default_factory=dict)  # token: when it expires
    refresh: str = ""
    is_revoked: bool = False


class Grants:
    """All codes and grants. `lifetime` is of access tokens, in seconds."""

    def __init__(self) -> None:
        self.codes: dict[str, Code] = {}
        self.grants: list[Grant] = []
        self.by_code: dict[str, Grant] = {}
        self.lifetime = 3600
        self.rotates = True
        self.refreshes = 0

    def new_code(self, platform: str, person: Person, query: dict[str, str]) -> str:
        code = secrets.token_urlsafe(16)
        self.codes[code] = Code(
            platform,
            person,
            query["redirect_uri"],
            query["code_challenge"],
            set(query["scope"].split()),
            query.get("nonce", ""),
            time.time() + 60,
        )
        return code

    def exchange(self, platform: str, form: dict[str, str]) -> tuple[Code, Grant, dict[str, Any]]:
        code = self.codes.get(form.get("code", ""))
        if code is None or code.platform != platform or code.expires_at < time.time():
            raise Refused("invalid_grant")
        if code.is_used:
            self.by_code[form["code"]].is_revoked = True
            raise Refused("invalid_grant")
        if form.get("redirect_uri") != code.redirect_uri:
            raise Refused("invalid_grant")
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != code.challenge:
            raise Refused("invalid_grant")
        code.is_used = True
        grant = Grant(platform, code.person, code.scopes)
        self.grants.append(grant)
        self.by_code[form["code"]] = grant
        return code, grant, self._tokens(grant)

    def refresh(self, platform: str, form: dict[str, str]) -> dict[str, Any]:
        for grant in self.grants:
            if (
                grant.platform == platform
                and grant.refresh == form.get("refresh_token")
                and not grant.is_revoked
            ):
                self.refreshes += 1
                return self._tokens(grant)
        raise Refused("invalid_grant")

    def of(self, platform: str, access: str) -> Grant | None:
        for grant in self.grants:
            if grant.platform == platform and grant.access.get(access, 0) > time.time():
                return None if grant.is_revoked else grant
        return None

    def revoke_all(self) -> None:
        for grant in self.grants:
            grant.is_revoked = True

    def _tokens(self, grant: Grant) -> dict[str, Any]:
        access = secrets.token_urlsafe(24)
        grant.access[access] = time.time() + self.lifetime
        if self.rotates or not grant.refresh:
            grant.refresh = secrets.token_urlsafe(24)
        return {
            "access_token": access,
            "token_type": "bearer" if grant.platform == "streaming" else "Bearer",
            "expires_in": self.lifetime,
            "refresh_token": grant.refresh,
            "scope": sorted(grant.scopes) if grant.platform == "streaming" else " ".join(grant.scopes),
        }
