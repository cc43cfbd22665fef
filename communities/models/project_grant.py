"""What one member may do with projects beyond their role (rule 1.80)."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from communities.models.member import Member


class ProjectGrant(models.Model):
    """A member's access to one project; without `project_id`, to all projects of the community.

    The row names the project by id alone, because this app does not depend on `surveys`. The
    deletion of a project takes its rows along. A trigger deletes the rows of members who leave.
    """

    class Level(models.TextChoices):
        READ = "read"
        EDIT = "edit"
        OWN = "own"

    member = models.ForeignKey(Member, models.CASCADE, related_name="project_grants", db_index=False)
    project_id = models.BigIntegerField(null=True, blank=True)
    level = models.CharField(max_length=4, choices=Level)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["member", "project_id"],
                nulls_distinct=False,
                name="member_has_one_grant_for_a_project",
            ),
            models.CheckConstraint(
                condition=Q(project_id__isnull=False) | Q(level="read"), name="grant_for_all_projects_reads"
            ),
        ]
        indexes = [
            models.Index(
                fields=["project_id"], condition=Q(project_id__isnull=False), name="grant_of_project"
            ),
        ]

    def __str__(self) -> str:
        return f"Grant {self.pk} to member {self.member_id}"
