"""A person's data in a community: exporting and erasing it (rules 7.17 and 7.18).

Each app exports and erases its own data about a person. `surveys.services.people.service` combines them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.admin.models import LogEntry
from django.db import connection

from communities.ground import key_versions
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from communities.models import ApiKey, Community, Identity, Member, User
from communities.services.people import identities, project_grants
from communities.services.people.members import NoSuchMember
from communities.services.people.memberships import is_only_admin
from communities.services.trail import audit

Json = dict[str, object]
# The two conditions without a column are evaluated first, so the member is locked last.
_LOCK = """
    WITH setup AS (
        UPDATE communities_community SET user_setup_id = NULL
        WHERE id = %(community)s AND user_setup_id = (
            SELECT user_id FROM communities_member WHERE id = %(member)s AND community_id = %(community)s
        )
        RETURNING id
    ), keys AS MATERIALIZED (
        SELECT id FROM communities_apikey
        WHERE community_id = %(community)s AND user_id = (
            SELECT user_id FROM communities_member WHERE id = %(member)s AND community_id = %(community)s
        )
        ORDER BY id FOR UPDATE
    )
    SELECT id FROM communities_member
    WHERE id = %(member)s AND community_id = %(community)s
        AND (SELECT count(*) FROM setup) >= 0 AND (SELECT count(*) FROM keys) >= 0
    FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class Person:
    """A person whom a community knows: a member, present or not, or, without a `member_id`, a respondent.

    `external_ids` are the ids that API callers use for the person as a respondent. `merged_ids` are the users
    who were merged into the person's user.
    """

    community_id: int
    member_id: int | None
    user_id: int
    external_ids: tuple[str, ...] = ()
    merged_ids: tuple[int, ...] = ()

    @property
    def user_ids(self) -> tuple[int, ...]:
        """The user's id, and the ids by which anonymous projects may still know them."""
        return (self.user_id, *self.merged_ids)


def get_person(*, community_id: int, member_id: int) -> Person:
    """Return the person behind a member. Raises NoSuchMember."""
    members = Member.objects.filter(community_id=community_id, pk=member_id)
    row = members.values_list("user_id", "user__merged_ids").first()
    if row is None:
        raise NoSuchMember
    return _person(community_id, member_id, *row)


def leaving_person(*, user_id: int, community_id: int) -> Person:
    """Return a user as a community knows them, for an erasure at their own request.

    Refuses (Conflict) the only admin of the community, except in a test side.
    """
    # The lock ensures that two admins cannot both leave because each sees the other.
    community = Community.objects.select_for_update(no_key=True).get(pk=community_id)
    member = Member.objects.filter(community_id=community_id, user_id=user_id).first()
    if member is not None and not community.is_test and is_only_admin(member):
        raise Conflict(f"You are the only admin of {community.name}: make somebody else an admin first.")
    merged_ids = User.objects.filter(pk=user_id).values_list("merged_ids", flat=True).first()
    return _person(community_id, member.pk if member else None, user_id, merged_ids)


def communities_of(*, user_id: int) -> set[int]:
    """The ids of the communities that know a user: as a member, present or not, or by an external id."""
    members = Member.objects.filter(user_id=user_id).values_list("community_id", flat=True)
    named = Identity.objects.filter(user_id=user_id, community_id__isnull=False)
    return {*members, *(each for each in named.values_list("community_id", flat=True) if each is not None)}


def user_ids_of(*, user_id: int) -> tuple[int, ...]:
    """The ids of a user and of the users who were merged into them."""
    merged_ids = User.objects.filter(pk=user_id).values_list("merged_ids", flat=True).first() or ()
    return (user_id, *merged_ids)


def _person(
    community_id: int, member_id: int | None, user_id: int, merged_ids: Sequence[int] | None
) -> Person:
    external = Identity.objects.filter(
        user_id=user_id, community_id=community_id, provider=Identity.Provider.WEB
    )
    external_ids = tuple(external.values_list("platform_id", flat=True))
    return Person(community_id, member_id, user_id, external_ids, tuple(merged_ids or ()))


# --- Exporting ----------------------------------------------------------------------------------------


def export_data(*, person: Person) -> Json:
    """Return this app's data about a person: member, user, accounts and keys. Raises NoSuchMember.

    The community reads this data. So it does not contain how and when the person signs in (rule 7.29).
    """
    of_user = {"user_id": person.user_id}
    member = Member.objects.filter(pk=person.member_id or 0).select_related("user").first()
    if member is None:
        raise NoSuchMember
    keys = ApiKey.objects.filter(community_id=person.community_id, **of_user).order_by("pk")
    known = identities.known_to(community_id=person.community_id)
    accounts = Identity.objects.filter(known, **of_user).order_by("pk")
    own_setup = Community.objects.filter(pk=person.community_id, user_setup_id=person.user_id)
    return {
        "member": _member_as_json(member),
        "user": {"id": str(member.user_id), "name": member.user.name or None},
        "set_up_the_community": own_setup.exists(),
        "identities": [{"provider": each.provider, "platform_id": each.platform_id} for each in accounts],
        "api_keys": list(map(_key_as_json, keys)),
        "project_access": project_grants.personal_data(member_id=member.pk),
    }


def _member_as_json(member: Member) -> Json:
    return {
        "id": str(member.pk),
        "community_id": str(member.community_id),
        "user_id": str(member.user_id),
        "access": member.access,
        "nick": member.nick,
        "avatar_url": member.avatar_url,
        "joined_at": member.joined_at,
        "left_at": member.left_at,
        "attributes": member.attributes,
    }


def _key_as_json(key: ApiKey) -> Json:
    return {
        "id": str(key.pk),
        "name": key.name,
        "description": key.description,
        "key_prefix": key.key_prefix,
        "role": key.restricted_to,
        "scope": key.scope,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "rotated_at": key.rotated_at,
        "rotated_by": None if key.rotated_by_id is None else str(key.rotated_by_id),
    }


# --- Erasing ----------------------------------------------------------------------------------------


def lock(*, community_id: int, member_id: int) -> None:
    """Lock a member who will be erased, until the transaction ends. Raises NoSuchMember.

    During the lock, nobody gives anything to the member, and their own changes wait (`presence`). Rows that
    the person's own requests lock first are locked before the member.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"community": community_id, "member": member_id})
        if cursor.fetchone() is None:
            raise NoSuchMember


def erase_from_history(*, person: Person, acted_as_staff: bool = False) -> str:
    """Remove a person from the audit trail of their community, and return their pseudonym in it.

    The pseudonym is blank for people who never were staff there (rule 7.20), by the trail and by the caller
    (`acted_as_staff`). Call this before `erase_member`.
    """
    community_id, member_id = person.community_id, person.member_id
    own = ApiKey.objects.filter(community_id=community_id, user_id=person.user_id)
    access = Member.objects.filter(pk=member_id or 0).values_list("access", flat=True).first()
    return audit.erase(
        community_id=community_id,
        user_ids=person.user_ids,
        member_id=member_id,
        key_ids=list(own.values_list("pk", flat=True)),
        is_staff=acted_as_staff or access in (Member.Access.CREATOR, Member.Access.ADMIN),
    )


def erase_member(*, community_id: int, member_id: int, user_id: int) -> None:
    """Delete a member with their API keys and with the community's external ids for them.

    A row without the person remains for some weeks for each sent mail. Otherwise an address would get more
    mails after it is written down for a new member. Other apps must have deleted their data about the member
    before. The user remains: see `erase_user`.
    """
    key_versions.announce([community_id])
    own = ApiKey.objects.filter(community_id=community_id, user_id=user_id)
    _forget_in_admin_log("apikey", list(own.values_list("pk", flat=True)))
    _forget_in_admin_log("member", [member_id])
    with connection.cursor() as cursor:
        # Django would first search for dependent rows. Constraints are checked at the commit.
        cursor.execute(
            """
            WITH keys AS (
                DELETE FROM communities_apikey WHERE community_id = %(community)s AND user_id = %(user)s
            ), names AS (
                DELETE FROM communities_identity WHERE community_id = %(community)s AND user_id = %(user)s
            ), rotations AS (
                UPDATE communities_apikey SET rotated_by_id = NULL
                WHERE community_id = %(community)s AND rotated_by_id = %(user)s AND user_id <> %(user)s
            ), waiting_mails AS (
                DELETE FROM communities_mail
                WHERE community_id = %(community)s AND user_id = %(user)s AND due_at IS NOT NULL
            ), mails AS (
                UPDATE communities_mail SET user_id = NULL, last_error = ''
                WHERE community_id = %(community)s AND user_id = %(user)s AND due_at IS NULL
            ), invitations AS (
                DELETE FROM communities_invitation
                WHERE community_id = %(community)s AND (member_id = %(member)s OR accepted_by_id = %(user)s)
            ), invited AS (
                UPDATE communities_invitation SET created_by_id = NULL
                WHERE community_id = %(community)s AND created_by_id = %(user)s
            ), grants AS (
                DELETE FROM communities_projectgrant WHERE member_id = %(member)s
            ), setup AS (
                UPDATE communities_community SET user_setup_id = NULL
                WHERE id = %(community)s AND user_setup_id = %(user)s
            )
            DELETE FROM communities_member WHERE id = %(member)s
            """,
            {"community": community_id, "user": user_id, "member": member_id},
        )


def erase_user(*, user_id: int) -> bool:
    """Delete a user with their accounts on other platforms. Returns False if the user is still needed.

    A user is needed as a member of any community, present or not, as the creator of an API key or of a
    community, as staff, or for an entry in the admin's log. A user is also needed while a community has an
    external id for them. People who can sign in without another site, by an e-mail address, a password or a
    passkey, keep their account until they erase it themselves (`give_up_account`). Other apps must check
    their own tables before.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH gone AS (
                SELECT id FROM communities_user person
                WHERE id = %s AND NOT is_staff AND NOT is_superuser
                    AND (password = '' OR password LIKE '!%%')
                    AND NOT EXISTS (SELECT FROM account_emailaddress WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM mfa_authenticator WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM communities_member WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM communities_apikey WHERE user_id = person.id)
                    AND NOT EXISTS (SELECT FROM communities_community WHERE user_setup_id = person.id)
                    AND NOT EXISTS (SELECT FROM django_admin_log WHERE user_id = person.id)
                    AND NOT EXISTS (
                        SELECT FROM communities_identity
                        WHERE user_id = person.id AND community_id IS NOT NULL
                    )
                FOR UPDATE
            ),
            rotations AS (
                UPDATE communities_apikey SET rotated_by_id = NULL FROM gone WHERE rotated_by_id = gone.id
            ),
            tokens AS (
                DELETE FROM communities_sourcetoken USING communities_identity own, gone
                WHERE identity_id = own.id AND own.user_id = gone.id
            ),
            checks AS (
                DELETE FROM communities_sourcecheck USING communities_identity own, gone
                WHERE identity_id = own.id AND own.user_id = gone.id
            ),
            accounts AS (DELETE FROM communities_identity USING gone WHERE user_id = gone.id),
            sources AS (DELETE FROM socialaccount_socialaccount USING gone WHERE user_id = gone.id),
            sessions AS (
                DELETE FROM usersessions_usersession USING gone WHERE user_id = gone.id RETURNING session_key
            ),
            stored_sessions AS (
                DELETE FROM django_session stored USING sessions
                WHERE stored.session_key = sessions.session_key
            ),
            waiting_mails AS (
                DELETE FROM communities_mail USING gone WHERE user_id = gone.id AND due_at IS NOT NULL
            ),
            mails AS (
                UPDATE communities_mail SET user_id = NULL, last_error = '' FROM gone
                WHERE user_id = gone.id AND due_at IS NULL
            ),
            invited AS (
                UPDATE communities_invitation SET created_by_id = NULL FROM gone
                WHERE created_by_id = gone.id
            ),
            accepted AS (
                UPDATE communities_invitation SET accepted_by_id = NULL FROM gone
                WHERE accepted_by_id = gone.id
            ),
            groups AS (DELETE FROM communities_user_groups USING gone WHERE user_id = gone.id),
            rights AS (DELETE FROM communities_user_user_permissions USING gone WHERE user_id = gone.id)
            DELETE FROM communities_user person USING gone WHERE person.id = gone.id
            """,
            [user_id],
        )
        is_gone = bool(cursor.rowcount)
    if is_gone:
        _forget_in_admin_log("user", [user_id])
    return is_gone


@in_transaction
def give_up_account(*, user_id: int) -> None:
    """Remove every own way to sign in of a user who erases themselves, so that `erase_user` deletes them.

    Refuses (Conflict) superusers, who administer the installation.
    """
    user = User.objects.select_for_update().get(pk=user_id)
    if user.is_superuser:
        raise Conflict("You are a superuser of this site: ask another one to take that from you first.")
    EmailAddress.objects.filter(user=user).delete()
    Authenticator.objects.filter(user=user).delete()
    LogEntry.objects.filter(user=user).delete()  # The audit trail contains the user's actions.
    user.set_unusable_password()
    user.is_staff = False
    user.save(update_fields=["password", "is_staff"])


def _forget_in_admin_log(model: str, ids: Collection[int]) -> None:
    """Remove the objects from the admin's log. The actions of staff and their times remain."""
    LogEntry.objects.filter(
        content_type__app_label="communities", content_type__model=model, object_id__in=list(map(str, ids))
    ).update(object_id=None, object_repr="", change_message="")
