"""The account area at /account/: django-allauth with our hooks, limits and templates."""
