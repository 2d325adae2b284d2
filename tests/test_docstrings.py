"""Every public name is documented for a user: its arguments, its result, and an example that runs as a doctest."""

import ast
import inspect
from pathlib import Path

import pytest

import gramlab

PUBLIC = [*((gramlab, name) for name in gramlab._HOME), *((gramlab.theory, name) for name in gramlab.theory.__all__)]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=lambda value: getattr(value, "__name__", value))
def test_a_public_name_documents_arguments_result_and_example(module, name):
    value = getattr(module, name)
    text = inspect.getdoc(value)
    assert "Examples\n--------\n>>> " in text
    if not inspect.isclass(value):
        assert "Returns\n-------\n" in text
    if value is not gramlab.Undefined and "Attributes\n" not in text:
        parameters = text.partition("Parameters\n----------\n")[2]
        missing = [name for name in inspect.signature(value).parameters if name not in parameters]
        assert not missing


def test_the_stub_has_the_types_of_every_public_name():
    stub = ast.parse(Path(gramlab.__file__).with_suffix(".pyi").read_text())
    homes = {alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert homes == gramlab._HOME | {"theory": "gramlab"}


def test_the_version_is_the_installed_one():
    assert gramlab.__version__[0].isdigit()
