"""The state of a picture: for forms in which staff write its address, which show our copy beside it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from communities.ground.web_addresses import MAX_LENGTH
from communities.services.pictures import copies
from communities.staff import acting


@require_safe
def state(request: HttpRequest) -> JsonResponse:
    """The current community's copy of the picture at `address`, or a note that explains why there is none."""
    actor = acting.current_actor(request)
    if actor is None or actor.is_member:
        raise Http404
    address = request.GET.get("address", "")[: MAX_LENGTH + 1]
    found = copies.state(community_id=actor.community_id, address=address)
    width, height = found.copy.fitted(128, 96) if found.copy else (None, None)
    return JsonResponse(
        {
            "picture": found.copy.path if found.copy else None,
            "width": width,
            "height": height,
            "note": found.note,
        }
    )
