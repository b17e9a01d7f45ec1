"""docs/operating-a-fleet.md and the README, followed word for word in one shell."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.browser import Browser
from tests.effort import long
from tests.live.shell import follow
from tests.ports import free_port
from tests.system import needs
from tests.test_docs import DOCUMENTS, SENSORS, section


def on_ports_of_our_own(http: str) -> Callable[[str], str]:
    """The usual ports may be in use here; and whoever reads on a busy machine has some patience.

    What is judged and shown at last is a fleet whose five devices in the background have ended.
    """

    def elsewhere(command: str) -> str:
        if command.startswith("paofed fleet init"):
            return f"{command} --port {free_port()} --http {http}"
        if command.startswith("python measure.py 9 "):
            return f"wait %3 %4 %5 %6 %7; {command}"
        return command.replace("127.0.0.1:9883", http)

    return elsewhere


@long
def test_the_first_five_minutes(tmp_path: Path) -> None:
    needs("curl")
    elsewhere = on_ports_of_our_own(f"127.0.0.1:{free_port()}")
    follow("docs/operating-a-fleet.md", tmp_path, elsewhere)
    assert "stopped in good order" in (tmp_path / "server.log").read_text()
    with Browser(tmp_path / "profile") as browser:
        browser.window(1200, 900)
        browser.open((tmp_path / "page.html").as_uri())
        assert "cellar measures what is not plausible" in browser.text("#lines")
        assert "6 devices" in browser.text("#shown")


@long
def test_the_sensors_of_the_readme(tmp_path: Path) -> None:
    """The shown status has an error for each device, which only a device in contact has."""
    elsewhere = on_ports_of_our_own(f"127.0.0.1:{free_port()}")
    follow("README.md", tmp_path, elsewhere, heading=SENSORS)
    assert "connected to the broker" in (tmp_path / "server.log").read_text()


def test_a_fleet_and_its_page_are_ten_commands() -> None:
    """All that is typed until the page can be opened: four to install, six to have a fleet."""
    minutes = section(DOCUMENTS["docs/operating-a-fleet.md"], "## Five minutes")
    before, found, _ = minutes.partition("open http://127.0.0.1:9883/ in a browser")
    assert found
    typed = {
        kind: "".join(re.findall(rf"^```{kind}\n(.*?)^```$", before, re.MULTILINE | re.DOTALL))
        for kind in ("sh", "console")
    }
    assert len(typed["sh"].splitlines()) == 4
    assert len(re.findall(r"^\$ ", typed["console"], re.MULTILINE)) == 6
