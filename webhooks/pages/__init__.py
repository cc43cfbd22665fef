"""Webhooks in the account area, for the admins of communities."""

from communities.accounts import own_communities, sections

sections.add("Webhooks", "account_webhooks", order=31, is_for=own_communities.builds)
