"""What is installed."""

import importlib.metadata
import os
import pathlib
import zipfile

import pytest

import tardy
import tardy.asyncio


def test_the_metadata():
    metadata = importlib.metadata.metadata("tardy-rt")
    assert metadata["Name"] == "tardy-rt"
    assert metadata["License-Expression"] == "MIT OR Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.9"
    assert metadata["Summary"]
    cargo = pathlib.Path(__file__).parents[3] / "Cargo.toml"
    assert f'\nversion = "{metadata["Version"]}"\n' in cargo.read_text()
    assert metadata.get_payload().startswith("# tardy-rt")
    assert metadata.get_all("Requires-Dist") is None


def test_the_wheel_is_for_all_pythons_and_typed():
    wheels = os.environ.get("TARDY_WHEELS")
    if not wheels:
        pytest.skip("skipped: no wheel, only what is installed (scripts/test-python.sh has one)")
    (wheel,) = pathlib.Path(wheels).glob("*.whl")
    assert "-cp39-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("__init__.py", "asyncio.py", "py.typed", "_tardy.pyi", "_tardy.abi3.so"):
        assert f"tardy/{name}" in names


def test_all_that_is_public_is_there_and_documented():
    assert sorted(tardy.__all__) == tardy.__all__
    for module in (tardy, tardy.asyncio):
        for name in module.__all__:
            public = getattr(module, name)
            assert not callable(public) or public.__doc__, name
