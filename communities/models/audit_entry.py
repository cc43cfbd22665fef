"""The audit trail."""

from __future__ import annotations

from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Q

from communities.models.community import Community


class AuditEntry(models.Model):
    """One change by an admin, an API key or the service itself, written in the transaction of the change.

    A database trigger refuses updates and deletes, with two exceptions. Erasing a person removes their name
    and the references to them, and entries are deleted when they are old enough. The entries of erased staff
    get a pseudonym in the same update; otherwise the trigger refuses it (rule 7.20). `before` and `after`
    contain the changed fields, never an answer or a secret. Users, keys and objects are referred to without
    foreign keys, because entries outlive them.
    """

    class Source(models.TextChoices):
        API_KEY = "api_key", "API key"
        ADMIN = "admin", "Admin"
        MEMBER = "member", "Member"
        SYSTEM = "system", "Colloquy"

    id = models.UUIDField(
        primary_key=True, help_text="Grows with time. Random where `happened_at` is rounded."
    )
    community = models.ForeignKey(Community, models.PROTECT, related_name="+", db_index=False)
    happened_at = models.DateTimeField()
    source = models.CharField(max_length=7, choices=Source)
    actor_id = models.BigIntegerField(null=True, help_text="The id of the user who acted.")
    actor_name = models.CharField(max_length=200, blank=True, help_text="As it was then.")
    actor_pseudonym = models.CharField(
        max_length=8,
        blank=True,
        db_default="",
        help_text="A random name in place of an erased user: one for each person and community.",
    )
    api_key_id = models.BigIntegerField("API key", null=True)
    key_prefix = models.CharField(max_length=14, blank=True)
    action = models.CharField(max_length=30)
    object_type = models.CharField(max_length=20)
    object_id = models.CharField(max_length=36, null=True)  # noqa: DJ001 (unknown is not empty)
    object_name = models.CharField(max_length=200, blank=True, help_text="As it was then.")
    project_id = models.BigIntegerField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=64, null=True)  # noqa: DJ001
    words = models.GeneratedField(
        expression=SearchVector(
            *("actor_name", "actor_pseudonym", "key_prefix", "object_name", "object_id"), config="simple"
        ),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["community", "-happened_at", "-id"], name="audit_newest_in_community"),
            models.Index(
                fields=["project_id", "-happened_at", "-id"],
                condition=Q(project_id__isnull=False),
                name="audit_newest_of_project",
            ),
            models.Index(
                fields=["community", "action", "-happened_at", "-id"], name="audit_newest_of_action"
            ),
            models.Index(
                fields=["community", "actor_id", "-happened_at", "-id"],
                condition=Q(actor_id__isnull=False),
                name="audit_newest_of_actor",
            ),
            models.Index(
                fields=["community", "actor_pseudonym", "-happened_at", "-id"],
                condition=~Q(actor_pseudonym=""),
                name="audit_newest_of_pseudonym",
            ),
            models.Index(
                fields=["community", "object_type", "object_id"],
                condition=Q(object_id__isnull=False),
                name="audit_entries_of_object",
            ),
            GinIndex(fields=["words"], name="audit_words"),
            BrinIndex(fields=["happened_at"], name="audit_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.action} ({self.pk})"
