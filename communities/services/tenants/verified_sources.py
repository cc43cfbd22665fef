"""Verified sources: rules about accounts on other platforms that respondents may have to meet.

    add, change, remove     kept by staff in the admin (rules 1.18 and 1.19)
    first_met               what a person meets, by what the platforms said last
    ask                     asks the platforms; never call it inside a transaction

A platform's yes is valid for `YES_COUNTS_FOR`. After a no, the platform is asked again whenever a person
would be refused because of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import QuerySet

from communities.ground import rounding
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Forbidden, NotFound, refuse
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.identity_providers import rules
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import Community, Identity, SourceCheck, VerifiedSource
from communities.services.people import source_tokens
from communities.services.trail import audit

YES_COUNTS_FOR = timedelta(hours=24)
MOST_SOURCES = 100  # One community has at most this many sources.

log = structlog.get_logger("colloquy.sources")

_FIRST_MET = """
    SELECT source.id, own.provider, own.platform_id
    FROM communities_verifiedsource source
    JOIN communities_identity own ON own.provider = source.provider AND own.user_id = %(user)s
    LEFT JOIN communities_sourcecheck answer ON (answer.source_id, answer.identity_id) = (source.id, own.id)
    WHERE source.community_id = %(community)s AND source.id = ANY(%(sources)s::bigint[])
        AND source.removed_at IS NULL AND own.proven_at IS NOT NULL
        AND (own.community_id IS NULL OR own.community_id = source.community_id)
        AND (source.rule = 'has_account' OR answer.passes AND answer.checked_at > %(since)s)
    ORDER BY array_position(%(sources)s::bigint[], source.id), own.id LIMIT 1
"""
_REMEMBER = """
    INSERT INTO communities_sourcecheck (source_id, identity_id, passes, checked_at)
    SELECT source.id, own.id, %s, %s FROM communities_verifiedsource source, communities_identity own
    WHERE source.id = %s AND source.target = %s AND own.id = %s
    ON CONFLICT (source_id, identity_id) DO UPDATE
        SET passes = excluded.passes, checked_at = excluded.checked_at
"""


@dataclass(frozen=True, slots=True)
class Met:
    """A source that a person meets, and the account that meets it."""

    source_id: int
    provider: str
    platform_id: str


def in_community(*, community_id: int) -> QuerySet[VerifiedSource]:
    """The valid sources of a community, oldest first."""
    return VerifiedSource.objects.filter(community_id=community_id, removed_at__isnull=True).order_by("pk")


def first_met(*, community_id: int, source_ids: Sequence[int], user_id: int, at: datetime) -> Met | None:
    """Return the first of these sources that a person meets, by the answers of the last 24 hours."""
    values: dict[str, Any] = {
        "community": community_id,
        "sources": list(source_ids),
        "user": user_id,
        "since": at - YES_COUNTS_FOR,
    }
    with prepared() as cursor:
        cursor.execute(_FIRST_MET, values)
        row = cursor.fetchone()
    return Met(*row) if row else None


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of asking: whether every platform could be asked, and which platforms no longer accept our
    token.

    The person has to connect their accounts of `refused` again.
    """

    could_ask: bool = True
    refused: frozenset[str] = frozenset()

    def with_others(self, other: Asked) -> Asked:
        return Asked(self.could_ask and other.could_ask, self.refused | other.refused)


NOBODY_ASKED = Asked()


def ask(
    *,
    community_id: int,
    source_ids: Collection[int],
    user_id: int,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> Asked:
    """Ask the platforms about these sources and a person's accounts, and store the answers.

    Stops at the first yes. `rounded_to` is for questions together with anonymous responses: no stored time
    shows exactly when the person responded. The function waits for other servers, so never call it inside a
    transaction.
    """
    accounts = list(Identity.objects.filter(user_id=user_id, community__isnull=True))
    wanted = in_community(community_id=community_id).filter(pk__in=source_ids)
    pairs = [
        (source, account)
        for source in wanted.exclude(rule=VerifiedSource.Rule.HAS_ACCOUNT)
        for account in accounts
        if account.provider == source.provider
    ]
    asked, stored_at = Asked(), rounding.down(at, rounded_to)
    for source, account in pairs:
        try:
            passes = _answer(source, account, at=at)
        except TokenRefused:  # A withdrawn permission counts as a no.
            passes, asked = False, asked.with_others(Asked(refused=frozenset([source.provider])))
        except PlatformUnavailable as failure:
            log.warning("sources.unavailable", provider=source.provider, cause=str(failure))
            asked = asked.with_others(Asked(could_ask=False))
            continue
        _remember(source, account, passes=passes, at=stored_at)
        if passes:
            return Asked()
    return asked


def _answer(source: VerifiedSource, account: Identity, *, at: datetime) -> bool:
    """The platform's answer. Raises TokenRefused and PlatformUnavailable."""
    return rules.answer(
        rule=source.rule,
        target=source.target,
        provider=source.provider,
        platform_id=account.platform_id,
        token=source_tokens.usable(identity_id=account.pk, at=at),
    )


def _remember(source: VerifiedSource, account: Identity, *, passes: bool, at: datetime) -> None:
    """Store an answer, unless the source or the account was deleted or changed while the platform was
    asked.
    """
    with prepared() as cursor:
        cursor.execute(_REMEMBER, [passes, at, source.pk, source.target, account.pk])


# --- Keeping them -------------------------------------------------------------------------------------


@in_transaction
def add(*, actor: Actor, provider: str, rule: str, target: str, label: str, at: datetime) -> VerifiedSource:
    """Add a source.

    Refuses all but admins (Forbidden), a rule that the platform cannot answer, a target for a rule without
    targets, and more than MOST_SOURCES sources. Of two simultaneous calls the second waits, so that the limit
    is kept.
    """
    _require_admin(actor)
    _check(provider, rule, target)
    Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    if in_community(community_id=actor.community_id).count() >= MOST_SOURCES:
        refuse("label", "too_many", f"A community has at most {MOST_SOURCES} verified sources.")
    source = VerifiedSource.objects.create(
        community_id=actor.community_id,
        provider=provider,
        rule=rule,
        target=target,
        label=label,
        created_at=at,
    )
    after = {"provider": provider, "rule": rule, "target": target, "label": label}
    audit.record(actor=actor, action=Action.SOURCE_CREATED, on=_subject(source), at=at, after=after)
    return source


@in_transaction
def change(*, actor: Actor, source_id: int, target: str, label: str, at: datetime) -> VerifiedSource:
    """Change the target and label of a source. A new target deletes the stored answers about the earlier one.

    Raises NotFound. Refuses all but admins (Forbidden), and a target for a rule without targets.
    """
    _require_admin(actor)
    source = _locked(actor, source_id)
    _check(source.provider, source.rule, target)
    before = _shown(source)
    if source.target != target:
        SourceCheck.objects.filter(source=source).delete()
    source.target, source.label = target, label
    source.save(update_fields=["target", "label"])
    audit.record_change(
        actor=actor,
        action=Action.SOURCE_UPDATED,
        on=_subject(source),
        at=at,
        before=before,
        after=_shown(source),
    )
    return source


@in_transaction
def remove(*, actor: Actor, source_id: int, at: datetime) -> None:
    """Remove a source: nobody meets it any more, also on projects that require it.

    Raises NotFound. Refuses all but admins (Forbidden).
    """
    _require_admin(actor)
    source = _locked(actor, source_id)
    source.removed_at = at
    source.save(update_fields=["removed_at"])
    SourceCheck.objects.filter(source=source).delete()
    audit.record(actor=actor, action=Action.SOURCE_REMOVED, on=_subject(source), at=at, before=_shown(source))


def _require_admin(actor: Actor) -> None:
    if not actor.is_admin:
        raise Forbidden("Only admins keep verified sources.")


def _check(provider: str, rule: str, target: str) -> None:
    if rule not in rules.RULES.get(provider, ()):
        refuse("rule", "not_allowed", "This platform cannot answer such a rule.")
    needs_target = rule != VerifiedSource.Rule.HAS_ACCOUNT
    if needs_target and not target:
        refuse("target", "required", "Say what the rule is about, by its id on the platform.")
    if target and not needs_target:
        refuse("target", "not_allowed", "This rule is about the account alone: leave the id empty.")
    if any(not "!" <= character <= "~" for character in target):
        refuse("target", "invalid", "An id has no spaces and no special characters.")


def _locked(actor: Actor, source_id: int) -> VerifiedSource:
    own = in_community(community_id=actor.community_id).filter(pk=source_id)
    source = own.select_for_update(no_key=True).first()
    if source is None:
        raise NotFound("There is no such verified source.")
    return source


def _subject(source: VerifiedSource) -> audit.Subject:
    return audit.Subject(source.community_id, "verified_source", source.pk, source.label)


def _shown(source: VerifiedSource) -> Mapping[str, Any]:
    return {"target": source.target, "label": source.label}
