"""The package as a whole: what it exports, what it imports, how its files are kept."""

import ast
import importlib
import os
import pkgutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fedclust

SOURCE = Path(fedclust.__file__).parent
ROOT = Path(__file__).parents[1]
ENGINES = {"nvflare": "nvflare", "flower": "flwr"}


def test_exported_names_exist_and_nothing_else_is_promised() -> None:
    assert sorted(fedclust.__all__) == list(fedclust.__all__)
    for name in fedclust.__all__:
        assert getattr(fedclust, name) is not None
    assert set(dir(fedclust)) == {*fedclust.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fedclust.nothing  # noqa: B018


@pytest.mark.parametrize(
    "name",
    [
        "core",
        "kernels",
        "algorithms",
        "metrics",
        "privacy",
        "channels",
        "data",
        "estimators",
        "plot",
    ],
)
def test_every_package_lists_its_names(name: str) -> None:
    module = importlib.import_module(f"fedclust.{name}")
    for public in module.__all__:
        assert hasattr(module, public)


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("fedclust", []),
        ("fedclust.core.errors", []),
        ("fedclust.cli", ["typer", "rich"]),
        ("fedclust.algorithms", ["numpy"]),
    ],
)
def test_importing_imports_nothing_heavy(module: str, allowed: list[str]) -> None:
    libraries = ["numpy", "sklearn", "scipy", "numba", "matplotlib", "pandas", "typer", "rich"]
    libraries += ["pooch", "pyarrow", "cupy", "torch"]
    heavy = [name for name in libraries if name not in allowed]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_fit_of_a_small_table_does_not_look_for_a_gpu(tmp_path: Path) -> None:
    """Not even where CuPy is installed: importing it and asking the driver takes seconds."""
    (tmp_path / "cupy.py").write_text("raise SystemExit('imported')")
    code = (
        "import numpy as np; from fedclust import FederatedKMeans; "
        "rows = {'a': np.arange(40.0).reshape(20, 2)}; "
        "print(len(FederatedKMeans(2, random_state=0).fit(rows).labels_))"
    )
    where = {**os.environ, "PYTHONPATH": str(tmp_path), "FEDCLUST_DEVICE": "auto"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=where, check=True, capture_output=True, text=True
    )
    assert out.stdout.strip() == "20", "the fit ended, so that cupy was not imported"


def test_every_module_imports() -> None:
    """But for those of an engine that is not installed."""
    missing = {part for part, engine in ENGINES.items() if find_spec(engine) is None}
    for module in pkgutil.walk_packages(fedclust.__path__, "fedclust.", lambda name: None):
        if not missing & set(module.name.split(".")):
            assert importlib.import_module(module.name).__doc__, module.name


@pytest.mark.parametrize(
    "path",
    sorted([*SOURCE.rglob("*.py"), *(ROOT / "papers").rglob("*.py")]),
    ids=lambda p: str(p.relative_to(p.parents[2])),
)
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            first = body[0].lineno if body else node.lineno
            assert (node.end_lineno or first) - first < 40, node.name


def test_no_pickle_and_no_global_random_numbers() -> None:
    """Nothing that could run code travels, and nothing random depends on hidden state."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
                assert node.attr in {"default_rng", "Generator", "PCG64", "RandomState"}, (
                    path,
                    node.attr,
                )
