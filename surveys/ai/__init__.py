"""AI providers. `get_provider()` is the only way to reach one."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from surveys.ai.provider import ANTHROPIC, LOCAL, OPENAI, Provider

__all__ = ["get_provider", "provider_is_free"]


def get_provider() -> Provider:
    """Return the provider named by the AI_PROVIDER setting; each process creates it once, on the first call.

    Call this in workers only: the libraries behind a provider take seconds to load and tens of megabytes.
    """
    return _provider(settings.AI_PROVIDER)


def provider_is_free() -> bool:
    """Whether the provider costs no credits. Loads no provider."""
    return bool(settings.AI_PROVIDER == LOCAL)


@cache
def _provider(name: str) -> Provider:
    # Imported here because providers load heavy libraries and a process needs only one of them.
    if name == ANTHROPIC:
        from surveys.ai.claude import ClaudeProvider  # noqa: PLC0415

        return ClaudeProvider(
            api_key=settings.ANTHROPIC_API_KEY,
            base_url=settings.ANTHROPIC_BASE_URL or None,
            model=settings.ANTHROPIC_MODEL or None,
        )
    if name == OPENAI:
        from surveys.ai.openai import OpenAIProvider  # noqa: PLC0415

        return OpenAIProvider(
            model=settings.OPENAI_MODEL,
            api_key=settings.OPENAI_API_KEY,
            base_url=settings.OPENAI_BASE_URL or None,
        )
    from surveys.ai.local import LocalProvider  # noqa: PLC0415

    return LocalProvider()
