"""Changes to communities, and what the rooms above may ask about them."""

from communities.services.settings import count_projects, get_settings

__all__ = ["count_projects", "get_settings"]
