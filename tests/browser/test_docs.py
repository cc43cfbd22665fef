"""The site /docs in Chromium."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = pytest.mark.django_db(transaction=True)


def test_shots(windows: Any) -> None:
    for name in os.environ.get("SHOTS", "/docs").split(","):
        for phone in (False, True):
            page = windows.open(name, phone=phone)
            if not phone:
                page.set_viewport_size({"width": 1280, "height": 900})
            else:
                page.set_viewport_size({"width": 390, "height": 844})
            page.wait_for_timeout(600)
            file = f"/tmp/shots30/{name.strip('/').replace('/', '_')}-{'390' if phone else '1280'}.png"
            page.screenshot(path=file, full_page=bool(os.environ.get("FULL")))
