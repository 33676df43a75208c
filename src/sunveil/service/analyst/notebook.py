"""A notebook that loads a release by the Python client and looks at its tables."""

from __future__ import annotations

import json
from typing import Any

from sunveil.service.store.releases import ReleaseRow

# By table: the column along the axis, the one that is drawn, and the one with its noise.
DRAWN = {
    "sectors": ("sector", "systems", "sd"),
    "tilts": ("tilt_band", "systems", "sd"),
    "capacities": ("capacity_class", "systems", "sd"),
    "mounts": ("mount", "systems", "sd"),
}


def notebook(row: ReleaseRow, body: dict[str, Any], *, base: str) -> bytes:
    """Return a notebook (nbformat 4.5) as JSON; the same release gives the same bytes.

    Parameters
    ----------
    row, body
        The release.
    base
        Where the service is, as a browser sees it.
    """
    cells = [
        _markdown(
            f"# {row.title}\n\n"
            f"Release `{row.id}` of the dataset `{row.dataset}`, drawn {row.made[:10]}.\n\n"
            f"{body['guarantee']['statement']}.\n\n"
            "Needs `pip install sunveil matplotlib`. The token is read from the environment"
            " variable `SUNVEIL_TOKEN`, or asked for. Reading a release costs nothing."
        ),
        _code(
            "import os\n"
            "from getpass import getpass\n"
            "\n"
            "from sunveil.client import Client\n"
            "\n"
            'token = os.environ.get("SUNVEIL_TOKEN") or getpass("Token: ")\n'
            f"client = Client({base!r}, token)\n"
            f"release = client.release({row.id!r})\n"
            "release"
        ),
    ]
    for table in body["tables"]:
        cells += _table_cells(table)
    cells.append(_markdown(_again(row, body)))
    made = {
        "cells": [{**cell, "id": f"cell-{place}"} for place, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return (json.dumps(made, indent=1, ensure_ascii=False) + "\n").encode()


def _table_cells(table: dict[str, Any]) -> list[dict[str, Any]]:
    name = table["name"]
    variable = name.replace("-", "_")
    cells = [
        _markdown(f"## {name}\n\n{table['about']}"),
        _code(f"{variable} = release.table({name!r})\n{variable}"),
    ]
    names = [each[0] for each in table["columns"]]
    if name in DRAWN and names[0] == DRAWN[name][0]:
        label, value, noise = DRAWN[name]
        cells.append(
            _code(
                f"# whiskers are two standard deviations of the noise\n"
                f'{variable}.plot.bar(x="{label}", y="{value}", yerr=2.0 * {variable}["{noise}"])'
            )
        )
    return cells


def _again(row: ReleaseRow, body: dict[str, Any]) -> str:
    """Return how the same is asked by a program, with the kept answer coming back."""
    asked = {key: value for key, value in body["asked"].items() if value is not None}
    options = ", ".join(f"{name}={value!r}" for name, value in asked.items())
    return (
        "## Asking the same\n\nThe same question gives this release again, at no cost:\n\n"
        f"```python\nclient.ask({row.dataset!r}, {options})\n```"
    )


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": _lines(text),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
