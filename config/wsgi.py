import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from config import templating

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from config import startup  # noqa: E402 - its models can be loaded only now

startup.check()
startup.check_proxy()
templating.compile_all()
get_resolver().url_patterns  # noqa: B018 - import every view at the start
