"""``advisor completion``: what a shell reads to complete commands, options, rules and samples."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pkadvisor.cli.console import write_text
from pkadvisor.cli.shared import COMPLETE, Shared, argument, unfold


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    powershell = "powershell"


@unfold
def completion(
    shell: Shell = argument("bash, zsh, fish or powershell.", "SHELL"),
    *,
    shared: Shared,
) -> None:
    """Print a completion script on standard output, whatever --format says.

    bash: add 'eval "$(advisor completion bash)"' to ~/.bashrc; zsh: the same in ~/.zshrc, after compinit.
    fish: advisor completion fish > ~/.config/fish/completions/advisor.fish.
    powershell: advisor completion powershell >> $PROFILE.

    Examples:
        advisor completion bash
        advisor completion zsh
    """
    from typer._completion_shared import get_completion_script

    write_text(get_completion_script(prog_name="advisor", complete_var=COMPLETE, shell=str(shell)))


def answer(command: Any, instruction: str) -> int:
    """What a shell asked for, such as ``complete_bash``; silent where there is nothing to say."""
    from typer._completion_classes import completion_init
    from typer.completion import shell_complete

    completion_init()
    return shell_complete(command, {}, "advisor", COMPLETE, instruction)
