"""Ten million mutated inputs for every reader of evidence: nothing raises, each line counts once, time is bounded.

Seeds are the captures and the vectors. What was read in a way not seen before is kept (.experiments/corpus), and
mutated in later steps. An input that breaks a promise is kept in .experiments/found. Most of the time to read a short
input recognises it, and two of three mutated ones are then not read: so most are given to the reader of their seed.
"""

from __future__ import annotations

import hashlib
import re
import resource
import time
from functools import partial
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, HOUSE, NOTES, Experiment
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.sources.captures.find import within
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.recognition.log_discovery import log_dialect
from ldapdiag.sources.recognition.reading import read, read_as
from log.scanners import merged
from log.vectors import HINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.recognition.reading import InputReading

    Way = tuple[object, ...]
    Ways = Callable[[str, bytes], Iterable[Way]]

WHOLE = "whole"
WHOLE_STEPS, WHOLE_INPUTS = 50, 20_000
READER_STEPS, READER_INPUTS = 18, 500_000
FEW = 300
SHORT_SEED, LONG_SEED, LONGEST = 600, 6_000, 60_000
"""Bytes: short ones are three times as many in the same time, every tenth step has long ones."""
PATIENCE = 5
"""Seconds of processor time for one input."""
MOST_MEMORY = 1 << 30
"""Bytes of the process at most, in all its life."""
SIGNATURES = 400
"""Kept inputs of one format."""
COUNTS = ("lines", "misread", "passed_over", "internal")
SEEDS = ("tests/captures", "tests/vectors", "examples")
NUMBER = re.compile(rb"\d+")
ODD = (
    *(b"0", b"-1", b"65536", b"4294967296", b"9223372036854775808", b"1e308", b"NaN", b"9" * 400, b"0x7f"),
    *(b"\0", b"\x1b]52;c;aGk=\x07", b"\xff\xfe", b"\xc2\x85", b"\xe2\x80\xa8", b"\r", b"\t", b" ", b"\n\n"),
    *(
        b"\\",
        b'"',
        b"{",
        b"[" * 300,
        b"}",
        b"(" * 300,
        b"<",
        b"=",
        b":",
        b"::",
        b",",
        b"%00",
        b"../",
        b"dn: ",
        b"dn:: /w==",
        b"-",
    ),
)


def seeds(longest: int) -> list[tuple[str, bytes]]:
    """Return the names and the first `longest` bytes of what the repository has of evidence."""
    files = sorted(file for folder in SEEDS for file in (HOUSE / folder).rglob("*") if file.is_file())
    read_ones = (
        (file.name, file.read_bytes()[:longest]) for file in files if file.suffix not in {".py", ".pyc", ".md"}
    )
    return list(dict.fromkeys((name, content) for name, content in read_ones if content))


def mutated(content: bytes, other: bytes, random: Random) -> bytes:
    """Return a content changed in one to four ways; `other` lends lines."""
    for _ in range(random.randint(1, 4)):
        lines = content.split(b"\n")
        at, place = random.randrange(len(lines)), random.randrange(len(content) + 1)
        match random.randrange(9):
            case 0:
                content = content[:place]
            case 1:
                content = content[:place] + random.choice(ODD) + content[place:]
            case 2:
                content = content[:place] + bytes([random.randrange(256)]) + content[place + 1 :]
            case 3:
                del lines[at]
                content = b"\n".join(lines)
            case 4:
                lines[at:at] = [lines[random.randrange(len(lines))]] * random.choice((1, 2, 50))
                content = b"\n".join(lines)
            case 5:
                lines[at] = random.choice(other.split(b"\n"))
                content = b"\n".join(lines)
            case 6 if numbers := list(NUMBER.finditer(content)):
                one = random.choice(numbers)
                content = content[: one.start()] + random.choice(ODD) + content[one.end() :]
            case 7:
                words = lines[at].split(b" ")
                random.shuffle(words)
                lines[at] = b" ".join(words)
                content = b"\n".join(lines)
            case _:
                end = min(len(content), place + random.randrange(200))
                content = content[:place] + content[place:end] * random.choice((2, 9)) + content[end:]
    return content


def ways_read(name: str, content: bytes) -> Iterator[Way]:
    """Read an input as gathering does, and yield how each part of it was read. AssertionError: a line is lost."""
    for found in within(_input_of(name, content)):
        if not isinstance(found, Input):
            yield type(found).__name__, isinstance(found, Gap) and found.reason[:30]
            continue
        reading = read(found)
        log = log_dialect(found)
        if log is not None:
            yield _way_scanned(log, found.open().read(LONGEST))
        yield _way_of(reading, log is None)


def reader_of(name: str, content: bytes) -> Ways | None:
    """Return the reader that recognises an input: it yields how others are read. None: no reader does."""
    one = _input_of(name, content)
    log = log_dialect(one)
    if log is not None:
        return lambda _, content: [_way_scanned(log, content)]
    form = recognise(head_of(one.name, one.head, whole=True))
    reader = form and form.read
    if form is None or reader is None:
        return None
    return lambda name, content: [
        (form.name, *_way_of(read_as(form, reader, _input_of(name, content), is_log=False), True))
    ]


def _input_of(name: str, content: bytes) -> Input:
    return Input(path=f"host/{name}", folder="host", label=name, source=partial(BytesIO, content)).with_head()


def _way_scanned(log: Dialect, content: bytes) -> Way:
    counts = merged("python", log, [content], HINTS)
    return log.name, *(getattr(counts, name).bit_length() for name in COUNTS)


def _way_of(reading: InputReading, is_no_log: bool) -> Way:  # noqa: FBT001  an item of the way
    for fact in reading.facts:
        origin = fact.origin
        assert origin.lines == origin.understood + origin.not_understood, origin
    kinds = sorted({fact.kind for fact in reading.facts})
    lost = [min(fact.origin.not_understood, 9).bit_length() for fact in reading.facts[:1]]
    return reading.useless[:24], is_no_log, len(reading.facts).bit_length(), *kinds, *lost


def _pool(corpus: Path, longest: int, *, is_whole: bool) -> Iterator[tuple[str, bytes, Ways]]:
    """Yield what inputs are made from, and how these are read."""
    kept = ((file.name.partition("-")[2], file.read_bytes()) for file in sorted(corpus.iterdir()))
    for name, content in (*seeds(longest), *kept):
        if len(content) <= longest * 2 and (ways := ways_read if is_whole else reader_of(name, content)):
            yield name, content, ways


def run(step: str, *, small: bool) -> dict[str, str]:
    """Read mutated inputs."""
    random = Random(step)  # noqa: S311  no secret depends on it
    corpus, found = NOTES / "corpus", NOTES / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    inputs = FEW if small else WHOLE_INPUTS if step.startswith(WHOLE) else READER_INPUTS
    longest = LONG_SEED if small or step.endswith("0") else SHORT_SEED
    pool = list(_pool(corpus, longest, is_whole=step.startswith(WHOLE)))
    seen = {way for name, content, ways in pool for way in ways(name, content)}
    kept, broken, slowest = 0, [], 0.0
    for _ in range(inputs):
        (name, content, ways), (_, other, _) = random.choice(pool), random.choice(pool)
        content = mutated(content, other, random)[: longest * 10]
        began = time.process_time()
        try:
            found_ways = set(ways(name, content))
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            broken.append(f"{type(error).__name__} by {_kept(found, name, content)}")
            continue
        spent = time.process_time() - began
        slowest = max(slowest, spent)
        if spent > PATIENCE:
            broken.append(f"{spent:.0f} s by {_kept(found, name, content)}")
        if not small and not found_ways <= seen and len(pool) < SIGNATURES * 60:
            seen |= found_ways
            kept += 1
            pool.append((name, content, ways))
            _kept(corpus, name, content)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    if peak > MOST_MEMORY:
        broken.append(f"{peak >> 20} MiB of memory")
    return {
        "inputs": f"{inputs:,}",
        "new ways kept": str(kept),
        "slowest": f"{slowest:.2f} s",
        "peak memory": f"{peak >> 20} MiB",
        "result": "; ".join(dict.fromkeys(broken)) or AS_EXPECTED,
    }


def _kept(folder: Path, name: str, content: bytes) -> str:
    """Keep an input under the name that its reading may depend on."""
    file = folder / f"{hashlib.sha256(content).hexdigest()[:12]}-{name}"
    file.write_bytes(content)
    return file.name


EXPERIMENT = Experiment(
    name="reader-fuzzing",
    title="Fuzzing of the readers",
    about=(
        "Mutated captures and logs for every reader (tests/experiments/reader_fuzzing.py), recognised anew (whole) or\n"
        "given to the reader of what they were made from (reader). Expected: no exception,\n"
        f"each line counted once, no input that takes {PATIENCE} s, and never 1 GiB of memory."
    ),
    steps=(
        *(f"{WHOLE} {number}" for number in range(1, WHOLE_STEPS + 1)),
        *(f"reader {number}" for number in range(1, READER_STEPS + 1)),
    ),
    run=run,
    small=1,
)
