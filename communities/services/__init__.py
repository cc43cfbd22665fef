"""Services of this app. The names below are those that other apps need most."""

from communities.services.credits import return_credits, spend_credits
from communities.services.settings import count_projects, get_settings

__all__ = ["count_projects", "get_settings", "return_credits", "spend_credits"]
