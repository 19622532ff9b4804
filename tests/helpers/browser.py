"""The system's Chromium, driven by Playwright, which downloads no browser of its own."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic")


@contextmanager
def system_chromium():
    """Yield the browser, or skip the test with the reason why there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"needs one of {', '.join(NAMES)} on the PATH to show pages in")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


class Window:
    """A page in a window of a given width, with everything that happened while it loaded.

    Attributes
    ----------
    problems : list of str
        Messages of the console, and errors of scripts.
    requests : list of str
        Addresses that the page asked for, its own first.
    """

    def __init__(self, browser, url, width, scheme="light"):
        self.page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme, is_mobile=width < 600
        )
        self.problems, self.requests = [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()

    def value(self, expression):
        """Return the value of a JavaScript expression in the page."""
        return self.page.evaluate(expression)
