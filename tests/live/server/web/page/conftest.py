"""One browser for all tests of the page."""

from collections.abc import Iterator

import pytest

from tests.browser import Browser


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as browser:
        yield browser
