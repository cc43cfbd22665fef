"""The people with accounts on the platforms."""

from __future__ import annotations

from dataclasses import dataclass, field

CHAT_ID = "80351110224678912"
VIDEO_ID = "112233445566778899001"
STREAMING_ID = "141981764"
GAME_STORE_ID = "76561197960435530"
MEMBERSHIP_ID = "32187"


@dataclass
class Person:
    """One person, with an account on each platform. `guilds` has the roles by the id of the server."""

    name: str = "Nelly"
    chat_id: str = CHAT_ID
    video_id: str = VIDEO_ID
    streaming_id: str = STREAMING_ID
    game_store_id: str = GAME_STORE_ID
    membership_id: str = MEMBERSHIP_ID
    email: str = "nelly@example.org"
    nick: str | None = None
    avatar: str | None = "8342729096ea3675442027381ff50dfe"
    guilds: dict[str, list[str]] = field(default_factory=dict)
    channels: set[str] = field(default_factory=set)  # of the video platform
    followed: set[str] = field(default_factory=set)
    subscribed: set[str] = field(default_factory=set)  # on the streaming platform
    games: set[int] = field(default_factory=set)
    shows_games: bool = True
    campaigns: dict[str, str] = field(default_factory=dict)  # patron_status by campaign
    tiers: dict[str, list[str]] = field(default_factory=dict)  # entitled, by campaign

    def id_on(self, platform: str) -> str:
        platform_id: str = getattr(self, f"{platform}_id")
        return platform_id
