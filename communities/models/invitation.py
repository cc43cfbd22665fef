"""Invitations by mail."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models

from communities.models.community import Community
from communities.models.member import Member
from communities.models.project_grant import ProjectGrant
from communities.models.user import User

VALID_FOR = timedelta(days=14)  # An invitation is valid for this time after it was last sent.


class Invitation(models.Model):
    """An invitation by mail: its reader may create an account, or use theirs, and become a member.

    With `uses_left` it is a link, which staff hand out: it has no address, and this many people may still
    accept it. `granted_level` is an access to projects that it gives besides: to one project, or to all.

    Only the digest of its token is stored. `member` is an existing member without an account; the reader is
    this member. A trigger refuses that any other user accepts it once the member has an account. A person who
    signs up freely has a row too: with `accepted_by`, but without `accepted_at` until they confirm their
    address.
    """

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    member = models.ForeignKey(Member, models.CASCADE, null=True, blank=True, related_name="+")
    email = models.EmailField(blank=True)
    name = models.CharField(max_length=200, blank=True)
    access = models.CharField(max_length=8, choices=Member.Access, default=Member.Access.MEMBER)
    granted_level = models.CharField(max_length=4, choices=ProjectGrant.Level, blank=True, db_default="")
    granted_project_id = models.BigIntegerField(null=True, blank=True)
    uses_left = models.PositiveSmallIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["community", "-id"], name="invitation_newest")]

    def __str__(self) -> str:
        return f"Invitation {self.pk} to community {self.community_id}"

    @property
    def sent_at(self) -> datetime:
        """When the invitation was last sent."""
        return self.expires_at - VALID_FOR
