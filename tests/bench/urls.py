"""Two addresses that write one small row, one bare and one behind the gate: the difference is the gate.

The row is written so that both commit: an Idempotency-Key is remembered in the write's own transaction.
"""

import orjson
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.idempotency import once
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from config import urls as colloquy
from tests.bench import minimal

DONE = {"done": True}
LARGE = bytes(4_000_000)


@transaction.atomic  # as every service is
def work() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO measured VALUES (1)")


@csrf_exempt
def bare(request: HttpRequest) -> HttpResponse:
    orjson.loads(request.body)
    work()
    return HttpResponse(orjson.dumps(DONE), content_type="application/json")


def large(request: HttpRequest) -> HttpResponse:
    return HttpResponse(LARGE, content_type="application/octet-stream")


class Gated(CommunityViewSet):
    noun = "project"
    least_role = {"create": Role.CREATOR}

    @once
    def create(self, request: Request) -> Response:
        assert self.body is not None
        work()
        return Response(DONE)


urlpatterns: list[URLPattern | URLResolver] = [
    path("bench/bare", bare),
    path("bench/large", large),
    path("bench/gated", Gated.as_view({"post": "create"})),
    *colloquy.urlpatterns,
    *minimal.urlpatterns[1:],  # for profiling, where both are one process
]
handler400, handler403 = colloquy.handler400, colloquy.handler403
handler404, handler500 = colloquy.handler404, colloquy.handler500
