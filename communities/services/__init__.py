"""Services of this app. The names below are those that other apps need most."""

from communities.services.tenants.credits import return_credits, spend_credits
from communities.services.tenants.settings import count_projects, get_settings

__all__ = ["count_projects", "get_settings", "return_credits", "spend_credits"]
