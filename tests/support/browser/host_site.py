"""Another site that shows a survey in a frame. It has another host name, so browsers treat it as foreign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from playwright.sync_api import Frame, Page

if TYPE_CHECKING:  # Django has no settings yet when the tests' conftest is read
    from surveys.models import Project

# The behaviour of a browser that blocks the storage of all sites.
NO_STORAGE = """
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
}
"""
SCRIPT = '<script src="{site}/static/surveys/embed.js" data-survey="{slug}"{more}></script>'


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@dataclass(frozen=True, slots=True)
class HostSite:
    """A folder of pages at an address. `site` is where the surveys are."""

    folder: Path
    address: str
    site: str

    def show(
        self, made: Project, *, before: str = "", after: str = "", style: str = "", more: str = ""
    ) -> None:
        """Write the page that embeds a survey with our script, between other contents.

        The script has `more` attributes.
        """
        line = SCRIPT.format(site=self.site, slug=made.slug, more=f" {more}" if more else "")
        self.write(before + line + after, style=style)

    def write(self, body: str, *, style: str = "") -> None:
        """Write the page."""
        (self.folder / "index.html").write_text(
            '<!doctype html><html lang="en"><title>Another site</title><link rel="icon" href="data:,">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>{style}</style><main><h1>Another site</h1>{body}</main></html>"
        )


@contextmanager
def served(folder: Path, *, site: str, host: str = "127.0.0.1") -> Iterator[HostSite]:
    """Serve a folder at a host name which is another site to a browser."""
    with ThreadingHTTPServer((host, 0), partial(Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield HostSite(folder, f"http://{host}:{server.server_port}", site)
        server.shutdown()
        thread.join()


def frame_of(page: Page) -> Frame:
    """The frame of the survey, as it is now."""
    return next(each for each in page.frames if "/s/" in each.url)


def kept_visits(page: Page) -> list[str]:
    """The names under which the site around the frame stores visits."""
    names: list[str] = page.evaluate("Object.keys(localStorage)")
    return names
