"""Which endpoint is meant, and with what it is opened. A secret comes from a file or the environment, never as a word.

| given                                            | credential                                                 |
| ------------------------------------------------ | ---------------------------------------------------------- |
| ``--connection-string-file``                     | AccountKey or SharedAccessSignature in it                  |
| ``--target URL`` with ``--sas-file`` or ``$PKADVISOR_SAS``    | that signature                                |
| ``--target URL`` with ``$PKADVISOR_CONNECTION_STRING``        | what that holds, if it is of this endpoint    |
| ``--target URL`` of this machine                 | the development account that every Azurite has             |

The environment alone is never a target: nobody is dialled who was not named.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import field, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pkadvisor.errors import InputError, UsageError
from pkadvisor.values import dataclass

CONNECTION_STRING, SAS = "PKADVISOR_CONNECTION_STRING", "PKADVISOR_SAS"
DEVELOPMENT_ACCOUNT = "devstoreaccount1"
DEVELOPMENT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Public constants of Azurite's documentation; they guard nothing."""
DEVELOPMENT_URL = f"http://127.0.0.1:10002/{DEVELOPMENT_ACCOUNT}"
SECRET_FILE_BYTES = 16_384
_SECRET_WORD = re.compile(r"(?i)(accountkey|sharedaccesssignature|sharedaccesskey|\bsig|%26sig|%3fsig)\s*(=|%3d)")


@dataclass(frozen=True, slots=True)
class Target:
    """An endpoint: ``url`` without a query, and a key or a SAS, which are in no representation of it.

    ``host`` names no account: it may stand in results.
    """

    url: str
    account: str
    host: str
    loopback: bool
    key: str = field(default="", repr=False)
    sas: str = field(default="", repr=False)


def target_of(
    url: str | None,
    connection_string_file: str | None,
    sas_file: str | None,
    environment: Mapping[str, str],
) -> Target:
    """The target that is meant. UsageError (2) for what cannot be meant, InputError (3) for a file without a secret."""
    for given, where in (
        (url, "--target"),
        (connection_string_file, "--connection-string-file"),
        (sas_file, "--sas-file"),
    ):
        if given is not None and _SECRET_WORD.search(given):
            fix = f"put it into a file or into {CONNECTION_STRING} or {SAS}; and renew this one: it has been seen"
            raise UsageError("a secret does not belong on a command line", where=where, fix=fix)
    if url is not None and connection_string_file is not None:
        what = "two targets: --target and --connection-string-file"
        raise UsageError(what, where="--target", fix="a connection string names its endpoint itself: give one of them")
    if connection_string_file is not None:
        if sas_file is not None:
            what = "a connection string holds its own credential"
            raise UsageError(what, where="--sas-file", fix="use --sas-file with --target")
        text = _secret_of(connection_string_file, "--connection-string-file")
        return _of_connection_string(text, connection_string_file)
    if url is None:
        raise UsageError("no target is named", where="--target", fix="--target URL or --connection-string-file FILE")
    target = _endpoint(url, "--target")
    if sas_file is not None:
        return _with_sas(target, _secret_of(sas_file, "--sas-file"), sas_file)
    signature = environment.get(SAS, "").strip()
    if signature and not target.loopback:
        return _with_sas(target, signature, SAS)
    connection = environment.get(CONNECTION_STRING, "").strip()
    if connection and not target.loopback:
        named = _of_connection_string(connection, CONNECTION_STRING)
        if named.url.lower() != target.url.lower():
            what = f"the connection string in {CONNECTION_STRING} is of another endpoint"
            raise UsageError(what, where="--target", fix="name its endpoint, or use --connection-string-file FILE")
        return named
    if target.loopback and target.account in ("", DEVELOPMENT_ACCOUNT):
        whole = target.url if target.account else f"{target.url}/{DEVELOPMENT_ACCOUNT}"
        return Target(whole, DEVELOPMENT_ACCOUNT, target.host, True, key=DEVELOPMENT_KEY)
    fix = f"--sas-file FILE, the environment variable {SAS}, or --connection-string-file FILE in place of --target"
    raise UsageError("there is no credential for this endpoint", where="--target", fix=fix)


def _endpoint(url: str, where: str) -> Target:
    """The endpoint of a URL, without a credential. ``host`` leaves the account out."""
    example = "e.g. https://ACCOUNT.table.core.windows.net or http://127.0.0.1:10002/devstoreaccount1"
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise UsageError("this is no URL", where=where, fix=example) from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("an endpoint is a URL of http or https", where=where, fix=example)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("an endpoint has no user, query or fragment", where=where, fix=example)
    loopback = _loopback(host)
    if parts.scheme == "http" and not loopback:
        raise UsageError("credentials do not go out over http", where=where, fix="write https://")
    path = parts.path.strip("/")
    if "/" in path:
        raise UsageError("an endpoint has at most the account in its path", where=where, fix=example)
    of_host, _, domain = host.partition(".")
    by_path = bool(path) or loopback or not domain
    shown = f"{host}:{port}" if port else host
    return Target(
        url=f"{parts.scheme}://{parts.netloc}" + (f"/{path}" if path else ""),
        account=path if by_path else of_host,
        host=shown if by_path else shown.partition(".")[2],
        loopback=loopback,
    )


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _of_connection_string(text: str, where: str) -> Target:
    """The target of a connection string; messages name its parts, never their values."""
    example = "e.g. DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net"
    parts: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.strip().partition("=")
        if name and not equals:
            raise InputError("this is not a connection string", where=where, fix=example)
        if name:
            parts[name.strip().lower()] = value.strip()
    if parts.get("usedevelopmentstorage", "").lower() == "true":
        return Target(DEVELOPMENT_URL, DEVELOPMENT_ACCOUNT, "127.0.0.1:10002", True, key=DEVELOPMENT_KEY)
    account, url = parts.get("accountname", ""), parts.get("tableendpoint", "")
    if not url:
        if not account:
            raise InputError("the connection string names neither AccountName nor TableEndpoint", where=where)
        scheme = parts.get("defaultendpointsprotocol", "https")
        url = f"{scheme}://{account}.table.{parts.get('endpointsuffix', 'core.windows.net')}"
    target = _endpoint(url, where)
    if parts.get("accountkey"):
        return replace(target, account=account or target.account, key=_checked_key(parts["accountkey"], where))
    if parts.get("sharedaccesssignature"):
        return _with_sas(target, parts["sharedaccesssignature"], where)
    raise InputError("the connection string holds neither AccountKey nor SharedAccessSignature", where=where)


def _checked_key(key: str, where: str) -> str:
    try:
        base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the AccountKey is cut short or misspelt: it is not base64", where=where) from None
    return key


def _with_sas(target: Target, sas: str, where: str) -> Target:
    sas = sas.lstrip("?")
    if not re.search(r"(?:^|&)sig=", sas):
        raise InputError("this is not a shared access signature: it has no sig=", where=where)
    return replace(target, sas=sas)


def _secret_of(path: str, where: str) -> str:
    """The one line of a file; UsageError where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(SECRET_FILE_BYTES + 1)
        text = content.decode("utf-8-sig").strip()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or 'error'}", where=f"{where} {path}") from None
    except UnicodeDecodeError:
        raise InputError("is not text", where=path) from None
    if not text or len(content) > SECRET_FILE_BYTES or "\n" in text:
        raise InputError("holds no secret of one line", where=path)
    return text
