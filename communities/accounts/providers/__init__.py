"""Identity providers as django-allauth's providers, and their pages.

classes   one provider class for each platform: how a sign-in begins, and what proves an account
views     the routes of a sign-in, and the page about an account of somebody else
merging   the proof, kept in the session, that two accounts are one person's
freshness whether somebody has proven just now who they are
forms     disconnecting an account
"""
