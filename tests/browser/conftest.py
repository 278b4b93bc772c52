"""Chromium, for the tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from support import require

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        require("browser", "playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        require("browser", "no Chromium is installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()
