"""The game store. Its web API identifies us by a key; no token of a person is needed."""

from __future__ import annotations

from communities.identity_providers import api, platforms
from communities.identity_providers.profiles import Profile, clean

API = "https://api.steampowered.com"


def profile(platform_id: str) -> Profile:
    """The account with this id, with the name that it shows. Raises PlatformUnavailable."""
    reply = _get("ISteamUser/GetPlayerSummaries/v2", steamids=platform_id)
    content = reply.content.get("response") if isinstance(reply.content, dict) else None
    players = content.get("players") if isinstance(content, dict) else None
    if reply.status != 200 or not isinstance(players, list):
        raise api.unexpected("game_store", reply)
    names = [clean(each.get("personaname")) for each in players if each.get("steamid") == platform_id]
    return Profile(platform_id, names[0] if names else "")


def owns(platform_id: str, game_id: str) -> bool:
    """Whether an account owns a game, as far as its profile shows that. Raises PlatformUnavailable.

    False if the list of games is private, because the platform then returns nothing.
    """
    reply = _get(
        "IPlayerService/GetOwnedGames/v1",
        **{"steamid": platform_id, "appids_filter[0]": game_id, "include_played_free_games": "1"},
    )
    content = reply.content.get("response") if isinstance(reply.content, dict) else None
    if reply.status != 200 or not isinstance(content, dict):
        raise api.unexpected("game_store", reply)
    games = content.get("games")
    return isinstance(games, list) and any(str(each.get("appid")) == game_id for each in games)


def _get(path: str, **params: str) -> api.Reply:
    key = platforms.credentials("game_store").client_secret
    return api.get("game_store", f"{API}/{path}/", params={"key": key, **params})
