"""A passkey in software: it answers the challenges of pages, with or without verifying its user."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

ORIGIN = "http://testserver"
PRESENT, VERIFIED, ATTESTED = (
    AuthenticatorData.FLAG.UP,
    AuthenticatorData.FLAG.UV,
    AuthenticatorData.FLAG.AT,
)


class Passkey:
    """One credential of one device."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id = os.urandom(32)
        self._site = hashlib.sha256(b"testserver").digest()

    def register(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a page that adds a passkey."""
        public = ES256.from_cryptography_key(self._key.public_key())
        credential = AttestedCredentialData.create(Aaguid(bytes(16)), self._id, public)
        data = AuthenticatorData.create(self._site, PRESENT | VERIFIED | ATTESTED, 0, credential)
        answer = {
            "clientDataJSON": websafe_encode(self._asked("webauthn.create", options)),
            "attestationObject": websafe_encode(AttestationObject.create("none", data, {})),
        }
        return {**self._as_json(answer), "clientExtensionResults": {"credProps": {"rk": True}}}

    def sign(
        self, options: Mapping[str, Any], *, user_handle: bytes, is_verified: bool = True
    ) -> dict[str, Any]:
        """The answer to a page that asks the person to sign in."""
        flags = PRESENT | VERIFIED if is_verified else PRESENT
        data = AuthenticatorData.create(self._site, flags, 1)
        asked = self._asked("webauthn.get", options)
        answer = {
            "clientDataJSON": websafe_encode(asked),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(self._key.sign(bytes(data) + asked.hash, ec.ECDSA(hashes.SHA256()))),
            "userHandle": websafe_encode(user_handle),
        }
        return self._as_json(answer)

    def _asked(self, kind: str, options: Mapping[str, Any]) -> CollectedClientData:
        return CollectedClientData.create(kind, options["publicKey"]["challenge"], ORIGIN)

    def _as_json(self, answer: Mapping[str, str]) -> dict[str, Any]:
        own_id = websafe_encode(self._id)
        return {
            "id": own_id,
            "rawId": own_id,
            "type": "public-key",
            "response": dict(answer),
            "clientExtensionResults": {},
        }
