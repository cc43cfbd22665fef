"""Merging two users who are one person. The caller has checked that both users are proven.

Everything of one user moves to the other: memberships with XP, responses, limits on completions, connected
accounts and addresses, and API keys, which keep at most the rights that their own user had (rule 11.38).
The means that prove only the dropped account are deleted: its password, second factors, sessions. The audit
trail, the givers in the XP ledger, and events still contain the dropped user's id. Reading and erasing the
person search for this id too (`User.merged_ids`). Scripts that AI is writing for drafts of the dropped user
are discarded, and their credits returned.

Locks are taken in this order: both users by their ids, then in each community projects, conversations and
members, as in an erasure (`people`).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models.functions import Lower

from communities.ground import key_versions
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict
from communities.ground.rounding import Rounding
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import ApiKey, Community, Identity, Invitation, Mail, Member, User
from communities.services.api_keys import keys
from communities.services.inviting import access_decisions
from communities.services.people import (
    identities,
    invitation_access,
    member_changes,
    members,
    memberships,
    project_grants,
)
from communities.services.people import personal_data as membership_data
from communities.services.people.memberships import MAX_ATTRIBUTES
from communities.services.trail import audit
from surveys.models import Completion, PersonalLink, Project, ResponseDeletion, ScriptDraft
from surveys.services.ai_work import draft_generation
from surveys.services.ground import anonymity, feed_order
from surveys.services.links import reminders
from surveys.services.people import service as people
from xp.services import people as rewards

# The dropped user's open conversation becomes a partial response if the kept user has an open conversation
# too.
_MOVE_CONVERSATIONS = f"""
    UPDATE surveys_conversation own
    SET user_id = %(keep)s, updated_at = %(at)s, changed_in = {feed_order.moved(is_anonymous=False)},
        session_number = own.session_number + coalesce(done.last_session, 0),
        respondent = CASE
            WHEN own.completed_at IS NULL AND EXISTS (
                SELECT FROM surveys_conversation open
                WHERE open.project_id = own.project_id AND open.respondent = theirs.new
                    AND open.completed_at IS NULL
            ) THEN NULL ELSE theirs.new
        END
    FROM unnest(%(projects)s::bigint[], %(old)s::text[], %(new)s::text[]) AS theirs(project_id, old, new)
    LEFT JOIN surveys_completion done
        ON (done.project_id, done.respondent) = (theirs.project_id, theirs.new)
    WHERE own.project_id = theirs.project_id AND own.respondent = theirs.old AND own.id = ANY(%(ids)s)
"""
_MOVE_NAMED = f"""
    UPDATE surveys_conversation
    SET user_id = %(keep)s, updated_at = %(at)s, changed_in = {feed_order.moved(is_anonymous=False)}
    WHERE user_id = %(drop)s AND project_id = ANY(%(projects)s)
"""
_MOVE_FIRED = """
    WITH moved AS (
        DELETE FROM surveys_firedaction fired
        USING unnest(%(projects)s::bigint[], %(old)s::text[], %(new)s::text[]) AS theirs(project_id, old, new)
        WHERE (fired.project_id, fired.scope) = (theirs.project_id, theirs.old)
        RETURNING fired.project_id, fired.action, theirs.new AS scope
    )
    INSERT INTO surveys_firedaction (project_id, action, scope) SELECT project_id, action, scope FROM moved
    ON CONFLICT DO NOTHING
"""
_MOVE_COMPLETIONS = """
    WITH moved AS (
        DELETE FROM surveys_completion done
        USING unnest(%(projects)s::bigint[], %(old)s::text[], %(new)s::text[]) AS theirs(project_id, old, new)
        WHERE (done.project_id, done.respondent) = (theirs.project_id, theirs.old)
        RETURNING done.project_id, theirs.new AS respondent, done.completions, done.last_session
    )
    INSERT INTO surveys_completion AS kept (project_id, respondent, completions, last_session)
    SELECT project_id, respondent, completions, last_session FROM moved
    ON CONFLICT (project_id, respondent) DO UPDATE
        SET completions = kept.completions + excluded.completions,
            last_session = kept.last_session + excluded.last_session
"""


@again_after_deadlock
@in_transaction
def merge_users(*, keep_id: int, drop_id: int, at: datetime, rounded_to: Rounding | None = None) -> None:
    """Move everything of the user `drop_id` to `keep_id`, and delete the user `drop_id`.

    `rounded_to` rounds the time in the audit trail, because of anonymous responses. Refuses (Conflict) users
    who are inactive or were just deleted, and a superuser as `drop_id`.
    """
    with member_changes.times_rounded(rounded_to):
        _merge_users(keep_id, drop_id, at, rounded_to)
    if rounded_to is None:
        member_changes.announce(user_ids=[keep_id], at=at)


def _merge_users(keep_id: int, drop_id: int, at: datetime, rounded_to: Rounding | None) -> None:
    # Other transactions may refer to the users meanwhile: a conversation that begins locks its member, and
    # this transaction waits for that lock below.
    users = identities.lock_owners(keep_id, drop_id)
    if len(users) < 2:
        raise Conflict("One of the two accounts is gone.")
    keep, drop = users[keep_id], users[drop_id]
    if not (keep.is_active and drop.is_active):
        raise Conflict("One of the two accounts is locked. Ask the people who run this site.")
    if drop.is_superuser:
        raise Conflict("A superuser's account cannot become part of another one.")
    for community_id in people.communities_of(user_id=drop_id):
        _merge_in_community(community_id, keep_id, drop_id, at, rounded_to)
    _move_accounts(keep, drop)
    keep.is_staff = keep.is_staff or drop.is_staff
    keep.name = keep.name or drop.name
    keep.merged_ids = [*(keep.merged_ids or ()), *(drop.merged_ids or ()), drop.pk]
    keep.save(update_fields=["is_staff", "name", "merged_ids"])
    membership_data.give_up_account(user_id=drop_id)
    if not membership_data.erase_user(user_id=drop_id):
        raise people.StillReferredTo(drop_id)


@again_after_deadlock
@in_transaction
def merge_proven_users(*, keep_id: int, drop_id: int, identity_id: int, at: datetime) -> None:
    """Merge a user into another user who has proven that they own one of its accounts on other platforms.

    Refuses as `merge_users` does. Refuses (Conflict) an account that has moved since it was proven, and a
    user to drop who has a second factor, which the account alone does not prove.
    """
    identities.lock_owners(keep_id, drop_id)
    if not Identity.objects.filter(pk=identity_id, user_id=drop_id, community__isnull=True).exists():
        raise Conflict("The account has changed its owner since you signed in with it. Please try again.")
    if Authenticator.objects.filter(user_id=drop_id).exists():
        raise Conflict("The other account has a second factor.")
    merge_users(keep_id=keep_id, drop_id=drop_id, at=at)


def _merge_in_community(
    community_id: int, keep_id: int, drop_id: int, at: datetime, rounded_to: Rounding | None
) -> None:
    key_versions.announce([community_id])
    dropped = membership_data.Person(community_id, None, drop_id)
    conversations = people.named_conversations_of(dropped).keys()
    people.lock_conversations(conversations)
    for user_id in sorted([keep_id, drop_id]):
        members.lock_user(user_id=user_id)
    present = Member.objects.select_for_update().filter(community_id=community_id)
    # In the order in which `gifts` locks members
    both = present.filter(user_id__in=[keep_id, drop_id]).order_by("user_id")
    theirs = {member.user_id: member for member in both}
    # Other conversations may have begun, or been imported, while this transaction waited for the member. A
    # move on one of them may have locked it and wait for the member, whom this transaction has locked now. So
    # waiting for it here would be a deadlock.
    begun_meanwhile = people.named_conversations_of(dropped).keys() - conversations
    people.lock_conversations(begun_meanwhile, waits=False)
    _move_answers(community_id, keep_id, drop_id, [*conversations, *begun_meanwhile], at)
    own, other = theirs.get(keep_id), theirs.get(drop_id)
    made = [
        (_access_of(each), _keys_of(community_id, user)) for each, user in ((own, keep_id), (other, drop_id))
    ]
    _move_what_they_made(community_id, keep_id, drop_id)
    _merge_memberships(community_id, keep_id, own, other, at, rounded_to)
    member = Member.objects.filter(community_id=community_id, user_id=keep_id).first()
    if member is None:
        return
    has = _access_of(member)
    actor = Actor(keep_id, member.access, community_id, member.community.tier)
    for had, key_ids in made:
        keys.keep_within(actor=actor, key_ids=key_ids, had=had, has=has, at=at, rounded_to=rounded_to)


def _access_of(member: Member | None) -> str | None:
    return None if member is None or member.left_at is not None else member.access


def _keys_of(community_id: int, user_id: int) -> list[int]:
    return list(
        ApiKey.objects.filter(community_id=community_id, user_id=user_id).values_list("pk", flat=True)
    )


def _merge_memberships(
    community_id: int,
    keep_id: int,
    own: Member | None,
    other: Member | None,
    at: datetime,
    rounded_to: Rounding | None,
) -> None:
    if other is None:
        return
    if own is None:
        Member.objects.filter(pk=other.pk).update(user_id=keep_id)
        _record(other.pk, community_id, keep_id, at, rounded_to)
        return
    rewards.merge(keep_id=own.pk, drop_id=other.pk, community_id=community_id, at=at)
    PersonalLink.objects.filter(member=other).update(member=own)
    Invitation.objects.filter(member=other).update(member=own)
    project_grants.merge(keep_id=own.pk, drop_id=other.pk)
    _take_over(own, other, at=at, rounded_to=rounded_to)
    LogEntry.objects.filter(
        content_type__app_label="communities", content_type__model="member", object_id=str(other.pk)
    ).update(object_id=str(own.pk))  # an erasure finds the entries by the kept member
    dropped_id = other.pk
    other.delete()
    _record(own.pk, community_id, keep_id, at, rounded_to, dropped_id=dropped_id)


def _record(
    member_id: int,
    community_id: int,
    keep_id: int,
    at: datetime,
    rounded_to: Rounding | None,
    *,
    dropped_id: int | None = None,
) -> None:
    """Record in the history of a community that a member belongs to another user now, or that two members
    became one.
    """
    member = Member.objects.select_related("community").get(pk=member_id)
    audit.record(
        actor=Actor(keep_id, member.access, community_id, member.community.tier),
        action=Action.MEMBER_MERGED,
        on=members.subject_of(community_id=community_id, member_id=member_id, user_id=keep_id),
        at=at,
        before=None if dropped_id is None else {"member_id": str(dropped_id)},
        rounded_to=rounded_to,
    )


def _take_over(own: Member, other: Member, *, at: datetime, rounded_to: Rounding | None) -> None:
    """Merge two memberships: keep the earlier joining, values that only one has, and the higher access.

    Access that staff have taken from one of them stays taken (`access_decisions.merged`), and so do
    invitations from before that. Refuses (Conflict) a merge that leaves a community without an admin.
    """
    both = [membership_data.user_ids_of(user_id=each.user_id) for each in (own, other)]
    user_ids = {user_id for ids in both for user_id in ids}
    merged = access_decisions.merged(own, other, user_ids=user_ids)
    was_admin, was_only_admin = own.is_admin or other.is_admin, memberships.is_only_admin(own, other)
    own.access, own.left_at, own.left_server = merged.access, merged.left_at, merged.left_server
    if was_only_admin and not own.is_admin:
        raise Conflict(f"{own.community.name} would have no admin: make somebody else an admin first.")
    if was_admin and not own.is_admin:
        invitation_access.end_of_inviter(
            actor=None, community_id=own.community_id, user_id=own.user_id, at=at, rounded_to=rounded_to
        )
    if merged.taken_at is not None:
        invitation_access.end_of_invited(
            actor=None,
            member=own,
            user_ids=user_ids,
            at=at,
            sent_until=merged.taken_at,
            rounded_to=rounded_to,
        )
    own.joined_at = min(filter(None, (own.joined_at, other.joined_at)), default=None)
    own.nick, own.avatar_url = own.nick or other.nick, own.avatar_url or other.avatar_url
    own.email = own.email or other.email
    attributes = {**own.attributes, **other.attributes, **own.attributes}
    own.attributes = dict(islice(attributes.items(), MAX_ATTRIBUTES))
    own.mail_refused_at = own.mail_refused_at or other.mail_refused_at
    if other.roles_told_at and (own.roles_told_at is None or other.roles_told_at > own.roles_told_at):
        own.role_ids, own.roles_told_at = other.role_ids, other.roles_told_at
    own.save()


def _move_answers(
    community_id: int, keep_id: int, drop_id: int, ids: Sequence[uuid.UUID], at: datetime
) -> None:
    """Move responses, limits on completions, and fired actions to the kept user's keyed hashes.

    Rows and running conversations of anonymous projects do not change, because this transaction also writes
    rows about the person (rules 7.10 and 7.11). The kept user's `merged_ids` find these rows.
    """
    project_ids = list(Project.with_deleted.in_community(community_id).values_list("pk", flat=True))
    hashes = _Hashes(keep_id, drop_id, project_ids)
    moved: dict[str, Any] = {"keep": keep_id, "at": at}
    with connection.cursor() as cursor:
        # Sessions before completions: session numbers continue after the kept user's last session.
        cursor.execute(_MOVE_FIRED, hashes.of_sessions())
        cursor.execute(_MOVE_FIRED, hashes.of_person())
        cursor.execute(_MOVE_CONVERSATIONS, {**hashes.of_person(), "ids": list(ids), **moved})
        cursor.execute(_MOVE_COMPLETIONS, hashes.of_person())
        # Conversations of a browser session, and those that became partial above, have no hash to find them
        # by.
        cursor.execute(_MOVE_NAMED, {**moved, "drop": drop_id, "projects": project_ids})


class _Hashes:
    """The keyed hashes of both users in each of these projects."""

    def __init__(self, keep_id: int, drop_id: int, project_ids: Sequence[int]) -> None:
        self._project_ids = project_ids
        self._old = [_hash(project_id, drop_id) for project_id in project_ids]
        self._new = [_hash(project_id, keep_id) for project_id in project_ids]

    def of_person(self) -> dict[str, Any]:
        return {"projects": list(self._project_ids), "old": self._old, "new": self._new}

    def of_sessions(self) -> dict[str, Any]:
        """The parameters for each of the dropped user's sessions; their numbers continue after the kept
        user's last session.
        """
        done = Completion.objects.filter(respondent__in=[*self._old, *self._new])
        last = {
            (project_id, whose): n
            for project_id, whose, n in done.values_list("project_id", "respondent", "last_session")
        }
        rows = [
            (project_id, f"{old}:{n}", f"{new}:{n + last.get((project_id, new), 0)}")
            for project_id, old, new in zip(self._project_ids, self._old, self._new, strict=True)
            for n in range(last.get((project_id, old), 0) + 1)
        ]
        return {
            "projects": [project_id for project_id, _, _ in rows],
            "old": [anonymity.session_hash(project_id=pk, session=old) for pk, old, _ in rows],
            "new": [anonymity.session_hash(project_id=pk, session=new) for pk, _, new in rows],
        }


def _hash(project_id: int, user_id: int) -> str:
    return anonymity.respondent_hash(project_id=project_id, who=f"user:{user_id}")


def _move_what_they_made(community_id: int, keep_id: int, drop_id: int) -> None:
    projects = Project.with_deleted.in_community(community_id)
    projects.filter(author_id=drop_id).update(author_id=keep_id)
    projects.filter(deleted_by_id=drop_id).update(deleted_by_id=keep_id)
    planned = ResponseDeletion.objects.filter(project__community_id=community_id)
    planned.filter(requested_by_id=drop_id).update(requested_by_id=keep_id)
    links = PersonalLink.objects.filter(project__community_id=community_id)
    links.filter(created_by_id=drop_id).update(created_by_id=keep_id)
    reminders.move(community_id=community_id, keep_id=keep_id, drop_id=drop_id)
    drafts = ScriptDraft.objects.filter(project__community_id=community_id)
    both = drafts.filter(user_id=keep_id).values("project_id")
    drafts.filter(user_id=drop_id, project_id__in=both).delete()
    drafts.filter(user_id=drop_id).update(user_id=keep_id)
    draft_generation.forget(community_id=community_id, user_id=drop_id)
    for field in ("user_id", "rotated_by_id"):
        ApiKey.objects.filter(**{"community_id": community_id, field: drop_id}).update(**{field: keep_id})
    for field in ("created_by_id", "accepted_by_id"):
        Invitation.objects.filter(**{"community_id": community_id, field: drop_id}).update(**{field: keep_id})
    Community.objects.filter(pk=community_id, user_setup_id=drop_id).update(user_setup_id=keep_id)


def _move_accounts(keep: User, drop: User) -> None:
    """Move accounts of other platforms and e-mail addresses. The kept user's primary address stays primary.

    Accounts that only a community wrote down are not moved (rule 7.25).
    """
    identities.leave_unproven(user_id=drop.pk)
    Identity.objects.filter(user=drop).update(user=keep)
    SocialAccount.objects.filter(user=drop).update(user=keep)
    LogEntry.objects.filter(user=drop).update(user=keep)
    Mail.objects.filter(user=drop).update(user=keep)
    has_primary = EmailAddress.objects.filter(user=keep, primary=True).exists()
    addresses = EmailAddress.objects.filter(user=drop)
    addresses.filter(verified=False).delete()
    twins = [each.lower() for each in addresses.values_list("email", flat=True)]
    EmailAddress.objects.annotate(lower=Lower("email")).filter(
        user=keep, verified=False, lower__in=twins
    ).delete()
    addresses.update(user=keep, **({"primary": False} if has_primary else {}))
    if not has_primary:
        keep.email = drop.email
        keep.save(update_fields=["email"])
