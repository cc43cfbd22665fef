"""Animations of a page in a browser."""

from __future__ import annotations

# Endless animations, such as the typing hint, cannot be ended: the script ignores them.

END_MOTION = "document.getAnimations().forEach(each => { try { each.finish() } catch {} })"
