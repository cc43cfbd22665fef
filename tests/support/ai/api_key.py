"""The API key of the AI provider in tests."""

from __future__ import annotations

KEY = "sk-ant-the-key"
