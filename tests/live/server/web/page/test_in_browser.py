"""The page in a real browser: on a live fleet, after a restart, at 5,000 devices, under attack."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paofed.cli import main
from paofed.live.device.footprint import footprint
from paofed.live.network.in_process import Hub
from paofed.live.protocol.messages import Update, encode
from paofed.live.server.web.page import feed
from tests.browser import Browser
from tests.effort import long
from tests.live.brokers import Server, served
from tests.live.fleets import f32, manifest
from tests.live.server.web.page.scenes import address, here, lived, named

HOSTILE = [
    "<img src=x onerror=document.title='taken'>",
    "</script><script>document.title='taken'</script>",
    "north \u202eevil\u202c \u2066x",
    "long " * 40,
    "🌱👩‍🌾 عربي",
    "@@script@@ ${1}",
]
# The colour in which a device is drawn now, and that of a state.
AT_PRESENT = """(n => {
  const canvas = document.getElementById("raster"), pen = canvas.getContext("2d");
  const [r, g, b] = pen.getImageData(canvas.width - 8, 8 + 16 * n + 8, 1, 1).data;
  return "#" + [r, g, b].map(x => x.toString(16).padStart(2, "0")).join("");
})(%d)"""
COLOUR = "getComputedStyle(document.documentElement).getPropertyValue('--%s').trim()"


def speak(hub: Hub, server: Server, *devices: int) -> None:
    """Let devices be heard in the present tick."""
    tick = server.status().tick
    for device in devices:
        payload = encode(Update(3, tick, f32(0.1, 0.2), (), 110))
        hub.publish(f"greenhouse/{device}/u", payload, retain=False)


def until_seen(
    browser: Browser, hub: Hub, server: Server, devices: list[int], seen: Callable[[], bool]
) -> None:
    """Let devices be heard in every tick until the page shows it.

    Messages of one tick alone would be in the past where a new tick begins before the page asks.
    """
    spoken: set[int] = set()

    def is_seen() -> bool:
        tick = server.status().tick
        if tick not in spoken:
            spoken.add(tick)
            speak(hub, server, *devices)
        return seen()

    browser.until(is_seen)


def shows(browser: Browser, row: int, state: str) -> bool:
    """Whether a row of the raster has the colour of a state now."""
    return bool(browser.value(AT_PRESENT % row) == browser.value(COLOUR % state))


def fits(browser: Browser, width: int) -> None:
    assert browser.value("document.documentElement.scrollWidth") <= width  # never sideways


def test_a_live_fleet_its_broken_device_and_a_restart(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_EVERY", 0.1)
    monkeypatch.setattr(feed, "_RETRY", 100)
    hub = Hub()
    # A tick is as long as a busy machine may take to show the page, and what was refused lately.
    fleet = lived(tmp_path / "fleet", named(6), 60, tick_seconds=10.0, http=here())
    browser.window(1200, 900)
    with served(fleet, transport=hub) as server:
        assert f"page: {address(fleet)}" in server.said
        browser.open(address(fleet))
        browser.until(lambda: browser.text("#link") == "live")
        # Who is broken is named, coloured, and can be pointed at.
        assert "south-1 is refused again and again: length" in browser.text("#lines")
        assert "needs somebody to look" in browser.text("#words") or "need" in browser.text(
            "#words"
        )
        assert shows(browser, 1, "refused")
        box = browser.value("(r => [r.right, r.top])(raster.getBoundingClientRect())")
        browser.point(box[0] - 8, box[1] + 8 + 16 + 8, click=True)
        assert "south-1" in browser.text("#tip")
        assert "refused" in browser.text("#tip")
        details = browser.text("#details")
        assert "the last: length" in details
        assert "by its habit" in details
        # What happens is seen without being asked for.
        until_seen(browser, hub, server, [0, 4, 5], lambda: shows(browser, 0, "heard"))
    browser.until(lambda: browser.text("#link").startswith("disconnected since"))
    with served(fleet, transport=hub) as server:
        browser.until(lambda: browser.text("#link") == "live")
        browser.until(lambda: browser.text("#marks").count("the server was started") == 2)
        assert "south-1" in browser.text("#details")  # what was chosen still is
        tick = browser.text("#about")
        browser.until(lambda: browser.text("#about") != tick)
    assert [said for said in browser.complaints if "Failed to load" not in said] == []


def test_hostile_labels_are_words(browser: Browser, tmp_path: Path) -> None:
    lived(tmp_path / "fleet", HOSTILE, 30, http=here())
    page = tmp_path / "x.html"
    assert main(["fleet", "page", str(tmp_path / "fleet"), "--out", str(page)]) == 0
    for width in (360, 1200):
        browser.window(width, 800)
        browser.open(page.as_uri())
        every_label_is_words(browser, width)


def every_label_is_words(browser: Browser, width: int) -> None:
    assert browser.value("document.querySelectorAll('img, main script').length") == 0
    for device, label in enumerate(HOSTILE):
        browser.value("document.querySelector('#details .close')?.click()")
        browser.value("raster.focus()")
        for _ in range(device + 1):
            key: dict[str, Any] = {"key": "ArrowDown", "code": "ArrowDown"}
            browser.tell("Input.dispatchKeyEvent", type="keyDown", **key)
        shown = browser.value("document.querySelector('#details h3').textContent")
        assert shown == "".join("\ufffd" if c in "\u202e\u202c\u2066" else c for c in label)
        fits(browser, width)
    assert browser.value("document.title") == "! greenhouse: paofed"
    assert browser.complaints == []


@long
def test_five_thousand_devices(browser: Browser, tmp_path: Path) -> None:
    hub = Hub()
    fleet = lived(tmp_path / "fleet", named(5000), 2, http=here(), broken=False)
    browser.window(1200, 900)
    with served(fleet, transport=hub) as server:
        browser.open(address(fleet))
        assert "5,000 of 5,000" in browser.text("#figures")
        flood = [4321] * 40  # more than is taken from one device in a tick
        find = "(i => { i.value = '%s'; i.dispatchEvent(new Event('input')); })(search)"
        until_seen(browser, hub, server, flood, lambda: "flood" in browser.text("#refused"))
        browser.value(find % "4321")
        assert browser.text("#shown").startswith("1 of 5,000 devices")
        until_seen(browser, hub, server, flood, lambda: shows(browser, 0, "refused"))
    assert [said for said in browser.complaints if "Failed to load" not in said] == []


def test_a_phone_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    lived(tmp_path / "fleet", named(40), 60)
    assert main(["fleet", "page", str(tmp_path / "fleet"), "--out", str(tmp_path / "x.html")]) == 0
    browser.window(360, 740, dark=True)
    browser.open((tmp_path / "x.html").as_uri())
    fits(browser, 360)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
    assert browser.text("#link").startswith("as of ")
    # Errors are in the target's unit, bounds are always shown, and nothing is said of a day that
    # nobody has seen: this fleet is an hour old, and its devices joined in it.
    assert browser.text("#error-unit") == "root mean square, in y"
    assert re.search(r"^0\.\d+ y$", browser.text("#figures"), re.MULTILINE)
    assert "clip 6, aside yes, bound 6" in browser.text("#about")
    assert "for a device so far" in browser.text("#figures")
    assert "so far" in browser.text("#cost")
    assert "Nobody serves this fleet" in browser.text("#words")
    loaded = browser.value("performance.getEntriesByType('resource').map(x => x.name)")
    assert loaded == [] == browser.complaints


def test_what_a_day_costs_is_computed_from_whole_hours(browser: Browser, tmp_path: Path) -> None:
    fleet = lived(tmp_path / "fleet", named(3), 200, broken=False)
    contact = footprint(manifest(), "greenhouse", 4)
    with fleet.store() as store:
        in_a_minute = store.lines.count() / 3 / 200
    expected = 24 * 60 * in_a_minute * (contact.up + contact.down)
    assert main(["fleet", "page", str(fleet.folder), "--out", str(tmp_path / "x.html")]) == 0
    browser.open((tmp_path / "x.html").as_uri())
    said = re.match(r"([\d.]+) kB for a device and day", browser.text("#cost"))
    assert said is not None
    assert float(said[1]) * 1000 == pytest.approx(expected, rel=0.05)
