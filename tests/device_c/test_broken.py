"""A device in C that errs is caught by the conversations."""

from pathlib import Path

import pytest

from tests.device_c.building import HERE, LARGEST, STRICT, run, sizes, unpacked
from tests.device_c.test_conversations import replay
from tests.effort import some
from tests.system import needs

FEW = 60  # conversations within which it must be caught

# Words of the sources that are right, and others that are wrong.
BROKEN = {
    "the age limit is forgotten": (
        "= (int64_t)kept->updates[i - 1u].tick >= oldest",
        "= true",
    ),
    "old updates are not dropped": ("> (int64_t)device->agreed->max_age)", "> 300)"),
    "an old reply is merged": ("if ((int64_t)tick > device->kept.merged) {", "if (true) {"),
    "the clock follows late answers": (
        "if ((int64_t)tick > paofed_tick(device)) {",
        "if (true) {",
    ),
    "a tick is used twice": ("&& (now > kept->stamped)) {", "&& (now >= kept->stamped)) {"),
    "patience is not kept": (">= (int64_t)device->patience", ">= 0"),
    "no doubt after a restart": ("doubt_left = device->doubt;", "doubt_left = 0u;"),
    "a reply confirms what an earlier life sent": (
        "updates[i].carried = 0u;",
        "updates[i].carried = 15u;",
    ),
    "a reply confirms all that was carried once": (
        "(uint8_t)(head->carried & carried)",
        "(uint8_t)carried",
    ),
    "a lost clock is not set back": ("if (lost) {", "if (false) {"),
    "a clock that is ahead is not set back": (
        "if (body[0] >= (uint8_t)AHEAD) {",
        "if (false) {",
    ),
    "personal terms are overwritten": ("if (coordinate < agreed->heard) {", "if (true) {"),
    "another lineage keeps its model": ("|| (kept->lineage != lineage)", ""),
    "numbers that are none are taken": (
        "&& paofed_block_is_sane(&body[1], agreed->shared, agreed->down_bits)",
        "",
    ),
    "the window does not wrap": (
        "coordinate = (coordinate == agreed->features) ? 0u : coordinate;",
        "",
    ),
    "a torn save is taken up": ("&& (kept->sum == checksum(kept))", ""),
    "the newer slot is overwritten": ("kept->sequence--;", ""),
    "the level is off by one": ("128.5f +", "129.5f +"),
    "an implausible sample is learned from": ("(value <= number->high)", "true"),
    "the median is the largest": (
        "sorted[(count - 1) / 2] + sorted[count / 2]",
        "sorted[count - 1] + sorted[count - 1]",
    ),
    "a wild model stays": (
        "if (!paofed_is_sane(kept->w, agreed->features)) {",
        "if (false) {",
    ),
    "an input is not kept to its range": (
        "kept = (kept > range->high) ? range->high : kept;",
        "",
    ),
    "a product is rounded otherwise": (
        "z[j] += x[i] * *frequency;",
        "z[j] = z[j] + *frequency * x[i] * 1.0000001f;",
    ),
    "other rules are followed": ("|| (manifest->rules != device->agreed->rules)", ""),
    "values of few bits are not rounded by chance": (
        "= (int32_t)((float)most * size_of(value) / scale + chance);",
        "= (int32_t)((float)most * size_of(value) / scale + 0.5f * (1.0f + 0.0f * chance));",
    ),
    "a scale is one digit too small": ("scale = scale * 1.00000012f;", ""),
    "a value of few bits is not bounded": ("(number > most) ||", ""),
    "an epoch is not taken over": ("(uint8_t)(manifest->number & 0xFFu)", "3u"),
}


@pytest.mark.parametrize("name", some(BROKEN, everyday=1))
def test_it_is_caught(name: str, tmp_path: Path) -> None:
    right, wrong = BROKEN[name]
    files = unpacked(tmp_path, sizes(LARGEST))
    texts = {path: Path(path).read_text(encoding="utf-8") for path in files}
    (path,) = (path for path, text in texts.items() if right in text)
    Path(path).write_text(texts[path].replace(right, wrong), encoding="utf-8")
    program = str(tmp_path / "driver")
    words = [needs("gcc"), *STRICT, "-Wno-unused", f"-I{tmp_path}", str(HERE / "driver.c"), *files]
    run([*words, "-o", program])
    with pytest.raises(AssertionError, match="seed"):
        converse(program)


def converse(program: str) -> None:
    for seed in range(FEW):
        replay(seed, program)
