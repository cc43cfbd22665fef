"""Requests for the message of a project on the chat platform: the worker posts, changes or closes it.

A project has a message if its invitation names a channel and its community is connected. The content of the
message is rendered when it is sent (`surveys.chat.posting`), so a second request changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from communities.ground.statements import prepared
from communities.services.chat import installations, outbox, overview
from surveys.models import Project, PublicMessage, SummaryMessage
from surveys.models.chat import ChatPost

SEND = "surveys.send_public_message"
SUMMARIZE = "surveys.send_summary"
REMOVE = "surveys.remove_public_message"

ASKED_AGAIN = timedelta(hours=1)  # after the platform refused, because each refusal counts against the bot

# Only these are compared, by an index: messages with buttons, and projects with votes that were deleted or
# imported after the closing. Waiting and blocked tasks of the outbox keep their time. Votes of anonymous
# projects are shown once an hour, so that no time in these rows reveals when somebody voted.
_SUM = "(SELECT coalesce(sum(changes), 0) FROM surveys_tally WHERE project_id = message.project_id)"
_COMPARED = """
    FROM surveys_publicmessage message
    JOIN surveys_project project ON project.id = message.project_id
    JOIN communities_chatinstallation chat
        ON chat.community_id = project.community_id AND chat.status = 'connected'
"""
_IS_NOT_ON_ITS_WAY = """
    (project.privacy_mode <> 'anonymous' OR %(is_new_hour)s) AND NOT EXISTS (
        SELECT FROM communities_chattask task WHERE task.kind = %(kind)s AND task.subject = {subject}
            AND (task.due_at IS NOT NULL OR task.status = 'blocked'
                OR task.status = 'abandoned' AND task.last_attempt_at > %(again)s)
    )
"""
# Messages that are outdated: by a closing, another wording, or votes.
_IS_OUTDATED = f"""
    SELECT message.project_id::text, project.community_id {_COMPARED}
    WHERE (message.is_open OR message.recounts > 0) AND NOT message.is_deleted AND (
        message.is_open AND project.status <> 'active'
        OR project.status = 'active' AND message.revision <> project.revision
        OR message.changes <> {_SUM}
    ) AND {_IS_NOT_ON_ITS_WAY.format(subject="message.project_id::text")}
    ORDER BY message.edited_at NULLS FIRST LIMIT 500
"""
# Summaries whose figures have changed since: answers were deleted, or given in another opening.
_SUMMARY = "summary.project_id || ':' || summary.opening"
_OUTDATED_SUMMARIES = f"""
    SELECT {_SUMMARY}, project.community_id {_COMPARED}
    JOIN surveys_summarymessage summary ON summary.project_id = message.project_id
    WHERE (message.is_open OR message.recounts > 0) AND summary.message_id <> ''
    AND project.deleted_at IS NULL AND (
        summary.changes IS NULL AND project.status <> 'active' OR summary.changes <> {_SUM}
    ) AND {_IS_NOT_ON_ITS_WAY.format(subject=_SUMMARY)}
    ORDER BY summary.edited_at NULLS FIRST LIMIT 500
"""
# If votes change during this statement, `recounts` has another number, and the row is compared again.
_SETTLE = f"""
    UPDATE surveys_publicmessage SET recounts = 0
    FROM (
        SELECT message.project_id, message.recounts FROM surveys_publicmessage message
        WHERE message.recounts > 0 AND (message.changes IS NULL OR message.changes = {_SUM})
            AND NOT EXISTS (
                SELECT FROM surveys_summarymessage summary
                WHERE summary.project_id = message.project_id AND summary.message_id <> ''
                    AND (summary.changes IS NULL OR summary.changes <> {_SUM})
            )
        LIMIT 500
    ) settled
    WHERE surveys_publicmessage.project_id = settled.project_id
        AND surveys_publicmessage.recounts = settled.recounts
"""
_NOTE_RECOUNT = """
    UPDATE surveys_publicmessage SET recounts = recounts + 1 WHERE project_id = %s AND NOT is_open
"""


def names_of(subjects: Collection[str]) -> Mapping[str, str]:
    """The names of the projects in the subjects of outbox tasks."""
    ids = {subject: subject.partition(":")[0] for subject in subjects}
    found = Project.objects.filter(pk__in={each for each in ids.values() if each.isdigit()})
    names = {str(pk): name for pk, name in found.values_list("pk", "name")}
    return {subject: names[pk] for subject, pk in ids.items() if pk in names}


overview.describe(SEND, "Message of a project", names_of)
overview.describe(SUMMARIZE, "Results of a project", names_of)


def channel_of(project: Project) -> str:
    """The channel of a project's invitation; empty if it names none."""
    invitation = (project.delivery or {}).get("invitation") or {}
    return invitation.get("post_channel_id") or ""


def address_of(project: Project) -> str:
    """The web address of a project's message; empty if it has no message."""
    row = PublicMessage.objects.filter(pk=project.pk).first()
    if row is None or not row.message_id:
        return ""
    return f"https://discord.com/channels/{project.community_id}/{row.channel_id}/{row.message_id}"


def are_posted(projects: Collection[Project]) -> bool:
    """Whether one of these projects has a message on the chat platform."""
    return PublicMessage.objects.filter(pk__in=[each.pk for each in projects]).exclude(message_id="").exists()


def ask(project: Project, *, at: datetime) -> None:
    """Request that the message of a project is posted, or updated.

    Call this in the transaction of the change. While the community is not connected, the task is blocked
    until it is.
    """
    channel_id = channel_of(project)
    if not channel_id and not PublicMessage.objects.filter(pk=project.pk).exists():
        return
    PublicMessage.objects.bulk_create(
        [PublicMessage(project_id=project.pk, channel_id=channel_id)], ignore_conflicts=True
    )
    if installations.is_configured():
        outbox.put(community_id=project.community_id, kind=SEND, subject=str(project.pk), at=at)


def note_recount(*, project_id: int) -> None:
    """Request a comparison of the messages of a closed project, because its votes have changed.

    Call this in the transaction of the change. While a project is open, its message is compared periodically.
    """
    with prepared() as cursor:
        cursor.execute(_NOTE_RECOUNT, [project_id])


def was_deleted(project: Project) -> bool:
    """Whether the message of a project was deleted on the platform, and has not been posted again."""
    return PublicMessage.objects.filter(pk=project.pk, is_deleted=True).exists()


def ask_to_post(project: Project, *, at: datetime) -> None:
    """Request the message of a project, even if it was deleted before: somebody opens the project, or asks
    for the post.
    """
    asked = {"is_deleted": False, "times_asked": F("times_asked") + 1}
    PublicMessage.objects.filter(pk=project.pk).update(**asked)
    ask(project, at=at)


def ask_at_closing(project: Project, *, at: datetime) -> None:
    """Request that the message of a closing project shows the closing, and that the results are posted if the
    project reveals them.
    """
    ask(project, at=at)
    PublicMessage.objects.filter(pk=project.pk).update(recounts=F("recounts") + 1)  # for earlier summaries
    if project.reveal_results and installations.is_configured():
        subject = f"{project.pk}:{int((project.opened_at or at).timestamp())}"  # once for each opening
        outbox.put(community_id=project.community_id, kind=SUMMARIZE, subject=subject, at=at)


def ask_to_remove(project: Project, *, at: datetime) -> None:
    """Request that all messages of a project are removed, because the project is deleted for good.

    Call this in the transaction of the deletion.
    """
    if not installations.is_configured():
        return
    for posts in (PublicMessage.objects.all(), SummaryMessage.objects.all()):
        for row in posts.filter(project=project).exclude(message_id=""):
            remove(project, row, at=at)


def remove(project: Project, row: ChatPost, *, at: datetime) -> None:
    """Request that a message is removed that no longer belongs to the project."""
    subject = subject_of_removal(row.channel_id, row.message_id)
    outbox.put(community_id=project.community_id, kind=REMOVE, subject=subject, at=at)


def subject_of_removal(channel_id: str, message_id: str) -> str:
    """The subject of the task that removes a message."""
    return f"{channel_id}:{message_id}"


def ask_for_outdated_summaries(*, at: datetime) -> int:
    """Request changes of the summaries whose figures are outdated. Returns the number of summaries."""
    return _ask_for(_OUTDATED_SUMMARIES, SUMMARIZE, at)


def ask_for_outdated(*, at: datetime) -> int:
    """Request changes of the messages that do not show the latest votes or wording.

    Returns the number of messages. The comparison uses sums that every vote changes anyway, so a vote costs
    nothing extra for its message. The outbox sends posts, roles and answers before these requests.
    """
    with prepared() as cursor:
        cursor.execute(_SETTLE)
    return _ask_for(_IS_OUTDATED, SEND, at)


def _ask_for(outdated: str, kind: str, at: datetime) -> int:
    values: dict[str, Any] = {"is_new_hour": at.minute == 0, "again": at - ASKED_AGAIN, "kind": kind}
    with prepared() as cursor:
        cursor.execute(outdated, values)
        rows = cursor.fetchall()
    for subject, community_id in rows:
        outbox.put(community_id=community_id, kind=kind, subject=subject, at=at, yields=True)
    return len(rows)
