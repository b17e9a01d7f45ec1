"""The pictures of the page in the documents: made here, of a fleet that is served.

`PAOFED_PICTURES=1 pytest tests/live/server/web/page/test_pictures.py` writes them anew.
"""

import os
from pathlib import Path

from paofed.live.network.in_process import Hub
from tests.browser import Browser
from tests.live.brokers import served
from tests.live.server.web.page.scenes import address, here, lived, named

IMAGES = Path(__file__).parents[5] / "docs" / "images"
PICTURES = {  # width, height, dark
    "fleet-page": (1000, 1480, False),
    "fleet-page-dark": (1000, 1480, True),
    "fleet-page-phone": (360, 1250, False),
}
MOST = 150_000  # bytes


def test_pictures_of_a_fleet_with_broken_devices(browser: Browser, tmp_path: Path) -> None:
    to_keep = "PAOFED_PICTURES" in os.environ
    count, ticks = (120, 240) if to_keep else (12, 60)
    fleet = lived(tmp_path / "fleet", named(count), ticks, share=0.97, budget=64_000, http=here())
    with served(fleet, transport=Hub()):
        for name, (width, height, dark) in PICTURES.items():
            browser.window(width, height, dark=dark)
            browser.open(address(fleet))
            assert "devices need somebody to look: " in browser.text("#words")
            picture = (IMAGES if to_keep else tmp_path) / f"{name}.png"
            browser.picture(picture)
            assert picture.stat().st_size < MOST
            assert (IMAGES / f"{name}.png").stat().st_size < MOST
