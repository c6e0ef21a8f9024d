"""What ``init`` writes runs: the steps of the jobs in a fresh repository, and for the long form hook and wheel too."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pkadvisor import __version__
from pkadvisor.errors import UsageError
from pkadvisor.usecases import pipelines
from pkadvisor.usecases.pipelines import COMMENT, Ci, Install, hook_text, install_from, own_source, pipeline
from tests.cli.support import Ask

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "review" / "action.yml"
ADDRESS = "git+https://example.org/tools/pkadvisor@v1"
SCANNING = "      - {name: of-model, filter: \"model eq 'x'\", rate: 9/s}\n"
GH = """\
import json, pathlib, sys
comments = pathlib.Path(sys.argv[1])
words, held = sys.argv[2:], json.loads(comments.read_text()) if comments.exists() else []
path = next(w for w in words if w.startswith("repos/"))
if "--jq" in words:
    assert path == "repos/acme/shop/issues/7/comments" and '"<!-- pkadvisor:review -->"' in " ".join(words)
    held = [c for c in held if c["type"] == "Bot" and c["body"].startswith("<!-- pkadvisor:review -->")]
    print("".join(f"{c['id']}\\n" for c in held), end="")
else:
    field = words[words.index("--field") + 1]
    body = pathlib.Path(field.removeprefix("body=@")).read_text()
    if words[words.index("--method") + 1] == "PATCH":
        next(c for c in held if path == f"repos/acme/shop/issues/comments/{c['id']}")["body"] = body
    else:
        assert path == "repos/acme/shop/issues/7/comments"
        held.append({"id": len(held) + 1, "type": "Bot", "body": body})
    comments.write_text(json.dumps(held))
"""


def yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


class Job:
    """Steps of a job, run as GitHub runs them, in the clone of a repository whose origin has the branch main."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clone, self.bin = folder, folder / "clone", folder / "bin"
        self.comments = folder / "comments.json"
        self.bin.mkdir(parents=True)
        self._program("gh", f'exec "{sys.executable}" "{folder}/gh.py" "{self.comments}" "$@"')
        self._program("pipx", f'printf "%s\\n" "$@" >>"{folder}/pipx.txt"')
        self._program("advisor", f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m pkadvisor "$@"')
        (folder / "gh.py").write_text(GH, encoding="utf-8")
        for name in ("output", "summary"):
            (folder / name).touch()

    def _program(self, name: str, line: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def repository(self, *init: str, ask: Ask) -> None:
        """A repository with what ``init`` writes on main, and a branch whose design has a query that scans."""
        origin = self.folder / "origin"
        assert ask("init", str(origin), *init)[0] == 0
        self.git(origin, "init", "-q", "-b", "main")
        self.git(origin, "add", "-A")
        self.git(origin, "commit", "-q", "-m", "begun")
        self.git(self.folder, "clone", "-q", str(origin), str(self.clone))
        with (self.clone / "schema" / "devices.yaml").open("r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace("    queries:\n", f"    queries:\n{SCANNING}"))

    def git(self, folder: Path, *words: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, env=_environment())

    def run(self, step: Mapping[str, Any], context: Mapping[str, str]) -> tuple[int, str]:
        """Exit code and output of a step; ``context`` has what its expressions are."""
        own = {name: _filled(str(value), context) for name, value in step.get("env", {}).items()}
        given = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "GITHUB_REPOSITORY": "acme/shop",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_ACTION_PATH": str(ACTION.parent),
            "RUNNER_TEMP": str(self.folder),
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"] if "shell" in step else ["bash", "-e", "-c"]
        done = subprocess.run(
            [*shell, _filled(step["run"], context)],
            cwd=self.clone,
            env={**_environment(), **given, **own},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def held(self) -> list[str]:
        """The comments of the pull request."""
        return [c["body"] for c in json.loads(self.comments.read_text(encoding="utf-8"))]


def _environment() -> dict[str, str]:
    kept = ("HOME", "PATH", "LANG", "TMPDIR")
    return {**{n: os.environ[n] for n in kept if n in os.environ}, "GIT_CONFIG_GLOBAL": os.devnull}


def _filled(text: str, context: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: context[found[1]], text)


CONTEXT = {"github.base_ref": "main", "github.token": "t", "github.event.pull_request.number": "7"}


def named(steps: list[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(step for step in steps if str(step.get("name", "")).startswith(name))


@pytest.mark.heavy("runs the steps of a job, each a process")
def test_the_steps_of_the_job_run_and_their_comment_is_replaced(ask: Ask, tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.repository("--ci", "github", "--install", ADDRESS, ask=ask)
    steps = yaml((job.clone / ".github/workflows/schema.yml").read_text(encoding="utf-8"))["jobs"]["review"]["steps"]
    assert job.run(named(steps, "Install"), CONTEXT)[0] == 0
    assert (tmp_path / "pipx.txt").read_text() == f"install\npkadvisor @ {ADDRESS}\n"
    code, output = job.run(named(steps, "Partition-key review"), CONTEXT)
    assert (code, "::error" in output, "PK201" in output) == (1, True, True)
    assert "PK201" in (job.clone / "pk.sarif").read_text(encoding="utf-8")
    assert job.run(named(steps, "Summary"), CONTEXT) == (0, "")
    page = (job.clone / "pk.md").read_text(encoding="utf-8")
    assert (tmp_path / "summary").read_text(encoding="utf-8") == page
    job.comments.write_text(json.dumps([{"id": 9, "type": "User", "body": page}]), encoding="utf-8")
    for body in (page, page.replace("of-model", "of-maker")):
        (job.clone / "pk.md").write_text(body, encoding="utf-8")
        assert job.run(named(steps, "Comment"), CONTEXT) == (0, "")
        assert job.held() == [page, body], "one comment of ours, and that of a person stays as it is"


@pytest.mark.long("install")
@pytest.mark.heavy("runs the steps of the action, each a process")
def test_the_steps_of_the_action_run_with_its_inputs(ask: Ask, tmp_path: Path) -> None:
    job, action = Job(tmp_path), yaml(ACTION.read_text(encoding="utf-8"))
    job.repository(ask=ask)
    steps = action["runs"]["steps"]
    inputs = {f"inputs.{name}": str(given["default"]) for name, given in action["inputs"].items()}
    asked = {**CONTEXT, **inputs, "inputs.fail-on": "never", "inputs.designs": "schema/*.yaml\n"}
    assert job.run(named(steps, "Install"), asked)[0] == 0
    installed = (tmp_path / "pipx.txt").read_text().splitlines()[1]
    assert Path(installed).resolve() == ROOT, "the commit that the action is used at"
    code, output = job.run(named(steps, "Partition-key review"), asked)
    assert (code, "PK201" in output) == (0, True), "nothing fails the gate"
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert set(outputs) == {"markdown", "sarif"}
    told = {**asked, **{f"steps.review.outputs.{name}": path for name, path in outputs.items()}}
    assert job.run(named(steps, "Summary"), told) == (0, "")
    assert job.run(named(steps, "Comment"), told) == (0, "")
    assert job.held() == [Path(outputs["markdown"]).read_text(encoding="utf-8")]
    assert "PK201" in job.held()[0]
    (tmp_path / "output").write_text("")
    (job.clone / "schema" / "devices.yaml").write_text("schema: 1\ntables: 3\n", encoding="utf-8")
    assert job.run(named(steps, "Partition-key review"), {**told, "github.base_ref": ""})[0] == 2


def test_action_and_pipeline_comment_alike_and_run_nothing_that_a_pull_request_names() -> None:
    steps = yaml(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]
    assert named(steps, "Comment")["run"] == COMMENT
    job = yaml(pipeline(Ci.github, Install("pkadvisor"))[1])["jobs"]["review"]["steps"]
    assert named(job, "Comment")["run"] == COMMENT
    assert not [step for step in (*steps, *job) if "${{" in step.get("run", "")]


def test_what_can_be_installed_from(tmp_path: Path) -> None:
    wheel = tmp_path / "tools" / "pkadvisor-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    taken = {
        ADDRESS: f"pkadvisor @ {ADDRESS}",
        f"pkadvisor @ {ADDRESS}": f"pkadvisor @ {ADDRESS}",
        "https://example.org/pkadvisor-1.0-py3-none-any.whl": (
            "pkadvisor @ https://example.org/pkadvisor-1.0-py3-none-any.whl"
        ),
        "git+ssh://git@example.org/tools/pkadvisor": "pkadvisor @ git+ssh://git@example.org/tools/pkadvisor",
        "pkadvisor==1.2": "pkadvisor==1.2",
        "pkadvisor[fast]>=1,<2": "pkadvisor[fast]>=1,<2",
        "tools/pkadvisor-1.0-py3-none-any.whl": "./tools/pkadvisor-1.0-py3-none-any.whl",
        str(wheel): "./tools/pkadvisor-1.0-py3-none-any.whl",
    }
    assert {text: install_from(text, tmp_path).requirement for text in taken} == taken


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pkadvisor; rm -rf ~", "not a source to install"),
        ("https://example.org/a b", "not a source to install"),
        ("https://example.org/$(id)", "not a source to install"),
        ("https://example.org/'\n- x", "not a source to install"),
        ("requests==2", "not a source to install"),
        ("", "not a source to install"),
        ("https://me:secret@example.org/pkadvisor.git", "a password"),
        ("none.whl", "no such wheel"),
        ("../pkadvisor-1.0-py3-none-any.whl", "outside the repository"),
        ("odd'name.whl", "characters that a shell reads"),
    ],
)
def test_what_nobody_could_install_from_is_refused(text: str, says: str, ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "pkadvisor-1.0-py3-none-any.whl").touch()
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "odd'name.whl").touch()
    with pytest.raises(UsageError, match=says) as caught:
        install_from(text, tmp_path / "shop")
    assert 1 <= len(caught.value.lines()) <= 4 and caught.value.where.startswith("--install")
    code, _, errors = ask("init", str(tmp_path / "shop"), "--ci", "github", "--install", text)
    assert (code, "--install" in errors) == (2, True)
    assert sorted(p.name for p in (tmp_path / "shop").iterdir()) == ["odd'name.whl"], "nothing is written"


@pytest.mark.parametrize(
    ("told", "requirement"),
    [
        (None, f"pkadvisor=={__version__}"),
        (
            {"url": "https://example.org/p.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "pkadvisor @ git+https://example.org/p.git@c0ffee",
        ),
        ({"url": "https://example.org/p-1.0-py3-none-any.whl", "archive_info": {}}, None),
        ({"url": "file:///home/me/p-1.0-py3-none-any.whl", "archive_info": {}}, ""),
        ({"url": "file:///home/me/p", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, ""),
        ({"url": "file:///home/me/p", "dir_info": {"editable": True}}, ""),
        ({"url": "https://me:secret@example.org/p.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}, ""),
    ],
)
def test_without_install_it_is_where_this_one_came_from(
    told: dict[str, Any] | None, requirement: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return None if told is None else json.dumps(told)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    if requirement == "":
        with pytest.raises(UsageError, match="a folder or a file"):
            own_source()
        return
    assert own_source().requirement == (f"pkadvisor @ {told['url']}" if requirement is None and told else requirement)


def test_a_hook_of_a_wheel_is_run_by_pipx_in_the_repository() -> None:
    (hook,) = yaml(hook_text(Install("./tools/p.whl", is_wheel=True)))[0]["hooks"]
    assert (hook["language"], "additional_dependencies" in hook) == ("system", False)
    assert hook["entry"] == "pipx run --spec ./tools/p.whl advisor review --format concise"
    (hook,) = yaml(hook_text(Install(f"pkadvisor @ {ADDRESS}")))[0]["hooks"]
    assert (hook["language"], hook["additional_dependencies"]) == ("python", [f"pkadvisor @ {ADDRESS}"])


@pytest.mark.long("install")
@pytest.mark.parametrize("of_wheel", [False, True], ids=["repository", "wheel"])
def test_the_hook_runs_on_the_day_it_is_written(of_wheel: bool, ask: Ask, tmp_path: Path) -> None:
    """The hook, installed by pre-commit from a commit of this repository, or by pipx from a wheel of it."""
    programs = Path(sys.executable).parent
    shop = tmp_path / "shop"
    shop.mkdir()
    if of_wheel:
        build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(shop / "tools"), str(ROOT)]
        subprocess.run(build, check=True)
        source = f"tools/{next((shop / 'tools').iterdir()).name}"
    else:
        source = f"git+file://{ROOT}"
    assert ask("init", str(shop), "--pre-commit", "--install", source)[0] == 0
    environment = {
        **_environment(),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }

    def hook() -> subprocess.CompletedProcess[str]:
        words = ["pre-commit", "run", "--all-files"]
        return subprocess.run(words, cwd=shop, env=environment, capture_output=True, text=True)

    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], cwd=shop, env=environment, check=True)
    subprocess.run([*git, "add", "-A"], cwd=shop, env=environment, check=True)
    first = hook()
    assert first.returncode == 0, first.stdout + first.stderr
    design = shop / "schema" / "devices.yaml"
    design.write_text(design.read_text().replace("    queries:\n", f"    queries:\n{SCANNING}"), encoding="utf-8")
    second = hook()
    assert (second.returncode, "PK201" in second.stdout) == (1, True), second.stdout + second.stderr


@pytest.mark.long("install")
def test_linters_of_workflows_find_nothing(ask: Ask, tmp_path: Path) -> None:
    assert ask("init", str(tmp_path), "--ci", "github", "--install", ADDRESS)[0] == 0
    programs = Path(sys.executable).parent
    written = str(tmp_path / ".github/workflows/schema.yml")
    for words in (
        ["zizmor", "--offline", "--config", str(ROOT / ".github/zizmor.yml"), str(ACTION), written],
        ["check-jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION)],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", written],
    ):
        program = shutil.which(words[0], path=f"{programs}:{os.environ['PATH']}")
        assert program is not None, f"{words[0]} is in the extra 'install' of this package"
        done = subprocess.run([program, *words[1:]], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_example_of_a_source_can_be_one(tmp_path: Path) -> None:
    examples = re.findall(r"--install (\S+?)[),]", pipelines.EXAMPLES)
    assert len(examples) == 3
    for example in examples:
        if example.endswith(".whl"):
            (tmp_path / example).parent.mkdir(exist_ok=True)
            (tmp_path / example).touch()
        assert __version__ in install_from(example, tmp_path).requirement
