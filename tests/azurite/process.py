"""Starting and ending the service: a port, the wait for its first answer, its end."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from contextlib import closing

START_SECONDS = 60.0  # it takes about two where nothing else runs


def free_port() -> int:
    """A port that was free a moment ago: told to choose one itself, the service does not tell which it has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_answers(process: subprocess.Popen[bytes], port: int, seconds: float = START_SECONDS) -> str:
    """Why the service cannot be used, or an empty text as soon as it has answered a request."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return f"ended with exit code {process.returncode}"
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", "/")
                connection.getresponse().read()  # an error, without credentials; any answer will do
                return ""
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
    return f"no answer within {seconds:g} s"


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the service, the hard way if it does not listen."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
