"""Addresses of videos (rule 3.198): the sites whose players pages show, and the address of each player."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from communities.ground.translation import say
from surveys.engine.language.piping import Authored

YOUTUBE, VIMEO = "YouTube", "Vimeo"
# Players that set no cookie before they are asked to play, or none at all.
PLAYERS: Mapping[str, str] = {
    YOUTUBE: "https://www.youtube-nocookie.com",
    VIMEO: "https://player.vimeo.com",
}
_SITES: Mapping[str, str] = {
    **dict.fromkeys(("youtube.com", "m.youtube.com", "youtu.be", "youtube-nocookie.com"), YOUTUBE),
    **dict.fromkeys(("vimeo.com", "player.vimeo.com"), VIMEO),
}
_YOUTUBE_ID = re.compile(r"[A-Za-z0-9_-]{11}")
_VIMEO_ID = re.compile(r"[0-9]{1,12}")
_VIMEO_KEY = re.compile(r"[0-9a-f]{6,20}")
_PART = re.compile(r"([0-9]{1,6})([hms]?)")
_UNITS = {"h": 3600, "m": 60, "s": 1, "": 1}  # in seconds
MAX_MOMENT = 12  # characters
_YOUTUBE_FOLDERS = frozenset({"embed", "live", "shorts", "v"})


@dataclass(frozen=True, slots=True)
class Video:
    """A video of a site. `key` opens one of Vimeo that is not listed; `start` is in seconds."""

    site: str
    id: str
    key: str = ""
    start: int = 0

    @property
    def origin(self) -> str:
        """The site of its player, which a page has to allow in a frame."""
        return PLAYERS[self.site]

    @property
    def address(self) -> str:
        """The page of the video at its site, without what else the author's address said."""
        if self.site == YOUTUBE:
            return f"https://www.youtube.com/watch?v={self.id}" + (f"&t={self.start}s" if self.start else "")
        return "/".join(filter(None, ["https://vimeo.com", self.id, self.key])) + self._moment

    def player(self, language: str) -> str:
        """The player, which begins at once, with captions in this language where the video has them."""
        captions = language.split("-")[0]
        if self.site == YOUTUBE:
            wanted = {"autoplay": 1, "cc_load_policy": 1, "cc_lang_pref": captions, "hl": language}
            wanted |= {"playsinline": 1, "rel": 0} | ({"start": self.start} if self.start else {})
            return f"{self.origin}/embed/{self.id}?{urlencode(wanted)}"
        wanted = {"autoplay": 1, "dnt": 1, "texttrack": captions} | ({"h": self.key} if self.key else {})
        return f"{self.origin}/video/{self.id}?{urlencode(wanted)}{self._moment}"

    @property
    def _moment(self) -> str:
        return f"#t={self.start}s" if self.start else ""


def link(address: str | None) -> str:
    """A link to the page of a video, in Markdown, where there is no player; empty without a video."""
    video = read(address or "")
    if video is None:
        return ""
    return Authored(f"[▶ {say('Watch the video on {site}', site=video.site)}]({video.address})")


def origins(addresses: Iterable[str]) -> frozenset[str]:
    """The sites of the players of these videos."""
    return frozenset(video.origin for video in map(read, addresses) if video is not None)


def read(address: str) -> Video | None:
    """The video of an `https` address of a page or a player; None for any other address."""
    try:
        parts = urlsplit(address)
        is_plain = parts.scheme == "https" and parts.port is None and "@" not in parts.netloc
    except ValueError:  # a host or a port that is none
        return None
    site = _SITES.get((parts.hostname or "").removeprefix("www.")) if is_plain else None
    folders, asked = [each for each in parts.path.split("/") if each], parse_qs(parts.query)
    if site == YOUTUBE:
        return _of_youtube(parts.hostname or "", folders, asked)
    if site == VIMEO:
        return _of_vimeo(folders, asked, parts.fragment)
    return None


def _of_youtube(host: str, folders: list[str], asked: Mapping[str, list[str]]) -> Video | None:
    if host.endswith("youtu.be"):
        place = folders[:1] if len(folders) == 1 else []
    elif folders == ["watch"]:
        place = asked.get("v", [])[:1]
    else:
        place = folders[1:] if len(folders) == 2 and folders[0] in _YOUTUBE_FOLDERS else []
    if not place or not _YOUTUBE_ID.fullmatch(place[0]):
        return None
    start = (asked.get("t") or asked.get("start") or [""])[0]
    return Video(YOUTUBE, place[0], start=_seconds(start))


def _of_vimeo(folders: list[str], asked: Mapping[str, list[str]], fragment: str) -> Video | None:
    if folders[:1] == ["video"]:
        folders = folders[1:]
    if not 1 <= len(folders) <= 2 or not _VIMEO_ID.fullmatch(folders[0]):
        return None
    key = folders[1] if len(folders) == 2 else asked.get("h", [""])[0]
    if key and not _VIMEO_KEY.fullmatch(key):
        return None
    return Video(VIMEO, folders[0], key, _seconds(fragment.removeprefix("t=")))


def _seconds(text: str) -> int:
    """A moment such as `90`, `90s` or `1m30s` in seconds; 0 without a number."""
    return sum(int(count) * _UNITS[unit] for count, unit in _PART.findall(text[:MAX_MOMENT]))
