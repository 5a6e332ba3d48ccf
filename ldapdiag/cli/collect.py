"""ldapdiag collect: targets in, one capture out; nothing is judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli import INTERRUPTED
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.options import Asked, asks_targets
from ldapdiag.cli.output import complain, on_one_screen, standard_output, tell
from ldapdiag.errors import LdapdiagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from threading import Event

    from ldapdiag.sources.live.sampling import Gathered


@asks_targets
def collect(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="ldap://HOST, ldaps://HOST, ldapi://%2FPATH, ssh://HOST, netns:NAME, local: (this host, which is what "
            "no TARGET means).",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The capture: NAME.tar.gz, NAME.tar.zst, or a new or empty folder.",
            show_default=False,
        ),
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option(
            "--anonymise",
            help="Give DNs, addresses, host names and values other names, the same in all files; what is what is "
            "written beside the capture, to NAME.map.json.",
        ),
    ] = False,
    print_script: Annotated[
        bool,
        typer.Option(
            "--print-script",
            help="Print the same collection as a sh script, for a team that owns a host; its output is evidence.",
        ),
    ] = False,
    terms: Asked,
) -> None:
    """Take the evidence of both ends home, to be judged elsewhere.

    What `ldapdiag diagnose` would read of the same targets is saved as it came, with the times it was taken, from
    where, and what could not be had; `ldapdiag diagnose CAPTURE` says the same anywhere. Keys, passwords and their
    hashes are not read, so they are not in it.

    Exit code: 0 saved, 2 nothing could be gathered or saved, 130 Ctrl-C (what was had by then is saved).
    """
    try:
        if print_script:
            _print_script()
            return
        if output is None:
            raise UsageError("name the capture to write: --output incident.tar.gz")
        with interruptible(target or []) as stop:
            _collect(target or [], terms, stop, output, anonymised=anonymise)
    except LdapdiagError as error:
        complain(error)
        raise typer.Exit(2) from None
    raise typer.Exit(INTERRUPTED if stop.is_set() else 0)


def _collect(named: list[str], terms: Asked, stop: Event, output: Path, *, anonymised: bool) -> None:
    from ldapdiag.report.progress import reading  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.sources.captures import archive  # noqa: PLC0415
    from ldapdiag.sources.gathering import ask  # noqa: PLC0415
    from ldapdiag.sources.progress import SILENCE  # noqa: PLC0415
    from ldapdiag.sources.targets import Remote, sorted_out  # noqa: PLC0415

    targets, paths = sorted_out(named)
    if paths:
        raise UsageError(f"{paths[0]}: collect takes targets, not files: what is a file already, diagnose reads")
    if files := [target.told for target in targets if isinstance(target, Remote) and target.path]:
        raise UsageError(f"{files[0]}: collect takes hosts, whose secrets it leaves out; copy the file itself (scp)")
    archive.ready(output, with_key=anonymised)
    agreed = terms()
    with reading() as progress:
        gathered = ask(targets, agreed, stop=stop, progress=progress or SILENCE)
    if not on_one_screen():
        tell(gathered.gaps)
    if not gathered.pieces:
        complain(f"nothing could be gathered, so {output} was not written")
        raise typer.Exit(INTERRUPTED if stop.is_set() else 2)
    names: Mapping[str, str] = {}
    if anonymised:
        gathered, names = _anonymised(gathered)
    kept = archive.write(output, gathered.pieces, gaps=gathered.gaps, offsets=gathered.clock_offsets)
    complain(f"{output}: {len(kept.entries)} files of {len({entry.folder for entry in kept.entries})} hosts")
    if anonymised:
        complain(f"{archive.write_key(output, names)}: which name stands for which; it stays here")


def _anonymised(gathered: Gathered) -> tuple[Gathered, Mapping[str, str]]:
    """Return the same under other names, and which name stands for which."""
    import secrets  # noqa: PLC0415  import late

    from ldapdiag.sources.anonymising.anonymise import anonymise  # noqa: PLC0415  import late
    from ldapdiag.sources.live.sampling import Gathered  # noqa: PLC0415

    other = anonymise(
        gathered.pieces, secret=secrets.token_bytes(32), gaps=gathered.gaps, offsets=gathered.clock_offsets
    )
    renamed = Gathered(pieces=tuple(other.pieces), gaps=tuple(other.gaps), clock_offsets=dict(other.offsets))
    return renamed, other.mapping


def _print_script() -> None:
    from ldapdiag.sources.live.ssh.remote import script  # noqa: PLC0415  import late

    with standard_output() as stream:
        stream.write(script())
