"""Serves our copies of pictures, and the style sheets of brands."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from communities.ground import brands
from communities.models import Picture

_POLICY = "default-src 'none'; sandbox"


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    """Serve a copy by its random name. A name always refers to the same bytes, so browsers may cache the
    copy.
    """
    row = Picture.objects.only("content", "content_type").filter(name=name).first()
    if row is None or row.content is None:
        raise Http404
    etag = f'"{name}"'
    unchanged = get_conditional_response(request, etag=etag)
    response = unchanged or HttpResponse(bytes(row.content), content_type=row.content_type)
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["Content-Disposition"] = "inline"
    return response


@require_safe
def brand(request: HttpRequest, name: str) -> HttpResponse:
    """Serve the style sheet of a brand. The style sheet depends only on its address and on the version of
    this program.
    """
    look = brands.look_of(name)
    if look is None:
        raise Http404
    picture = reverse("picture", args=[look.picture]) if look.picture else ""
    response = HttpResponse(brands.style_sheet(look, picture=picture), content_type="text/css; charset=utf-8")
    response.headers["Cache-Control"] = "public, max-age=86400"
    return response
