"""Participation: responses over time, and how far people came (rules 6.305 to 6.307)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

PARTICIPATION: dict[str, Any] = {
    "period": "day",
    "zone": "UTC",
    "screened_out": 3,
    "seconds": 95.0,
    "spans": [
        {"begins_on": "2026-01-30", "begun": 25, "completed": 22},
        {"begins_on": "2026-01-31", "begun": 15, "completed": 16},
    ],
    "blocks": [{"block_id": 41, "seen": 40, "answered": 38, "left": 2}],
}


class SpanOut(serializers.Serializer[Any]):
    """One day, week or month."""

    begins_on = serializers.DateField(help_text="Its first day, in UTC. Weeks begin on Monday.")
    begun = serializers.IntegerField(
        help_text="Conversations that began in this time, including those without an answer."
    )
    completed = serializers.IntegerField(help_text="Conversations completed in this time.")


class ReachOut(serializers.Serializer[Any]):
    """How far people came at one question of the script."""

    block_id = serializers.IntegerField()
    seen = serializers.IntegerField(help_text="Conversations that were asked the question.")
    answered = serializers.IntegerField(help_text="Conversations that answered the question.")
    left = serializers.IntegerField(help_text="Partial responses whose current block is this question.")


class ParticipationFiguresOut(serializers.Serializer[Any]):
    period = serializers.ChoiceField(
        choices=["day", "week", "month"],
        help_text="Days for up to 62 days, weeks for up to 62 weeks, otherwise months.",
    )
    zone = serializers.CharField(help_text="The time zone of the days: `UTC`.")
    screened_out = serializers.IntegerField(
        help_text="Responses that were screened out. No other number includes them."
    )
    seconds = serializers.FloatField(
        allow_null=True,
        help_text="The median time from the beginning to the end of completed conversations, without "
        "imported ones. Null on anonymous projects, whose times are rounded.",
    )
    spans = SpanOut(many=True, help_text="The periods from the first to the last day, including empty ones.")
    blocks = ReachOut(many=True, help_text="The questions of the script, in its order.")
