"""The pages that search engines may read. These are the pages of surveys, which say themselves whether they
may be listed.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

# A page that search engines may not read cannot say `noindex`, and they would list it by its address alone.
_TEXT = "User-agent: *\n" + "".join(
    f"Disallow: {path}\n" for path in ("/admin", "/account", "/chat/", "/mail/", "/metrics", "/v1/")
)


@require_safe
@cache_control(max_age=86400)
def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_TEXT, content_type="text/plain; charset=utf-8")
