"""Rows about answering on the chat platform: the posts of a project, and choices that are not sent yet."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from surveys.models.conversation import Conversation
from surveys.models.project import Project


class ChatPost(models.Model):
    """A message of ours in a channel of the chat platform.

    A post is begun once `posted_at` is set, and posted once `message_id` is set. If a row is begun and not
    posted, the platform's answer was lost: the channel is searched before anything is sent again.
    `fingerprint` is a hash of the content that was last sent, so that the same content is not sent again.
    `changes` is the sum of the project's tallies that the message shows; null if it shows no figures.
    `edited_at` stays set after a message was posted, even if it was deleted.
    """

    channel_id = models.CharField(max_length=20)
    message_id = models.CharField(max_length=20, blank=True, db_default="", help_text="Empty: not posted.")
    fingerprint = models.CharField(max_length=64, blank=True, db_default="")
    changes = models.BigIntegerField(null=True)
    is_deleted = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The message was deleted on the platform. Only staff post it again.",
    )
    posted_at = models.DateTimeField(null=True)
    edited_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def is_begun(self) -> bool:
        """Whether the platform may have the message although its id is not stored."""
        return self.posted_at is not None and not self.message_id


class PublicMessage(ChatPost):
    """The message of a project on the chat platform: its invitation, and on a poll the poll itself.

    `revision` is the revision of the script that it shows. `times_asked` counts the requests for a post, by
    opening the project or by “Post again”. A message that is found deleted stays deleted only if there was no
    request since the worker read the row. `recounts` counts the changes of votes while the project was
    closed, until all its messages show them.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    is_open = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The message shows an open project and has buttons to answer.",
    )
    revision = models.PositiveIntegerField(default=0, db_default=0)
    times_asked = models.PositiveIntegerField(default=0, db_default=0)
    recounts = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        indexes = [
            models.Index(
                fields=["project"],
                condition=models.Q(is_open=True) | models.Q(recounts__gt=0),
                name="public_message_compared",
            ),
        ]

    def __str__(self) -> str:
        return f"Message of project {self.project_id}"


class SummaryMessage(ChatPost):
    """The results of a project as posted when it closed.

    `opening` is the Unix time of the opening that ended.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    opening = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "opening"], name="project_has_one_summary_for_each_opening"
            ),
        ]

    def __str__(self) -> str:
        return f"Summary of project {self.project_id} ({self.pk})"


class UnsentAnswer(models.Model):
    """An answer in chat that the respondent has begun and not sent: chosen or ranked options, or a text.

    `text` is a typed text that was refused; the form shows it again. The row is deleted when an answer is
    accepted. Earlier versions, which run during an upgrade, use the table's name.
    """

    conversation = models.OneToOneField(
        Conversation, models.CASCADE, primary_key=True, related_name="+", db_constraint=False
    )
    block_id = models.BigIntegerField()
    follow_up = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="The number of the further question. 0: the answer is to the block itself.",
    )
    option_ids = ArrayField(models.BigIntegerField(), default=list)
    text = models.TextField(blank=True, default="")

    class Meta:
        db_table = "surveys_answerdraft"

    def __str__(self) -> str:
        return f"Unsent answer of conversation {self.conversation_id}"
