"""The documentation names settings, files, commands and licenses: each must exist, and none may be missing."""

import json
import re
import tomllib
from enum import Enum
from pathlib import Path

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings
from typer.main import get_command

from app.cli.program import app as command_line
from app.core.config import Settings
from app.embedded.options import EmbeddedOptions

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]
FOLDERS = {"app", "tests", "migrations", "docs", "deploy", "web", "adversarial", "evals", "requirements"}
DATABASE_VARIABLES = {"app.workspace_id", "app.user_id"}
CODE = re.compile(r"`([^`\n]+)`")


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def code_of(name: str) -> list[str]:
    """Return what stands in backticks or in a shell block, line by line."""
    text = text_of(name)
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [*CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)), *filter(None, lines)]


def default_of(info: FieldInfo) -> str:
    default = info.default
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    if isinstance(default, Enum):
        default = default.value
    if default is PydanticUndefined:
        return "*required*" if info.is_required() else "*by platform*"
    if isinstance(default, tuple):
        default = ",".join(default)
    shown = str(default).lower() if isinstance(default, bool) else str("" if default is None else default)
    return f"`{shown}`" if shown else "*empty*"


def configuration_table(settings: type[BaseSettings]) -> str:
    rows = [
        f"| `{name.upper()}` | {default_of(info)} | {info.description} |"
        for name, info in settings.model_fields.items()
    ]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])


@pytest.mark.parametrize(("section", "settings"), [("service", Settings), ("embedded", EmbeddedOptions)])
def test_configuration_table_is_that_of_the_code(section: str, settings: type[BaseSettings]) -> None:
    found = re.search(rf"<!-- configuration: {section} -->\n(.*?)<!-- end -->", text_of("README.md"), flags=re.DOTALL)
    assert found
    expected = configuration_table(settings)
    assert found[1].strip() == expected, f"put this into README.md:\n{expected}"


@pytest.mark.parametrize("name", NAMES)
def test_files_and_tests_that_are_named_exist(name: str) -> None:
    for code in code_of(name):
        path, _, test = code.partition("::")
        if "/" not in path or path.split("/")[0] not in FOLDERS or " " in path:
            continue
        assert (ROOT / path).exists(), code
        assert not test or f"def {test}(" in text_of(path), code


@pytest.mark.parametrize("name", NAMES)
def test_modules_and_names_that_are_named_exist(name: str) -> None:
    for code in code_of(name):
        if not re.fullmatch(r"app(\.\w+)+", code) or code in DATABASE_VARIABLES:
            continue
        parts = code.split(".")
        folder = ROOT.joinpath(*parts)
        assert folder.is_dir() or folder.with_suffix(".py").exists() or named_in(parts), code


def named_in(parts: list[str]) -> bool:
    module = ROOT.joinpath(*parts[:-1]).with_suffix(".py")
    return module.exists() and bool(re.search(rf"\b{parts[-1]}\b", module.read_text("utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_commands_that_are_named_exist(name: str) -> None:
    known = getattr(get_command(command_line), "commands", {})
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), flags=re.MULTILINE))
    for code in code_of(name):
        if command := re.match(r"(?:.*/)?groundeddocs ([a-z-]+)(?: ([a-z-]+))?", code):
            assert command[1] in known, code
            below = getattr(known[command[1]], "commands", {})
            assert not below or command[2] is None or command[2] in below, code
        if target := re.match(r"(?:\S+=\S+ )*make ([a-z]+)", code):
            assert target[1] in targets, code


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text_of(name)):
        if "://" not in target:
            assert ((ROOT / name).parent / target).exists(), target


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs/decisions"
    records = {path.name for path in folder.glob("0*.md")}
    assert records == set(re.findall(r"\((0\d{3}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text("utf-8")))
    for record in records:
        text = (folder / record).read_text("utf-8")
        for part in ("Context", "Decision", "Consequences", "Alternatives", "Measurement", "Check"):
            assert f"**{part}.**" in text, f"{record}: {part}"


def test_every_direct_dependency_has_its_license() -> None:
    project = tomllib.loads(text_of("pyproject.toml"))
    named = [
        *project["project"]["dependencies"],
        *(entry for extra in project["project"]["optional-dependencies"].values() for entry in extra),
        *(entry for group in project["dependency-groups"].values() for entry in group),
    ]
    expected = {re.split(r"[\[<>=~! ]", entry)[0] for entry in named}
    package = json.loads(text_of("web/dev-idp/package.json"))
    expected |= {*package["dependencies"], *package["devDependencies"]}
    listed = re.findall(r"^\| (\S+) \|", text_of("docs/licenses.md"), flags=re.MULTILINE)
    assert set(listed) - {"package"} == expected
    assert len(listed) - listed.count("package") == len(expected)
