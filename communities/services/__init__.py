"""Changes to communities, and what the rooms above may ask about them."""

from communities.services.credits import return_credits, spend_credits
from communities.services.settings import count_projects, get_settings

__all__ = ["count_projects", "get_settings", "return_credits", "spend_credits"]
