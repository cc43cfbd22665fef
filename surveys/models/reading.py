"""Readings of answers to open questions: the themes of each question, and a row for each answer."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from surveys.models.conversation import Conversation
from surveys.models.project import Project
from surveys.models.script import Block


class Codebook(models.Model):
    """The themes of one open question. `version` grows with each change by staff or a provider.

    `generated_by` is the provider that named the themes. `unfit` is the number of answers that fitted no
    theme when new themes were last searched.
    """

    block = models.OneToOneField(Block, models.CASCADE, primary_key=True, related_name="codebook")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    version = models.PositiveIntegerField(default=0)
    generated_by = models.CharField(max_length=16, null=True, blank=True)  # noqa: DJ001
    unfit = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"Codebook of block {self.pk}"


class Theme(models.Model):
    """Something that several answers to a question mention.

    `since` is the version of the codebook in which the theme got its current meaning: an answer that was read
    before that is read again. `phrases` are the provider's own data to recognise the theme. Answers of a
    theme that was merged count for `merged_into`; its row stays, with the version of the merge as `since`, as
    long as an analysis may still use it.
    """

    block = models.ForeignKey(Block, models.CASCADE, related_name="themes", db_index=False)
    title = models.CharField(max_length=80)
    description = models.CharField(max_length=300, default="", blank=True)
    phrases = models.JSONField(default=list)
    is_pinned = models.BooleanField(
        default=False, help_text="Staff pinned the theme. No analysis replaces a pinned theme."
    )
    since = models.PositiveIntegerField()
    merged_into = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "block",
                Lower("title"),
                condition=Q(merged_into__isnull=True),
                name="theme_title_once_in_a_question",
            ),
        ]
        indexes = [
            models.Index(fields=["block"], name="theme_of_block"),
            models.Index(
                fields=["merged_into"], name="theme_merged_into", condition=Q(merged_into__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"Theme {self.pk}"


class Reading(models.Model):
    """The reading of one answer to an open question.

    A trigger deletes it with the answer, and when the text of the answer changes. `version` is the version of
    the codebook with which the answer was read. `sentiment` is null if it could not be judged. `quote` is a
    verbatim part of the answer. `is_corrected` if staff have corrected the reading. `is_emptied` if all its
    themes were removed since.
    """

    pk = models.CompositePrimaryKey("conversation_id", "block_id")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="+", db_index=False)
    block = models.ForeignKey(Block, models.CASCADE, related_name="+", db_index=False)
    themes = ArrayField(models.BigIntegerField())
    sentiment = models.CharField(max_length=8, null=True, blank=True)  # noqa: DJ001
    quote = models.CharField(max_length=200, default="", blank=True)
    version = models.PositiveIntegerField()
    generated_by = models.CharField(max_length=16)
    is_corrected = models.BooleanField(default=False)
    is_emptied = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sentiment__isnull=True) | Q(sentiment__in=["positive", "neutral", "negative"]),
                name="reading_sentiment_is_known",
            ),
        ]
        indexes = [models.Index(fields=["block", "version"], name="reading_by_block")]

    def __str__(self) -> str:
        return f"Reading of the answer to block {self.block_id} in {self.conversation_id}"
