"""A client for Colloquy, conversational surveys and polls."""

from colloquy_client.calls import ApiError, Call, Download, Pages
from colloquy_client.client import AsyncColloquy, Colloquy

__all__ = ["ApiError", "AsyncColloquy", "Call", "Colloquy", "Download", "Pages"]
