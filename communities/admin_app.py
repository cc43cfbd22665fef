"""The admin site of this project, as Django's own app."""

from django.contrib.admin.apps import AdminConfig as DjangoAdminConfig


class AdminConfig(DjangoAdminConfig):
    default_site = "communities.admin_site.site.Site"
