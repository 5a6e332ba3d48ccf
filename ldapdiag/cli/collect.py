"""ldapdiag collect: save the evidence of live targets as a capture; nothing is judged."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldapdiag.cli.collecting import Collecting
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.exit_codes import FAILED, INTERRUPTED
from ldapdiag.cli.interruptible import interruptible
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import outputs_share_terminal, print_error, print_gaps, standard_output
from ldapdiag.cli.site_options import target_names
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.sampling import LiveEvidence


@command
def collect(
    target: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET...",
            help="ldap://HOST, ldaps://HOST, ldapi://%2FPATH, ssh://HOST, netns:NAME, local: (this host, the default), "
            "@NAME of ldapdiag.toml.",
            show_default=False,
            autocompletion=target_names,
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Panel.OUTPUT.option(
            "--output",
            "-o",
            metavar="CAPTURE",
            help="Write the capture to NAME.tar.gz, NAME.tar.zst, or a new or empty folder.",
        ),
    ] = None,
    anonymise: Annotated[
        bool,
        Panel.OUTPUT.option(
            "--anonymise",
            help="Replace DNs, addresses, host names and values by pseudonyms, the same in all files; the key is "
            "written beside the capture, to NAME.map.json.",
        ),
    ] = False,
    print_script: Annotated[
        bool,
        Panel.OUTPUT.option(
            "--print-script",
            help="Print the collection as a sh script, for the administrators of a host; its output is evidence.",
        ),
    ] = False,
    quiet: QuietOption = False,
    collecting: Collecting,
) -> None:
    """Collect the evidence of servers and clients as a capture.

    The capture contains the evidence that ldapdiag diagnose would read from these targets, unchanged, with its times,
    its origins and the gaps; ldapdiag diagnose CAPTURE gives the same report on any host. Keys,
    passwords and their hashes are not collected.

    Exit code:
        0  saved
        2  nothing collected or saved
        130  Ctrl-C (what was collected until then is saved)

    Examples:
        A server, a host of its clients, and the firewall between them:
            ldapdiag collect ldaps://ds1 ssh://ds1 ssh://app1 ssh://fw -o incident.tar.gz
        With pseudonyms, to give it away:
            ldapdiag collect ssh://ds1 ssh://app1 --anonymise -o incident.tar.gz
        On a host without ldapdiag, by its administrator:
            ldapdiag collect --print-script > collect.sh
    """
    if print_script:
        _print_script()
        return
    if output is None:
        raise UsageError("no capture named: use --output, as in --output incident.tar.gz")
    notices = Notices(quiet=quiet)
    with interruptible(target or []) as stop:
        options = partial(collecting.options, notices)
        _collect(target or [], options, stop, output, notices, anonymised=anonymise)
    raise typer.Exit(INTERRUPTED if stop.is_set() else 0)


def _collect(
    arguments: list[str],
    options: Callable[[], CollectionOptions],
    stop: Event,
    output: Path,
    notices: Notices,
    *,
    anonymised: bool,
) -> None:
    from ldapdiag.sources.captures import archive  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.sources.gathering import ask  # noqa: PLC0415
    from ldapdiag.sources.progress import NO_PROGRESS  # noqa: PLC0415
    from ldapdiag.sources.targets import (  # noqa: PLC0415
        SshTarget,
        split_targets,
        suggested_targets,
    )

    targets, paths = split_targets(arguments)
    if paths:
        meant = [] if Path(paths[0]).exists() else suggested_targets(paths[0])
        how = f"name one, as in {' or '.join(meant)}" if meant else "give files to diagnose"
        raise UsageError(f"{paths[0]}: collect accepts only live targets; {how}")
    if files := [target.label for target in targets if isinstance(target, SshTarget) and target.path]:
        raise UsageError(f"{files[0]}: collect accepts hosts, not single files; copy the file with scp")
    archive.ready(output, with_key=anonymised)
    collection = options()
    with notices.progress() as progress:
        gathered = ask(targets, collection, stop=stop, progress=progress or NO_PROGRESS)
    if not gathered.has_answers:
        if notices.quiet or not outputs_share_terminal():  # the progress did not show them
            print_gaps(gathered.gaps)
        print_error(f"cannot write {output}: no evidence was collected")
        raise typer.Exit(INTERRUPTED if stop.is_set() else FAILED)
    if not outputs_share_terminal():
        notices.write_gaps(gathered.gaps)
    names: Mapping[str, str] = {}
    if anonymised:
        gathered, names = _anonymised(gathered)
    kept = archive.write(output, gathered.pieces, gaps=gathered.gaps, offsets=gathered.clock_offsets)
    hosts = len({entry.folder for entry in kept.entries})
    notices.write(f"{output}: {_count(len(kept.entries), 'file')} of {_count(hosts, 'host')}")
    if anonymised:
        notices.write(f"{archive.write_key(output, names)}: key to the pseudonyms; keep it private")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _anonymised(gathered: LiveEvidence) -> tuple[LiveEvidence, Mapping[str, str]]:
    """Return the evidence with pseudonyms, and the key to them."""
    import secrets  # noqa: PLC0415  import late

    from ldapdiag.sources.anonymising.anonymise import anonymise  # noqa: PLC0415  import late
    from ldapdiag.sources.live.sampling import LiveEvidence  # noqa: PLC0415

    other = anonymise(
        gathered.pieces, secret=secrets.token_bytes(32), gaps=gathered.gaps, offsets=gathered.clock_offsets
    )
    renamed = LiveEvidence(pieces=tuple(other.pieces), gaps=tuple(other.gaps), clock_offsets=dict(other.offsets))
    return renamed, other.mapping


def _print_script() -> None:
    from ldapdiag.sources.live.ssh.remote import script  # noqa: PLC0415  import late

    with standard_output() as stream:
        stream.write(script(with_comments=True))
