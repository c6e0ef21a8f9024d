"""``advisor init``: the files that a repository needs to be reviewed from now on, as texts."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from pkadvisor import __version__

SETTINGS_FILE = "pkadvisor.toml"
PRE_COMMIT_FILE = ".pre-commit-config.yaml"
EXAMPLE = "schema/devices.yaml"
SAMPLE_ROWS = 10_000


class Ci(StrEnum):
    github = "github"
    azure = "azure"
    none = "none"


SETTINGS = """\
# Settings of pkadvisor for this repository; 'advisor config show' tells which hold.
schema = 1
designs = ["schema/*.yaml"]
fail_on = "error"                       # error, warning, info or never
# profile = "schema/profile.json"       # advisor profile DATA --log LOG --design FILE --out schema/profile.json
# baseline = ".pkadvisor-baseline.json" # findings of today that may stay
# rules = ["schema/rules"]              # folders with rules of your own

# [limits]                              # measured on your account, over the published ones
# partition_entities_per_s = 2000

# [budget]                              # bounds as hard as those of the store
# cost_month = 500

# [review]
# ignore = ["PK207"]
# severity = {PK203 = "warning"}

# [[review.suppress]]
# rule = "PK101"
# path = "schema/archive.yaml"
# target = "tables.Archive.partition_key"
# reason = "why this may pass"
# until = 2027-03-31
"""

DESIGN = """\
# An example to be replaced: the keys of a table, and what is asked of it.
schema: 1
tables:
  Devices:
    partition_key: "{tenantId}"
    row_key: "{deviceId}"
    properties:
      tenantId: guid
      deviceId: guid
      model: string
    entities_total: 200_000
    queries:
      - name: one-device
        filter: "tenantId eq {tenantId} and deviceId eq {deviceId}"
        rate: 40/s
    writes:
      - name: device-seen
        operation: upsert
        rate: 10/s
"""

PRE_COMMIT_HOOK = f"""\
  - repo: local
    hooks:
      - id: pkadvisor-review
        name: partition-key review
        entry: advisor review --format concise
        language: python
        additional_dependencies: ["pkadvisor=={__version__}"]
        files: ^(schema/|pkadvisor\\.toml$)
        pass_filenames: false
"""
PRE_COMMIT = f"repos:\n{PRE_COMMIT_HOOK}"

GITHUB = f"""\
name: schema
on:
  pull_request:
    paths: ["schema/**", "pkadvisor.toml", ".github/workflows/schema.yml"]
permissions:
  contents: read
  security-events: write
jobs:
  review:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0 # the designs of the target branch are compared with
      - run: pipx install pkadvisor=={__version__}
      - name: Partition-key review
        env:
          BASE: ${{{{ github.base_ref }}}}
        run: >
          advisor review --against-ref "origin/$BASE" --format github
          --out sarif=pk.sarif --out markdown=pk.md
      - name: Summary
        if: always() && hashFiles('pk.md') != ''
        run: cat pk.md >> "$GITHUB_STEP_SUMMARY"
      - uses: github/codeql-action/upload-sarif@v3
        if: always() && hashFiles('pk.sarif') != ''
        with:
          sarif_file: pk.sarif
          category: pkadvisor
"""

AZURE = f"""\
trigger: none
pr:
  paths:
    include: [schema/*, pkadvisor.toml]
pool:
  vmImage: ubuntu-latest
steps:
  - checkout: self
    fetchDepth: 0 # the designs of the target branch are compared with
  - script: pipx install pkadvisor=={__version__}
    displayName: Install pkadvisor
  - bash: |
      against=()
      case "$SYSTEM_PULLREQUEST_TARGETBRANCH" in
        "") ;;
        *) against=(--against-ref "origin/${{SYSTEM_PULLREQUEST_TARGETBRANCH#refs/heads/}}") ;;
      esac
      advisor review "${{against[@]}}" --format azure \\
        --out sarif="$BUILD_ARTIFACTSTAGINGDIRECTORY/pk.sarif" --out junit=pk.xml --out markdown=pk.md
    displayName: Partition-key review
  - task: PublishTestResults@2
    condition: succeededOrFailed()
    inputs:
      testResultsFormat: JUnit
      testResultsFiles: pk.xml
  - task: PublishBuildArtifacts@1
    condition: succeededOrFailed()
    inputs:
      PathtoPublish: $(Build.ArtifactStagingDirectory)
      ArtifactName: CodeAnalysisLogs # where the SARIF viewer looks
"""

CI_FILES = {"github": (".github/workflows/schema.yml", GITHUB), "azure": ("azure-pipelines.yml", AZURE)}


def planned(root: Path, source: str | None, ci: Ci, *, pre_commit: bool) -> dict[str, str]:
    """The files, by their paths below the root, with their texts."""
    others = [path for pattern in ("*.yaml", "*.yml") for path in (root / "schema").glob(pattern)]
    files = {SETTINGS_FILE: SETTINGS}
    if source is not None:
        name, text = _from_data(source)
        files[f"schema/{name}.yaml"] = text
    elif not others or others == [root / EXAMPLE]:  # an example beside real designs would only be in the way
        files[EXAMPLE] = DESIGN
    if ci is not Ci.none:
        name, text = CI_FILES[ci]
        files[name] = text
    if pre_commit:
        files[PRE_COMMIT_FILE] = PRE_COMMIT
    return files


def _from_data(source: str) -> tuple[str, str]:
    """(name, design) for a data file."""
    from pkadvisor.inputs import profiled_data
    from pkadvisor.observe.data.dataset import split_kind
    from pkadvisor.observe.design_file.declaration import skeleton

    profiled, _ = profiled_data((source,), None, sample_rows=SAMPLE_ROWS)[0]
    stem = Path(split_kind(source)[1]).name.split(".")[0]
    columns = [(p.column.name, p.column.edm) for p in profiled.properties]
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "table"
    words = re.findall(r"[A-Za-z0-9]+", stem)
    table = "".join(word[:1].upper() + word[1:] for word in words) or "Table"
    return name, started(skeleton(columns, table))


def started(skeleton: str) -> str:
    """A skeleton of a design with rates to begin with, so that it can be reviewed as it is."""
    head = "# What no log tells yet: fill in the rates"
    assert skeleton.startswith(head) and skeleton.count("        rate:  ") == 2
    rated = skeleton.replace(head, "# Rates are guesses: put in your own", 1)
    rated = rated.replace("        rate:       ", "        rate: 10/s  # a guess,", 1)
    rated = rated.replace("        rate:       ", "        rate: 1/s   # a guess,", 1)
    return "\n".join(_tidy(line) for line in rated.split("\n"))


def _tidy(line: str) -> str:
    head, mark, rest = line.partition("# a guess,")
    return f"{head}{mark} {rest.lstrip().removeprefix('# ')}" if mark else line
