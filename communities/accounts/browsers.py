"""A name for a browser: "Firefox on Windows"."""

from __future__ import annotations

import ipaddress

# The first match decides, because most browsers also name other browsers in their user agent.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("Linux", "Linux"),
)


def name_of(user_agent: str) -> str:
    """A browser and its system, from its user agent."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or "Unknown browser"


def place_of(address: str) -> str:
    """The location of an address, as far as the address alone shows it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "an unknown place"
    if parsed.is_loopback:
        return "this machine"
    if parsed.is_private:
        return f"the local network ({address})"
    return f"the address {address}"
