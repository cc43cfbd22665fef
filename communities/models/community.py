"""Communities and their settings."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models

from communities.ground.key_versions import AccessQuerySet
from communities.models.user import User


class Community(models.Model):
    """A tenant. Its id is the chat server's snowflake."""

    class Platform(models.TextChoices):
        CHAT = "chat"

    class TierName(models.TextChoices):
        BASIC = "basic"
        PREMIUM = "premium"
        VIP = "vip", "VIP"
        CUSTOM = "custom"

    decides_access: ClassVar = frozenset({"tier"})
    path_to_community: ClassVar = "pk"

    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=200)
    platform = models.CharField(max_length=8, choices=Platform, default=Platform.CHAT)
    tier = models.CharField(max_length=8, choices=TierName, default=TierName.BASIC)
    bot_credits = models.PositiveIntegerField(default=0, help_text="Credits left for AI features.")
    follow_ups_of_ten = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="How many of the ten further questions that are paid together were asked.",
    )
    locale = models.CharField(max_length=35, null=True, blank=True)  # noqa: DJ001 (null is part of the interface)
    icon_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    created_date = models.DateTimeField(null=True, blank=True)
    total_project_count = models.PositiveIntegerField(default=0, help_text="All projects ever created.")
    active_project_count = models.PositiveIntegerField(default=0, help_text="Projects live or pending.")
    topics = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    user_setup = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    test_of = models.OneToOneField(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="test_side",
        help_text="The community that this test side belongs to. Null: the community is no test side.",
    )

    objects = AccessQuerySet["Community"].as_manager()

    class Meta:
        verbose_name_plural = "communities"
        indexes = [GinIndex(SearchVector("name", config="simple"), name="community_by_words_of_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"

    @property
    def is_test(self) -> bool:
        """Whether this is the test side of a community, which people are not members of (rule 1.760)."""
        return self.test_of_id is not None

    @property
    def mode(self) -> str:
        """The mode of the keys that see this community."""
        return "test" if self.is_test else "live"


TEST_LIFETIME = timedelta(days=30)  # objects of test keys are deleted after this time (rule 12.760).
MAX_ORIGINS = 20  # A community names at most this many sites.


class CommunitySettings(models.Model):
    class AnonymousMode(models.TextChoices):
        YES = "yes"
        NO = "no"
        MORE_ANONYMOUS = "more_anonymous"

    class ThankYouType(models.TextChoices):
        DEFAULT = "default"
        FORM_STANDARD = "form_standard"
        CUSTOM = "custom"

    class Font(models.TextChoices):
        SANS = "sans"
        SERIF = "serif"
        ROUNDED = "rounded"

    class Corners(models.TextChoices):
        ROUND = "round"
        SOFT = "soft"
        SQUARE = "square"

    DEFAULT_TIME_ZONE: ClassVar = "UTC"

    community = models.OneToOneField(Community, models.CASCADE, primary_key=True, related_name="settings")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_TIME_ZONE,
        db_default=DEFAULT_TIME_ZONE,
        help_text="IANA name, such as Europe/Oslo. Staff enter and read times in it.",
    )
    locale = models.CharField(max_length=35, null=True, blank=True)  # noqa: DJ001
    default_anonymous_mode = models.CharField(  # noqa: DJ001
        max_length=16, choices=AnonymousMode, null=True, blank=True, default=AnonymousMode.NO
    )
    privacy_url = models.CharField(  # noqa: DJ001
        max_length=2048, null=True, blank=True, help_text="Where respondents read how their data is handled."
    )
    logo_url = models.CharField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    accent_color = models.CharField(max_length=6, null=True, blank=True)  # noqa: DJ001
    background_color = models.CharField(max_length=6, null=True, blank=True)  # noqa: DJ001
    background_url = models.CharField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    font = models.CharField(max_length=8, choices=Font, null=True, blank=True)  # noqa: DJ001
    corners = models.CharField(max_length=8, choices=Corners, null=True, blank=True)  # noqa: DJ001
    use_xp = models.BooleanField(null=True, blank=True, default=True)
    xp_name = models.CharField(max_length=50, null=True, blank=True, default="XP")  # noqa: DJ001
    xp_per_question = models.PositiveIntegerField(null=True, blank=True, default=10)
    use_leader_board = models.BooleanField(null=True, blank=True, default=True)
    thank_you_type = models.CharField(  # noqa: DJ001
        max_length=16, choices=ThankYouType, null=True, blank=True, default=ThankYouType.DEFAULT
    )
    thank_you_custom_message = models.TextField(max_length=4000, null=True, blank=True)  # noqa: DJ001
    thank_you_custom_label = models.CharField(max_length=80, null=True, blank=True)  # noqa: DJ001
    allow_sign_up = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Anybody may make an account and become a member, without an invitation.",
    )
    require_second_factor = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Staff need an authenticator app or a passkey for the pages of the community's staff.",
    )

    allowed_origins = ArrayField(
        models.CharField(max_length=300),
        default=list,
        db_default=[],
        blank=True,
        help_text="Sites whose pages may lead conversations, such as https://www.example.com.",
    )

    class Meta:
        verbose_name_plural = "community settings"

    def __str__(self) -> str:
        return f"Settings of community {self.community_id}"

    # If nothing is chosen, the default of a new community applies.

    @property
    def gives_xp(self) -> bool:
        return self.use_xp is not False

    @property
    def has_leaderboard(self) -> bool:
        return self.use_leader_board is not False

    @property
    def xp_for_a_question(self) -> int:
        return 10 if self.xp_per_question is None else self.xp_per_question

    @property
    def name_of_xp(self) -> str:
        return self.xp_name or "XP"
