"""ldapdiag completion: print the script with which a shell completes the command line, by Typer's protocol.

With each Tab, the script runs `ldapdiag` with the variable _LDAPDIAG_COMPLETE and the words so far. Nothing is read
over the network, and no check is imported.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ldapdiag.cli.app import VARIABLE
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import standard_output


class Shell(StrEnum):
    """Shells that the command line can be completed in."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


END = {
    Shell.BASH: """
_ldapdiag_words() {
    local word=${COMP_WORDS[COMP_CWORD]}
    if [ "${COMP_WORDS[COMP_CWORD-1]}" = @ ]; then
        COMP_WORDS=("${COMP_WORDS[@]:0:COMP_CWORD-1}" "@$word")
        COMP_CWORD=$((COMP_CWORD - 1))
    fi
    _ldapdiag_completion "$@"
}

complete -o default -F _ldapdiag_words ldapdiag
""",
    Shell.FISH: "",
    Shell.ZSH: """
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _ldapdiag_completion "$@"
fi
""",
}
"""bash splits @NAME after the @ (COMP_WORDBREAKS), although what it replaces begins with it.

zsh reads a file in $fpath at the first Tab, as the body of the function that completes: call it then, too.
"""


@command
def completion(
    shell: Annotated[
        Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell that reads the script.", show_default=False)
    ],
) -> None:
    """Print the completion script of a shell.

    Commands, options, their values, the IDs of checks and the targets of ldapdiag.toml are completed, and file names.

    Write the script to a file that the shell reads. bash needs the line ". ~/.ldapdiag.bash" in ~/.bashrc (or, for all
    users, the file in /etc/bash_completion.d), zsh the line "fpath+=~/.zfunc; autoload -Uz compinit; compinit" in
    ~/.zshrc.

    Examples:
        One of:
            ldapdiag completion bash > ~/.ldapdiag.bash
            ldapdiag completion zsh > ~/.zfunc/_ldapdiag
            ldapdiag completion fish > ~/.config/fish/completions/ldapdiag.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # noqa: PLC0415  import late: --help must be quick

    script = get_completion_script(prog_name="ldapdiag", complete_var=VARIABLE, shell=shell)
    with standard_output() as stream:
        stream.write(f"{script.rstrip()}\n{END[shell]}")


def check_ids(incomplete: str) -> list[str]:
    """Return the IDs of installed checks that begin so."""
    from ldapdiag.check_names import check_names  # noqa: PLC0415  import late

    return [name for name in check_names() if name.startswith(incomplete)]
