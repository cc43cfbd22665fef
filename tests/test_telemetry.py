"""Traces: a collector gets a span for each request, and nothing of what people write."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.processes import ROOT, environment

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
# A process serves a request and runs a task, as a web server and a worker would.
CODE = f"""
import django
django.setup()
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.test import RequestFactory

request = RequestFactory().get("/healthz?secret=answer", headers={{
    "traceparent": "00-{TRACE}-{CALLER}-00", "X-API-Key": "secret", "X-Request-Id": "of-this-test",
}})
settings.ALLOWED_HOSTS = ["testserver"]
handler = WSGIHandler()
list(handler(request.environ, lambda *_: None))
from config.celery import app
app.loader.import_default_modules()
app.tasks["webhooks.remove_deleted"].apply()
"""


@contextmanager
def collector(received: list[bytes]) -> Iterator[str]:
    """The address of a server that takes spans."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**environment(**variables), "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.django_db(transaction=True)
def test_a_collector_gets_spans_of_requests_and_tasks_without_their_texts(tmp_path: Path) -> None:
    """Rules 12.591, 12.930."""
    trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    received: list[bytes] = []

    with collector(received) as address:
        done = run(CODE, OTEL_EXPORTER_OTLP_ENDPOINT=address, COMPRESSION="none", VAR_DIR=str(tmp_path))

    assert done.returncode == 0, done.stderr
    groups = [
        group
        for body in received
        for group in trace_service.ExportTraceServiceRequest.FromString(body).resource_spans
    ]
    spans = {span.name: span for group in groups for scope in group.scope_spans for span in scope.spans}
    assert spans.keys() >= {"GET /healthz", "webhooks.remove_deleted"}
    request = spans["GET /healthz"]
    assert (request.trace_id.hex() != TRACE, request.parent_span_id) == (True, b"")
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in request.links] == [(TRACE, CALLER)]
    assert {each.key for each in request.attributes} == {
        "http.route",
        "http.request.method",
        "http.response.status_code",
        "colloquy.request_id",
    }
    assert b"of-this-test" in b"".join(received)
    assert b"secret" not in b"".join(received)


@pytest.mark.long
def test_without_the_setting_nothing_of_it_is_imported() -> None:
    """Rule 12.591."""
    done = run(f"{CODE}\nimport sys; print('config.telemetry' in sys.modules)")

    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_an_address_without_the_packages_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.591."""
    hides = "import importlib.util as u; find = u.find_spec\n"
    hides += "u.find_spec = lambda name, *more: None if name == 'opentelemetry.sdk' else find(name, *more)\n"

    done = run(f"{hides}{CODE}", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: it needs the packages"
    )
