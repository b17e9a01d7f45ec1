"""The program over libmosquitto, as docs/device-in-c.md has it, on a real broker."""

import re
import subprocess
from pathlib import Path

from paofed.cli import main
from paofed.live.network.credential import Credential
from tests.device_c.building import run
from tests.device_c.test_mixed_fleet import built
from tests.effort import long
from tests.live.brokers import Site, sample, until

LINES = [",".join(map(repr, [*x, y])) for x, y in map(sample, range(60))]
MINUTE = 60.0  # seconds of a tick: all samples of a file come in one
WRONG = ("a,b,y", "1,2", "1,2,3,4", "1,2,x", "7" * 2000)


@long
def test_a_file_of_samples_takes_part_and_goes_on_alone_after_a_change(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    samples.write_text("\n".join([*WRONG, *LINES]), encoding="ascii")  # and no end of the last line
    with Site(tmp_path / "fleet", security="none", tick_seconds=MINUTE) as site:
        program = built(site, tmp_path)
        broker = ["-h", "localhost", "-p", str(site.fleet.settings.port), "-t", "g/0"]
        words = [program, *broker, "-s", str(tmp_path / "state"), "-f", str(samples)]

        def confirmed() -> bool:
            said = run(words)
            assert len(re.findall(r"^[-+.e\d]+$", said, re.MULTILINE)) == len(LINES)
            assert said.count("passed over: expected 3 numbers") == len(WRONG)
            return "confirmed" in said

        with site.served() as server:
            until(confirmed, 3 * MINUTE)
            assert not [line for line in server.said if "refused" in line]
        assert main(["fleet", "change", str(site.folder), "--step-size", "0.1"]) == 0
        with site.served():
            said = run([*words, "-i", "50"])
        assert said.count("write the header anew") == 1


@long
def test_a_password_comes_from_a_file(tmp_path: Path) -> None:
    """In the arguments, everybody on the machine could read it."""
    samples = tmp_path / "samples.csv"
    samples.write_text("\n".join(LINES), encoding="ascii")
    with Site(tmp_path / "fleet", security="password") as site:
        program, credential = built(site, tmp_path), Credential.load(site.files[0])
        (tmp_path / "authority.pem").write_text(str(credential.authority), encoding="ascii")
        secret = tmp_path / "password.txt"
        words = [program, "-h", credential.host, "-p", str(credential.port), "-t", "g/0"]
        words += ["-s", str(tmp_path / "state"), "-f", str(samples), "-w", str(secret)]
        words += ["-a", str(tmp_path / "authority.pem"), "-u", credential.name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 1
        assert f"{secret}: expected a file whose first line is the password" in done.stderr
        secret.write_text(f"{credential.password}\n", encoding="ascii")
        with site.served():
            until(lambda: "confirmed" in run(words))
        secret.write_text("another\n", encoding="ascii")
        with site.served():
            assert "confirmed" not in run(words)


@long
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path) -> None:
    with Site(tmp_path / "fleet", security="password") as site:
        program, port = built(site, tmp_path), str(site.fleet.settings.port)
        words = [program, "-h", "localhost", "-p", port, "-f", "/dev/null"]
        state = str(tmp_path / "none" / "state")
        said = run([*words, "-t", "g/0", "-s", state])  # without TLS, which the broker wants
    assert said.count("the broker is not reached") == 1
    assert f"{state} cannot be written: No such file or directory" in said
