"""What answering on the chat platform has to keep: the message of a project, and choices not sent yet."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from surveys.models.conversation import Conversation
from surveys.models.project import Project


class PublicMessage(models.Model):
    """The message of a project on the chat platform: its invitation, and on a poll the poll itself.

    `fingerprint` is a hash of what was last sent, so that the same is not sent again. `changes` is the sum
    of the project's tallies that the message shows; null where it shows no votes. `revision` is that of the
    script that it shows. `edited_at` stays once the project was posted, also if the message is gone.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    channel_id = models.CharField(max_length=20)
    message_id = models.CharField(max_length=20, blank=True, db_default="", help_text="Empty: not posted.")
    fingerprint = models.CharField(max_length=64, blank=True, db_default="")
    changes = models.BigIntegerField(null=True)
    is_open = models.BooleanField(
        default=False, db_default=False, help_text="It shows an open project, with buttons to answer."
    )
    is_deleted = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The message was deleted on the platform: it is not posted again by itself.",
    )
    revision = models.PositiveIntegerField(default=0, db_default=0)
    posted_at = models.DateTimeField(null=True)
    edited_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"Message of project {self.project_id}"


class AnswerDraft(models.Model):
    """What a respondent has ticked, ranked or typed at one question in chat, and not sent yet.

    `text` is what they typed and what could not be taken; it is shown to them again. Deleted with the answer.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="+", db_constraint=False
    )
    block_id = models.BigIntegerField()
    option_ids = ArrayField(models.BigIntegerField(), default=list)
    text = models.TextField(blank=True, default="")

    def __str__(self) -> str:
        return f"Draft of conversation {self.conversation_id}"
