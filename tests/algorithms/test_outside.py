"""Methods by name from outside: files, modules, packages."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paofed.algorithms import ALGORITHMS, Algorithm, algorithm, options_of
from paofed.algorithms.outside import file_of, split
from paofed.algorithms.setup import resolve
from paofed.errors import AlgorithmError
from paofed.simulate.montecarlo import run
from tests.algorithms.outside import install, write_methods
from tests.natures import small_scenario

SMALL = small_scenario(ticks=30, stream={"samples": (20, 30)})


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let paths begin here; the folders of files are forgotten again."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """The name of a file of methods."""
    return write_methods(tmp_path).name


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("pao-fed-u1", ("pao-fed-u1", None)),
        ("a=1,b/my.file.py:x:y=2", ("a=1,b/my.file.py:x", "y=2")),
        ("C:\\code\\mine.py:x", ("C:\\code\\mine.py:x", None)),
        ("mine.py:x:place=other.py:y", ("mine.py:x", "place=other.py:y")),
        ("package.module:x:a=1,b=2", ("package.module:x", "a=1,b=2")),
        ("mine.py", ("mine.py", None)),
    ],
)
def test_a_word_is_a_name_and_options(word: str, parts: tuple[str, str | None]) -> None:
    assert split(word) == parts


def test_a_record_in_a_file(mine: str, tmp_path: Path) -> None:
    word = f"{mine}:calm"
    made = resolve(word)
    assert (made.name, made.downlink) == (word, algorithm("pao-fed-u1").downlink)
    assert made.learner.learn.__name__ == "learn"
    assert resolve(word) == resolve(made.name) == made
    assert [file_of(name) for name in (word, "pao-fed-u1:shared=3")] == [Path(mine), None]
    elsewhere = resolve(f"{tmp_path / mine}:calm")
    assert replace(elsewhere, name=word) == made  # the file has run once, whatever it is called
    assert dict(options_of(word)) == {}


def test_options_of_a_record_are_those_of_every_row(mine: str) -> None:
    made = resolve(f"{mine}:calm:step_size=0.2,max_age=3,exchange=single")
    assert (made.step_size, made.max_age, made.exchange) == (0.2, 3, "single")
    assert algorithm(f"{mine}:calm", step_size=0.2).name == f"{mine}:calm:step_size=0.2"
    assert algorithm(made, max_age=4).name == f"{mine}:calm:step_size=0.2,exchange=single,max_age=4"


def test_a_factory_in_a_file(mine: str) -> None:
    assert list(options_of(f"{mine}:masked")) == ["keep", "step_size"]
    word = f"{mine}:masked:keep=0.5,step_size=0.1,max_age=2"
    made = resolve(word)
    assert (made.name, made.step_size, made.max_age) == (word, 0.1, 2)
    assert resolve(f"{mine}:masked").step_size == 0.25
    assert resolve(f"{mine}:wide:shared=5") == replace(
        algorithm("pao-fed-u1", shared=5), name=f"{mine}:wide:shared=5"
    )


def test_other_content_is_another_module(mine: str, tmp_path: Path) -> None:
    before = resolve(f"{mine}:calm")
    write_methods(tmp_path, more="\nSLOWNESS = 0.25\n")
    after = resolve(f"{mine}:calm")
    assert before.learner.learn is not after.learner.learn
    names = [made.learner.learn.__module__ for made in (before, after)]
    assert len(set(names)) == 2
    assert all(name.startswith("mine_") and name in sys.modules for name in names)
    write_methods(tmp_path)
    assert resolve(f"{mine}:calm") == before


def test_what_lies_beside_a_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "further").mkdir()
    (tmp_path / "further" / "neighbour_of_theirs.py").write_text("WIDTH = 3\n")
    theirs = tmp_path / "further" / "theirs.py"
    theirs.write_text(
        "from neighbour_of_theirs import WIDTH\nfrom paofed import algorithm\n"
        "narrow = algorithm('pao-fed-u1', shared=WIDTH)\n"
    )
    assert resolve("further/theirs.py:narrow").uplink.size(40) == 3  # type: ignore[union-attr]


def test_worker_processes_run_what_a_file_has(mine: str) -> None:
    """They cannot import the file under any name: its functions and classes travel as they are."""
    words = [f"{mine}:calm", f"{mine}:masked:keep=0.5"]
    options = {"runs": 3, "engine": "reference", "seed": 4}
    here = run(SMALL, words, workers=1, **options)  # type: ignore[arg-type]
    there = run(SMALL, words, workers=2, **options)  # type: ignore[arg-type]
    assert here.algorithms == there.algorithms == words
    assert (here.mse == there.mse).all()
    assert len(set(here.mse[:, 1, -1])) == 3
    learn = there.provenance["algorithms"][0]["learner"]["learn"]
    assert learn == f"{resolve(words[0]).learner.learn.__module__}.learn"


BAD = {
    "nowhere.py:calm": "nowhere.py:calm: nowhere.py cannot be read: No such file or directory",
    "mine.py": "mine.py is a file: name the algorithm in it too, as in mine.py:NAME",
    "mine.py:clam": r"unknown name in mine.py 'clam': did you mean 'calm'\? \(known: calm, masked",
    "mine.py:np": "mine.py:np is module: expected an Algorithm, or a function with keyword options",
    "mine.py:learn": "mine.py:learn is function: expected an Algorithm, or a function with keyword",
    "mine.py:odd": "mine.py:odd made int: expected an Algorithm",
    "mine.py:fails": "mine.py:fails raised ZeroDivisionError: integer division or modulo by zero",
    "mine.py:needy": "mine.py:needy needs 'every': write mine.py:needy:every=VALUE",
    "mine.py:calm:shared=3": "mine.py:calm has no option 'shared'; it takes no options of its own",
    "broken.py:x": r"broken.py:x: running broken.py raised SyntaxError: .*\(broken.py, line 2\)",
    "raises.py:x": "raises.py:x: running raises.py raised KeyError: 'odd key'",
    "leaves.py:x": "leaves.py:x: running leaves.py raised SystemExit: 3",
    "refused.py:x": "refused.py:x: running refused.py: unknown algorithm 'pao-fed-u9': did you",
    "lacks.py:x": "lacks.py:x: running lacks.py raised ModuleNotFoundError: No module named 'no_",
    "folder.py:x": "folder.py:x: folder.py cannot be read: Is a directory",
    "no_such.module:x": "no_such.module:x: there is no module no_such.module to import: install "
    "its package, or name its file, as in no_such/module.py:x",
    "paofed.memory:x": "paofed.memory:x: paofed.memory has no 'x', nor any other algorithm",
    "lacks:x": "lacks:x: importing lacks raised ModuleNotFoundError: No module named 'no_such",
}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with which something is wrong, and one with which nothing is."""
    write_methods(tmp_path)
    files = {
        "broken.py": b"x = 1\nx = = 2\n",
        "raises.py": b"raise KeyError('odd\\nkey'.replace(chr(10), ' '))\n",
        "leaves.py": b"import sys\nsys.exit(3)\n",
        "refused.py": b"import paofed\nx = paofed.algorithm('pao-fed-u9')\n",
        "lacks.py": b"import no_such_module_at_all\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.py").mkdir()
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(("word", "text"), BAD.items())
def test_what_cannot_be_used_is_one_line(word: str, text: str) -> None:
    before = set(sys.modules)
    with pytest.raises(AlgorithmError, match=text) as refused:
        resolve(word)
    assert "\n" not in str(refused.value)
    left = {name.partition("_")[0] for name in set(sys.modules) - before}
    assert not left & {"raises", "leaves", "refused", "lacks"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(folder)
    return folder


def test_a_package_brings_methods(site: Path) -> None:
    entries = {
        "acme-calm": "acme_entries.methods:calm",
        "acme-masked": "acme_entries.methods:masked",
    }
    install(site, "acme_entries", entries)
    calm: Algorithm = resolve("acme-calm:step_size=0.2")
    assert (calm.name, calm.step_size) == ("acme-calm:step_size=0.2", 0.2)
    assert resolve(calm.name) == calm == algorithm("acme-calm", step_size=0.2)
    assert list(options_of("acme-masked")) == ["keep", "step_size"]
    with pytest.raises(
        AlgorithmError, match=r"did you mean 'acme-calm'.*known: online-.*acme-masked"
    ):
        resolve("acme-clam")


def test_the_registry_s_names_are_its_own(site: Path) -> None:
    install(site, "acme_usurps", {"pao-fed-u1": "acme_usurps.methods:calm"})
    assert resolve("pao-fed-u1") == ALGORITHMS["pao-fed-u1"]()


def test_two_packages_with_one_name(site: Path) -> None:
    for package in ("acme_one", "acme_two"):
        install(site, package, {"calm": f"{package}.methods:calm"})
    with pytest.raises(AlgorithmError) as refused:
        resolve("calm")
    assert str(refused.value) == (
        "calm is brought by 2 packages: write acme_one.methods:calm or acme_two.methods:calm"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("acme_bad.nothing:x", "raised ModuleNotFoundError: No module named 'acme_bad.nothing'"),
        ("acme_bad.methods:odd", "made int: expected an Algorithm"),
    ],
)
def test_a_package_that_brings_nonsense_is_named(site: Path, value: str, text: str) -> None:
    install(site, "acme_bad", {"bad": value})
    with pytest.raises(AlgorithmError) as refused:
        resolve("bad")
    assert str(refused.value).startswith(f"bad of acme_bad 1.2 ({value}) {text}")
