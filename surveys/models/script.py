"""The tables of a script: blocks, options and buckets. Removed rows that have answers are archived."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from surveys.models.project import Project


class Bucket(models.Model):
    """A scoring bucket. Its variable key is the name in lower case with `_` for spaces."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="buckets")
    name = models.CharField(max_length=64)
    order = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="bucket_named_once_in_a_project"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"


def buckets_in_order(project: Project) -> list[Bucket]:
    """The scoring buckets of a project in display order. No query if they are prefetched."""
    return sorted(project.buckets.all(), key=lambda bucket: (bucket.order, bucket.pk))


class Block(models.Model):
    """One step of a script. The fields are defined by chapter 3; null has the same meaning as there."""

    class Section(models.TextChoices):
        INTRO = "intro"
        MAIN = "main"
        OUTRO = "outro"

    project = models.ForeignKey(Project, models.CASCADE, related_name="blocks")
    is_archived = models.BooleanField(
        default=False, help_text="The block was removed from the script. The row is kept for its answers."
    )
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=64)
    section = models.CharField(max_length=5, choices=Section, default=Section.MAIN)
    type = models.CharField(max_length=16)
    prompt = models.TextField(blank=True)
    description = models.TextField(null=True, blank=True)  # noqa: DJ001
    scores_ignored = models.BooleanField(
        default=False, help_text="Scores of options were sent while scoring was off."
    )
    answer_style = models.CharField(max_length=11, null=True, blank=True)  # noqa: DJ001
    color = models.CharField(max_length=6, null=True, blank=True)  # noqa: DJ001
    image_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    image_alt = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001
    thumbnail_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    thumbnail_alt = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001
    video_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    min = models.BigIntegerField(null=True, blank=True)
    max = models.BigIntegerField(null=True, blank=True)
    whole = models.BooleanField(null=True, blank=True, help_text="Fractions are refused as answers.")
    format = models.CharField(max_length=5, null=True, blank=True)  # noqa: DJ001
    group = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    required = models.BooleanField(null=True, blank=True)
    precondition = models.TextField(null=True, blank=True)  # noqa: DJ001
    show_when = models.JSONField(null=True, blank=True)
    hide_when = models.JSONField(null=True, blank=True)
    action_kind = models.CharField(max_length=16, null=True, blank=True)  # noqa: DJ001
    action_config = models.JSONField(null=True, blank=True)
    correct_answer_ids = ArrayField(models.BigIntegerField(), null=True, blank=True)
    when_correct = models.TextField(null=True, blank=True)  # noqa: DJ001
    when_incorrect = models.TextField(null=True, blank=True)  # noqa: DJ001
    scale = models.JSONField(null=True, blank=True)
    randomize_options = models.BooleanField(null=True, blank=True)
    rank_top_n = models.PositiveIntegerField(null=True, blank=True)
    follow_ups = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="How many further questions a model may ask about a short answer."
    )
    calculated_formula = models.TextField(null=True, blank=True)  # noqa: DJ001
    advance = models.JSONField("continue", null=True, blank=True)
    last_code = models.PositiveIntegerField(
        default=0, help_text="The highest code that any option of the block ever had."
    )

    class Meta:
        indexes = [
            models.Index(fields=["project", "is_archived", "position"], name="block_in_script_order"),
            models.Index(
                fields=["project"],
                condition=Q(image_url__isnull=False) | Q(thumbnail_url__isnull=False),
                name="block_with_picture",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"


class Option(models.Model):
    """A choice, ranking item or scale point of a block.

    `code` is its number in exports. The code is assigned once, in the order in which options are first
    written. It never changes, and is never assigned to another option of the block (rules 3.17 and 6.63).
    """

    block = models.ForeignKey(Block, models.CASCADE, related_name="options")
    is_archived = models.BooleanField(
        default=False, help_text="The option was removed from the block. The row is kept for its answers."
    )
    display_order = models.PositiveIntegerField()
    code = models.PositiveIntegerField()
    value = models.CharField(max_length=500)
    label = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001
    emoji = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001
    score_values = models.JSONField(null=True, blank=True)
    anchor_position = models.CharField(max_length=4, null=True, blank=True)  # noqa: DJ001
    is_exclusive = models.BooleanField(
        null=True, blank=True, help_text="Respondents cannot choose this option together with other options."
    )
    is_other = models.BooleanField(
        null=True, blank=True, help_text="Respondents who choose this option write a text of their own."
    )
    image_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    image_alt = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["block", "code"], name="option_has_its_own_code_in_a_block")
        ]
        indexes = [
            models.Index(fields=["block", "display_order"], name="option_in_block_order"),
            models.Index(fields=["block"], condition=Q(image_url__isnull=False), name="option_with_picture"),
        ]

    def __str__(self) -> str:
        return f"{self.value[:40]} ({self.pk})"
