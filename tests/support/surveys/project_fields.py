"""A value for every field of a project that the API accepts."""

from __future__ import annotations

from typing import Any

INVITATION: dict[str, Any] = {
    "post_channel_id": "1018273645546372819",
    "ping_role_ids": ["1018273645546372821"],
    "message": "Join in!",
    "thumbnail_url": "https://example.com/t.png",
    "image_url": "https://example.com/i.png",
    "border_color": "5865F2",
    "border_color_closed": "ff0000",
    "footer": "The club",
    "embed_config": {"info_display": "button", "rows": {"closing": True, "reward": False}},
    "answer_button_label": "Play",
    "answer_button_color": 4,
}
DELIVERY: dict[str, Any] = {
    "opening": {"mode": "scheduled", "time": "2999-01-01T00:00:00Z"},
    "closing": {"mode": "scheduled", "time": "2999-01-02T00:00:00Z"},
    "audience": {
        "participation": "open_web",
        "response_channel": "web",
        "required_role_ids": ["1018273645546372820"],
        "verified_source_ids": [4],
    },
    "invitation": INVITATION,
}
REWARDS = {
    "discord_role_id": "12",
    "achievement_id": "41",
    "use_xp": True,
    "achievement_enabled": False,
    "achievement_image_url": "https://example.com/a.png",
    "achievement_name": "Opener",
    "achievement_role_id": "13",
}
PRESENTATION = {
    "theme_id": 8,
    "interviewer_id": 6,
    "branding": "Club",
    "chart_emoji": "👩‍🚀",
    "logo_url": "https://example.com/logo.png",
    "accent_color": "4b4fcc",
    "background_color": "fff3e0",
    "background_url": "https://example.com/back.png",
    "font": "serif",
    "corners": "square",
}
SETTINGS = {
    "privacy_mode": "semi-private",
    "max_completes_per_user": 1,
    "change_poll": True,
    "poll_results_mode": "voters_only",
    "reveal_results": False,
    "share_results": True,
    "lock_graded_answers": False,
    "hidden_fields": ["utm_source"],
    "consent": "I agree.",
    "max_completes": 30,
    "quotas": [{"where": "field.utm_source = 1", "limit": 20, "message": "Thanks, we have enough."}],
    "max_begun_per_minute": 60,
    "advance_on_choice": False,
    "review": True,
    "end": {"url": "https://example.com/", "label": "Home", "redirect": True},
    "ends": [
        {
            "where": 'language = "de"',
            "message": "Danke!",
            "url": "https://example.com/de",
            "label": None,
            "redirect": False,
            "screen_out": False,
        }
    ],
    "keep_responses_days": 90,
    "mail_copy": True,
    "indexed": True,
}
EVERYTHING = {
    "name": "Other name",
    "settings": SETTINGS,
    "delivery": DELIVERY,
    "rewards": REWARDS,
    "presentation": PRESENTATION,
}
