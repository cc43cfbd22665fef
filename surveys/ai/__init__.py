"""The only door to a language model, and the stand-in that needs none: `get_provider()`."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from surveys.ai.provider import Provider

__all__ = ["get_provider", "provider_is_free"]


def get_provider() -> Provider:
    """The provider that the settings name. One for each process; loaded when it is first asked for.

    Only in workers: the libraries behind it take seconds and tens of megabytes.
    """
    return _provider(settings.AI_PROVIDER)


def provider_is_free() -> bool:
    """Whether its work takes no credits. Loads nothing."""
    return bool(settings.AI_PROVIDER == "local")


@cache
def _provider(name: str) -> Provider:
    # Loaded here alone, for what stands behind either is heavy and only one is ever needed.
    if name == "anthropic":
        from surveys.ai.claude import Claude  # noqa: PLC0415

        return Claude(
            api_key=settings.ANTHROPIC_API_KEY,
            base_url=settings.ANTHROPIC_BASE_URL or None,
            model=settings.ANTHROPIC_MODEL or None,
        )
    from surveys.ai.local import Local  # noqa: PLC0415

    return Local()
