"""A real browser, by its own protocol over a pipe: no driver and no package."""

import fcntl
import json
import os
import shutil
import subprocess
import warnings
from select import select
from time import monotonic

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-pipe",
)
#: Seconds until the browser counts as lost.
PATIENCE = 60


def find_browser():
    """Return the path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a headless Chromium.

    `events` holds all that happened: messages of the console, errors, requests.
    """

    def __init__(self, program, folder):
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # the browser reads from 3 and writes to 4
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads, of libraries
            self._process = subprocess.Popen(
                [program, *FLAGS, f"--user-data-dir={folder}"],
                preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),
                pass_fds=(3, 4),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._unread, self._number, self.events, self._session = b"", 0, [], None
        page = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.send("Browser.close")
            self._process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def send(self, method, **parameters):
        """Call a method and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height=800, scheme="light"):
        """Load a page in a window of this size, and wait until it is there."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.send("Emulation.setEmulatedMedia", features=[feature])
        self.events.clear()
        self.send("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, expression):
        """Return the value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def happened(self, *methods):
        """Return the events of these kinds since the page was opened."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def _read(self):
        deadline = monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select([self._in], [], [], max(0, deadline - monotonic()))
            if not ready:
                raise TimeoutError("The browser does not answer.")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise OSError("The browser is gone.")
            self._unread += part
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)
