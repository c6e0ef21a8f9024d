"""``advisor profile``: what the data and the logs say, as one small file that can be merged and committed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.configuration import of_the_project
from pkadvisor.cli.console import redact_result, say, write_bytes
from pkadvisor.cli.inputs import settle
from pkadvisor.cli.output import STDOUT, check_path, size_text, write_whole
from pkadvisor.cli.shared import DATA_FILES, Format, InputOptions, ReviewFormat, Shared, option, say_next, unfold
from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import read_bytes

SHORTEST_SALT_BYTES, LONGEST_SALT_BYTES = 16, 1 << 20


@unfold
def profile(
    data: list[str] | None = DATA_FILES,
    *,
    reading: InputOptions,
    out: str | None = option("Write this file instead of standard output.", metavar="PATH"),
    salt_file: str | None = option("Secret that key values are hashed with.", metavar="FILE", env=True),
    shared: Shared,
) -> None:
    """Summarise data and logs in a profile file, which 'advisor analyze' takes in their place.

    Profiles merge: give parts with --profile. The document is JSON whatever --format says. Without any file the data,
    logs and design of pkadvisor.toml are taken.

    Examples:
        advisor profile --sample footrace --out footrace.profile.json
        advisor profile --profile footrace.profile.json --out merged.profile.json
    """
    data, reading = of_the_project(data, reading, shared)
    inputs = settle(data, reading, command="profile")
    salt = read_salt(salt_file)
    sources = [*inputs.files(), *([Path(salt_file)] if salt_file else [])]
    out = without_format(out)
    target = None if out in (None, STDOUT) else check_path(str(out), inputs=sources)
    request = build_request(inputs, reading)

    from msgspec import to_builtins

    from pkadvisor.usecases.profile import profile as profiled

    with listen(shared) as progress:
        document = profiled(request, progress, salt=salt)
    text = json.dumps(to_builtins(document), ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    content = redact_result(text).encode() + b"\n"
    if target is not None:
        write_whole(target, content)
        say(f"wrote {target} ({size_text(len(content))})", color=shared.color)
        design = f" --design {shlex.quote(request.design)}" if request.design else ""
        say_next(f"advisor analyze --profile {shlex.quote(str(target))}{design}", shared, written=True)
    if target is None or shared.format is Format.json:
        write_bytes(content)


def without_format(out: str | None) -> str | None:
    """The path of ``--out``, which other commands take as FMT=PATH: ``json=p.json`` is p.json.

    UsageError for a format that no profile has; ``./json=p.json`` is a file of that name.
    """
    name, equals, path = (out or "").partition("=")
    if not equals or name not in {str(known) for known in ReviewFormat}:
        return out
    if name != "json" or not path:
        raise UsageError(f"a profile is JSON, not {name}", where="--out", fix="for example: --out profile.json")
    return path


def read_salt(name: str | None) -> bytes:
    """The salt in a file without its line end; no salt if no file is named, so that profiles of one team merge."""
    if name is None:
        return b""
    path = Path(name)
    if path.is_dir() or not path.exists():
        raise UsageError(f"there is no file {path}", where="--salt-file")
    try:
        salt = read_bytes(path, LONGEST_SALT_BYTES).rstrip(b"\r\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", where="--salt-file") from error
    if len(salt) < SHORTEST_SALT_BYTES:
        raise UsageError(
            f"the salt is shorter than {SHORTEST_SALT_BYTES} bytes",
            where=str(path),
            fix="for example: head -c 32 /dev/urandom | base64 > salt.txt",
        )
    return salt
