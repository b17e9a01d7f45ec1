"""A real browser for tests: Chromium, told what to do over a pipe (its DevTools protocol)."""

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from PIL import Image

from tests.live.brokers import PATIENCE, until
from tests.system import needs

_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--disable-extensions", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip

# Chromium reads from its descriptor 3 and writes to 4, whatever numbers the pipes have here.
_LAUNCHER = """
import fcntl, os, sys
high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, place in zip(high, (3, 4)):
    os.dup2(number, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class NoPageError(AssertionError):
    """Raised where a script cannot run: one page is just making room for the next."""


class Browser:
    """One window, as long as its block lasts; `complaints` are errors of scripts and policies."""

    def __init__(self, profile: Path) -> None:
        program = needs("chromium")
        self._commands, out = os.pipe()[::-1]
        self._answers, written = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 (a browser that was found by its name)
            [sys.executable, "-c", _LAUNCHER, str(out), str(written), program, *_OPTIONS,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(out, written), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(out)
        os.close(written)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        found = self.tell("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.tell(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._session = None
        with suppress(OSError, AssertionError):
            self.tell("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._commands)
        os.close(self._answers)

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._heard()
            if heard.get("id") == self._number:
                if "context" in str(heard.get("error")):
                    raise NoPageError(heard["error"])
                assert "error" not in heard, heard["error"]
                return dict(heard["result"])
            self._note(heard)

    def _heard(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._answers, 2**20)
            assert piece, "the browser is gone"
            self._buffer += piece
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def _note(self, heard: dict[str, Any]) -> None:
        if heard["method"] == "Runtime.exceptionThrown":
            self.complaints.append(str(heard["params"]["exceptionDetails"]))
        elif heard["method"] == "Log.entryAdded":
            entry = heard["params"]["entry"]
            self.complaints += [entry["text"]] * (entry["level"] == "error")

    # What people do

    def window(self, width: int, height: int, *, dark: bool = False) -> None:
        """Have a window of this size, on a system with light or dark colours."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 500)  # fmt: skip
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.tell("Emulation.setEmulatedMedia", features=media)

    def open(self, address: str) -> None:
        """Go to a page and wait until it has drawn itself."""
        self.tell("Page.navigate", url="about:blank")
        self.until(lambda: self._has("location.href", "about:blank"))
        self.complaints.clear()  # those of the page before, which still asked for its server
        self.tell("Page.navigate", url=address)
        self.until(lambda: self._has("document.body?.dataset.ready", "yes"))

    def _has(self, expression: str, expected: str) -> bool:
        """Whether a script gives this, on the page that is there by now."""
        try:
            return bool(self.value(expression) == expected)
        except NoPageError:
            return False

    def value(self, expression: str) -> Any:
        """What a script gives."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)  # fmt: skip
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        """What is to be read in an element."""
        return str(self.value(f"document.querySelector({json.dumps(selector)}).innerText"))

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        """Move the mouse somewhere, and press it."""
        for kind in ("mouseMoved", *(("mousePressed", "mouseReleased") if click else ())):
            button = "none" if kind == "mouseMoved" else "left"
            self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def picture(self, path: Path) -> None:
        """Save what is seen in the window, with 256 colours: in half as many bytes."""
        shot = self.tell("Page.captureScreenshot")
        with Image.open(io.BytesIO(base64.b64decode(shot["data"]))) as picture:
            few = picture.convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE)
            few.save(path, optimize=True)

    def until(self, right: Callable[[], object]) -> None:
        """Wait for something to come true."""
        until(right)
