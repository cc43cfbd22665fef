"""The installation's own data."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class KeyFingerprint(models.Model):
    """The fingerprint of the SECRET_KEY that the database's hashes and encrypted secrets were made with.

    After a change of SECRET_KEY, `sealed_hash_root` contains the root of the keys of hashes, which stays the
    same (`communities.ground.sealing`). The table has at most one row.
    """

    ONLY_ID = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY_ID)
    fingerprint = models.CharField(max_length=64, help_text="A keyed hash: it does not reveal the key.")
    sealed_hash_root = models.BinaryField(null=True, help_text="Encrypted with SECRET_KEY.")
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="key_fingerprint_has_one_row")]

    def __str__(self) -> str:
        return f"Key fingerprint {self.pk}"
