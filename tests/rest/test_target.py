"""Which endpoint is meant, and that no secret is ever taken from a command line or shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.errors import AdvisorError, InputError, UsageError
from pkadvisor.rest.target import CONNECTION_STRING, DEVELOPMENT_KEY, SAS, Target, target_of

KEY = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
SIGNATURE = "sv=2024-11-04&ss=t&srt=sco&sp=rwdlacu&sig=AbCdEfGhIjKlMnOpQrStUvWxYz0123456789%3D"
ACCOUNT = f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={KEY};EndpointSuffix=core.windows.net"


def file_of(folder: Path, text: str) -> str:
    path = folder / "secret.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_connection_string_from_a_file(tmp_path: Path) -> None:
    found = target_of(None, file_of(tmp_path, ACCOUNT + "\n"), None, {})
    assert found.url == "https://shop.table.core.windows.net"
    assert (found.account, found.key, found.loopback) == ("shop", KEY, False)
    assert found.host == "table.core.windows.net", "the account is not shown"


def test_a_signature_from_a_file_or_the_environment(tmp_path: Path) -> None:
    url = "https://shop.table.core.windows.net"
    for found in (
        target_of(url, None, file_of(tmp_path, "?" + SIGNATURE), {}),
        target_of(url + "/", None, None, {SAS: SIGNATURE}),
    ):
        assert (found.url, found.sas, found.key) == (url, SIGNATURE, "")


def test_azurite_needs_no_secret() -> None:
    for url in ("http://127.0.0.1:10002/devstoreaccount1", "http://127.0.0.1:10002", "http://localhost:10002/"):
        found = target_of(url, None, None, {})
        assert found.key == DEVELOPMENT_KEY and found.loopback
        assert found.url.endswith("/devstoreaccount1")


def test_the_environment_is_no_target_but_may_open_the_one_that_is_named() -> None:
    with pytest.raises(UsageError, match="no target"):
        target_of(None, None, None, {CONNECTION_STRING: ACCOUNT})
    assert target_of("https://shop.table.core.windows.net", None, None, {CONNECTION_STRING: ACCOUNT}).key == KEY
    with pytest.raises(UsageError, match="another endpoint"):
        target_of("https://other.table.core.windows.net", None, None, {CONNECTION_STRING: ACCOUNT})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (f"https://shop.table.core.windows.net?{SIGNATURE}", "command line"),
        ("https://shop.table.core.windows.net?sv=1&SIG=abc", "command line"),
        (ACCOUNT, "command line"),
        ("https://shop:secret@table.core.windows.net", "no user"),
        ("https://shop.table.core.windows.net?a=b", "no user"),
        ("http://shop.table.core.windows.net", "over http"),
        ("ftp://shop.table.core.windows.net", "http or https"),
        ("shop", "http or https"),
        ("https://[", "no URL"),
        ("https://host:99999", "no URL"),
        ("https://host.example/a/b", "at most the account"),
        ("https://shop.table.core.windows.net", "no credential"),
        ("http://127.0.0.1:10002/another", "no credential"),
    ],
)
def test_what_is_no_target_is_refused_without_being_repeated(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        target_of(url, None, None, {})
    for secret in (KEY, SIGNATURE, "AbCdEfGh", "secret@"):
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no secret of one line"),
        ("one\ntwo", "no secret of one line"),
        ("AccountName=shop;AccountKey=not base64!", "not base64"),
        ("AccountName=shop", "neither AccountKey nor"),
        (f"AccountKey={KEY}", "neither AccountName nor"),
        (f"AccountName=shop;{KEY[:-1]}", "not a connection string"),
        (f"DefaultEndpointsProtocol=http;AccountName=shop;AccountKey={KEY}", "over http"),
    ],
)
def test_a_file_that_opens_nothing(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(AdvisorError, match=says) as caught:
        target_of(None, file_of(tmp_path, text), None, {})
    assert KEY[:-1] not in str(caught.value)


def test_files_and_options_that_do_not_go_together(tmp_path: Path) -> None:
    path = file_of(tmp_path, ACCOUNT)
    with pytest.raises(UsageError, match="two targets"):
        target_of("https://shop.table.core.windows.net", path, None, {})
    with pytest.raises(UsageError, match="its own credential"):
        target_of(None, path, path, {})
    with pytest.raises(UsageError, match="cannot be read"):
        target_of(None, str(tmp_path / "nowhere"), None, {})
    with pytest.raises(InputError, match="not a shared access signature"):
        target_of("https://shop.table.core.windows.net", None, path, {})


def test_a_target_does_not_show_what_opens_it() -> None:
    shown = repr(Target("https://a", "a", "a", False, key=KEY, sas=SIGNATURE))
    assert KEY not in shown and "sig=" not in shown
