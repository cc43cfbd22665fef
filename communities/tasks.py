from celery import shared_task
from django.utils import timezone

from communities.services.chat import installations, outbox
from communities.services.inviting import invitations
from communities.services.mail import mails
from communities.services.people import identities, member_changes, platform_members
from communities.services.pictures import copies, fetching, tidying
from communities.services.tenants import housekeeping
from communities.services.trail import audit


@shared_task(name="communities.forget_idempotent_requests")
def forget_idempotent_requests(**_later: object) -> None:
    """Delete the stored responses of expired Idempotency-Keys, every hour."""
    housekeeping.delete_expired_idempotent_requests(at=timezone.now())


@shared_task(name="communities.forget_sessions")
def forget_sessions(**_later: object) -> None:
    """Delete expired sessions, every day. Nobody can use them since they expired."""
    housekeeping.delete_ended_sessions(at=timezone.now())


@shared_task(name="communities.forget_audit_entries")
def forget_audit_entries(**_later: object) -> None:
    """Delete entries of the audit trail that are older than AUDIT_DAYS, every day."""
    audit.delete_old(at=timezone.now())


@shared_task(name=mails.SEND)
def send_mails(**_later: object) -> None:
    """Send the mails that are due: after each mail that is written, and every few seconds."""
    mails.send_due(at=timezone.now())


@shared_task(name="communities.announce_members")
def announce_members(**_later: object) -> None:
    """Every two seconds: write the events of members who have changed and are not announced yet."""
    member_changes.announce_due(at=timezone.now())


@shared_task(name="communities.forget_mails")
def forget_mails(**_later: object) -> None:
    """Delete the rows of mails that ended long ago, every day."""
    mails.forget_old(at=timezone.now())


@shared_task(name="communities.forget_invitations")
def forget_invitations(**_later: object) -> None:
    """Delete invitations that ended long ago, every day."""
    invitations.forget_old(at=timezone.now())


@shared_task(name=platform_members.REFRESH)
def refresh_members(
    *, identity_id: int | None = None, user_id: int | None = None, after: int = 0, **_later: object
) -> None:
    """Ask the chat platform about members whose roles are old, every minute.

    With a person, the task finishes the communities that the sign-in left out, which have higher ids than
    `after`.
    """
    if identity_id is not None and user_id is not None:
        platform_members.refresh_rest(
            identity_id=identity_id, user_id=user_id, after=after, at=timezone.now()
        )
    else:
        platform_members.refresh_old(at=timezone.now())


@shared_task(name=identities.JOIN)
def join_written(*, user_id: int, community_id: int | None = None, **_later: object) -> None:
    """Join the entries of communities for an account to its owner, who has just signed in or acted in a chat.

    If the wake is lost, the person's next sign-in or action joins the entries, or their visit to a private
    project.
    """
    identities.join_written(user_id=user_id, community_id=community_id, at=timezone.now())


@shared_task(name="communities.sweep_chat")
def sweep_chat(**_later: object) -> None:
    """Every two seconds: wake a worker for due tasks of the chat platform, in case a wake was lost."""
    outbox.wake_due(at=timezone.now())


@shared_task(name=installations.CHECK)
def check_chat(*, community_id: int | None = None, **_later: object) -> None:
    """Check a community’s connection to the chat platform; without a community, some connections that are due
    (every 15 s).
    """
    if community_id is None:
        installations.check_due(at=timezone.now())
    else:
        installations.check_quietly(community_id=community_id, at=timezone.now())


@shared_task(name="communities.reconcile_chat")
def reconcile_chat(**_later: object) -> None:
    """Every day: find servers to which the bot was added, or from which it was removed, without a report."""
    installations.reconcile_quietly(at=timezone.now())


@shared_task(name="communities.forget_chat_tasks")
def forget_chat_tasks(**_later: object) -> None:
    """Every day: delete tasks of the chat platform that ended long ago."""
    outbox.forget_old(at=timezone.now())


@shared_task(name=copies.FETCH)
def fetch_pictures(**_later: object) -> None:
    """Fetch the pictures that are due: after each address that is written, and every few seconds."""
    fetching.fetch_due(at=timezone.now())


@shared_task(name="communities.tidy_pictures")
def tidy_pictures(**_later: object) -> None:
    """Every hour: request pictures that were not requested, and delete pictures that are not used."""
    tidying.tidy(at=timezone.now())
