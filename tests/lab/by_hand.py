"""What a person captures by hand, without ssh or a script: the commands of docs/capture-by-hand.md, host by host."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab.host import Host

PAGE = Path(__file__).parents[2] / "docs" / "capture-by-hand.md"
SERVER, CLIENT, FIREWALL = "## On the directory server", "## On each application host", "## On a Linux firewall"


def commands_of(heading: str) -> str:
    """Return the first block of commands below a heading of the page."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(heading)
    found = re.search(r"```sh\n(.*?)```", below, re.DOTALL)
    assert found, heading
    return found[1]


def capture(host: Host, heading: str, folder: Path, *, without: Iterable[str] = ()) -> None:
    """Run the block on a host and leave its files in folder/NAME of the host, but for the files named.

    As of a person who goes from host to host, no two captures are of one second: `date` writes whole seconds.
    """
    block = re.sub(r"mkdir -p incident/(\S+) && cd incident/\S+", "", commands_of(heading))
    into = folder / host.name
    into.mkdir(parents=True, exist_ok=True)
    host.run(f"cd {into}\n{block}\ntrue")
    time.sleep(1)
    for name in without:
        (into / name).unlink()
