"""Tests."""

import pytest

pytest.register_assert_rewrite("tests.checks.breaking")
