"""Pictures in forms of staff: the copy beside its address, and uploads that give it an address."""

from __future__ import annotations

from django.http import Http404, HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from communities.gate import throttling
from communities.ground.actors import Role
from communities.ground.errors import Conflict, InvalidRequest, Unavailable
from communities.ground.web_addresses import MAX_LENGTH
from communities.services.pictures import copies, uploads
from communities.staff import acting


@require_safe
def state(request: HttpRequest) -> JsonResponse:
    """The current community's copy of the picture at `address`, or a note that explains why there is none."""
    actor = acting.current_actor(request)
    if actor is None or not (actor.has_role(Role.CREATOR) or actor.edits_given_projects):
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


@require_POST
def upload(request: HttpRequest) -> JsonResponse:
    """Store the picture in the body, and return its address. For a refused picture, return the reason."""
    actor = acting.current_actor(request)
    if actor is None or not (actor.has_role(Role.CREATOR) or actor.edits_given_projects):
        raise Http404
    try:
        throttling.require_upload(community_id=actor.community_id, user_id=actor.user_id)
        row = uploads.upload(actor=actor, file=request.body, at=timezone.now())
    except (Conflict, InvalidRequest, Unavailable) as refusal:
        statuses = {Conflict: 409, Unavailable: 503}
        return JsonResponse({"note": refusal.message}, status=statuses.get(type(refusal), 400))
    return JsonResponse({"address": row.address})


upload.takes_file = True  # type: ignore[attr-defined]  # `gate.bodies` admits larger bodies
