"""Accounts on other platforms, and the rules that projects apply to them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from communities.models.community import Community
from communities.models.user import User


class Identity(models.Model):
    """An account by which a platform knows a user. Its id is unique within the platform only.

    Without a `community` the user has signed in with the account. With one, the identity is valid only in
    that community (rule 7.22). It is the `external_id` of a respondent (provider `web`), or an account that
    the community wrote down or that acted in its chat. Users of the latter kind have no way to sign in:
    triggers refuse it.
    """

    class Provider(models.TextChoices):
        CHAT = "chat"
        VIDEO = "video"
        STREAMING = "streaming"
        GAME_STORE = "game_store"
        MEMBERSHIP = "membership"
        WEB = "web"

    user = models.ForeignKey(User, models.CASCADE, related_name="identities")
    provider = models.CharField(max_length=10, choices=Provider)
    platform_id = models.CharField(max_length=128)
    community = models.ForeignKey(Community, models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=200, blank=True, db_default="", help_text="The name on the platform.")
    proven_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the user last signed in with it or, in a community, first acted there; null: never.",
    )

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "platform_id", "community"],
                nulls_distinct=False,
                name="identity_names_one_user",
            ),
            models.CheckConstraint(
                condition=Q(community__isnull=False) | Q(proven_at__isnull=False) & ~Q(provider="web"),
                name="identity_of_no_community_is_proven",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} identity {self.pk}"


class SourceToken(models.Model):
    """An encrypted token for questions to a platform about one identity (`services.source_tokens`)."""

    identity = models.OneToOneField(Identity, models.CASCADE, primary_key=True, related_name="token")
    sealed = models.BinaryField()
    expires_at = models.DateTimeField(null=True, help_text="When the access token expires. Null: never.")
    refreshing_until = models.DateTimeField(
        null=True, help_text="Until this time, one process alone asks the platform for a new token."
    )

    def __str__(self) -> str:
        return f"Token of identity {self.identity_id}"


class VerifiedSource(models.Model):
    """A rule about accounts on other platforms, which projects may require of their respondents.

    `target` is the platform's id of the channel, game, server, campaign or tier in the rule; empty if having
    an account is enough. A removed rule keeps its id, and nobody meets it.
    """

    class Rule(models.TextChoices):
        HAS_ACCOUNT = "has_account"
        IN_SERVER = "in_server"
        SUBSCRIBES_TO = "subscribes_to"
        FOLLOWS = "follows"
        OWNS = "owns"
        SUPPORTS = "supports"
        HAS_TIER = "has_tier"

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    provider = models.CharField(max_length=10, choices=Identity.Provider)
    rule = models.CharField(max_length=13, choices=Rule)
    target = models.CharField(max_length=64, blank=True)
    label = models.CharField(max_length=200, help_text="What respondents read.")
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(rule="has_account", target="") | ~Q(rule="has_account") & ~Q(target=""),
                name="verified_source_has_a_target_if_its_rule_does",
            ),
            models.CheckConstraint(condition=~Q(provider="web"), name="verified_source_is_not_the_web"),
        ]
        indexes = [models.Index(fields=["community", "id"], name="verified_source_of_community")]

    def __str__(self) -> str:
        return f"{self.label} ({self.pk})"


class SourceCheck(models.Model):
    """The platform's last answer about one identity and one rule."""

    pk = models.CompositePrimaryKey("source_id", "identity_id")
    source = models.ForeignKey(VerifiedSource, models.CASCADE, related_name="+", db_index=False)
    identity = models.ForeignKey(Identity, models.CASCADE, related_name="+")
    passes = models.BooleanField()
    checked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"Check of identity {self.identity_id} for source {self.source_id}"
