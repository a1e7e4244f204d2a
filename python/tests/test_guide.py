"""Every block of the guide runs, one after the other, as a reader would type them."""

import os
import re
import warnings

import pytest

import kardan


def blocks(gallery):
    pages = ("docs/guide/python.md", "docs/guide/studies.md")
    return [b for page in pages for b in re.findall(r"```python\n(.*?)```", (gallery.parent / page).read_text(), re.S)]


def test_guide(gallery, tmp_path, monkeypatch, capsys):
    os.symlink(gallery, tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    names = {}
    found = blocks(gallery)
    assert len(found) > 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kardan.KardanWarning)
        for i, block in enumerate(found):
            try:
                exec(compile(block, f"python.md, block {i + 1}", "exec"), names)
            except kardan.Unavailable:
                continue  # an optional part that was not built
            except Exception as failure:
                pytest.fail(f"block {i + 1}:\n{block}\n{type(failure).__name__}: {failure}")
    assert (tmp_path / "run.html").exists() and "did you mean 'radau'" in capsys.readouterr().out


def test_public_names_are_documented():
    """Everything that the package offers says what it is."""
    for name in kardan.__all__:
        thing = getattr(kardan, name)
        assert thing.__doc__ and len(thing.__doc__) > 15, name
        for word, member in vars(thing).items() if isinstance(thing, type) and thing.__module__.startswith("kardan") else ():
            if not word.startswith("_") and callable(member) and name in ("Model", "Result", "Simulation", "Equations"):
                assert member.__doc__, f"{name}.{word}"
