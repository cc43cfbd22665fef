"""A browser's visit to a platform: it chooses a person, and returns."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import httpx2

from communities.identity_providers import oauth2
from communities.identity_providers.oauth2 import Tokens
from communities.models import Identity
from communities.services.people import identities, source_tokens
from tests.support.identity_providers.people import Person
from tests.support.moments import NOON

_HTTP = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
CALLBACK = "http://127.0.0.1:8000/back"


def choose(address: str, *, person: int | None = 0) -> str:
    """Open a platform's page and choose a person (None: cancel). Returns the address of the redirect."""
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    page = _HTTP.get(address)
    assert page.status_code == 200, page.text
    form = query | {"be": "" if person is None else str(person)}
    answer = _HTTP.post(f"{parts.scheme}://{parts.netloc}{parts.path}", data=form)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def query_of(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


def code(provider: str, *, verifier: str = "a verifier", nonce: str = "n", person: int = 0) -> str:
    """A fresh code of a platform."""
    address = oauth2.authorize_address(
        provider, redirect_uri=CALLBACK, state="s", verifier=verifier, nonce=nonce, asks_again=False
    )
    return query_of(choose(address, person=person))["code"]


def tokens(provider: str, *, nonce: str = "n") -> Tokens:
    """Fresh tokens of the first person."""
    return oauth2.exchange(
        provider, code=code(provider, nonce=nonce), redirect_uri=CALLBACK, verifier="a verifier", at=NOON
    )


def signed_in(provider: str, person: Person) -> Identity:
    """The identity of a person who signed in at noon, with stored tokens."""
    identity = identities.sign_in(
        provider=provider, platform_id=person.id_on(provider), name=person.name, at=NOON
    )
    fresh = tokens(provider)
    source_tokens.save(
        identity_id=identity.pk, access=fresh.access, refresh=fresh.refresh, expires_at=fresh.expires_at
    )
    return identity
