"""docs/operating-a-fleet.md, followed word for word in one shell, to the page in a browser."""

from pathlib import Path

from paofed.live.trials.processes import free_port
from tests.browser import Browser
from tests.live.shell import follow
from tests.system import needs


def test_the_first_five_minutes(tmp_path: Path) -> None:
    needs("curl")
    http = f"127.0.0.1:{free_port()}"

    def elsewhere(command: str) -> str:
        """On ports of our own: the usual ones may be in use here."""
        if command.startswith("paofed fleet init"):
            return f"{command} --port {free_port()} --http {http}"
        return command.replace("127.0.0.1:9883", http)

    follow("docs/operating-a-fleet.md", tmp_path, elsewhere)
    assert "stopped in good order" in (tmp_path / "server.log").read_text()
    with Browser(tmp_path / "profile") as browser:
        browser.window(1200, 900)
        browser.open((tmp_path / "page.html").as_uri())
        assert "cellar measures what is not plausible" in browser.text("#lines")
        assert "6 devices" in browser.text("#shown")
