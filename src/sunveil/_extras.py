"""Extras of the installation, and the error that names the one that is missing."""

from __future__ import annotations

from importlib.util import find_spec

from sunveil.errors import MissingExtra, ParameterError

# The packages of each extra in pyproject.toml, by the names that they are imported by.
EXTRAS = {
    "report": ("jinja2", "matplotlib"),
    "publish": ("matplotlib",),
    "synthetic": ("jax", "mbi"),
    "service": (
        "authlib",
        "cachetools",
        "fastapi",
        "jinja2",
        "joserfc",
        "markupsafe",
        "matplotlib",
        "plotly",
        "prometheus_client",
        "pydantic",
        "python_multipart",
        "starlette",
        "uvicorn",
        "zxcvbn",
    ),
    "dask": ("distributed",),
    "postgres": ("psycopg",),
}


def require_extras(*extras: str, purpose: str) -> None:
    """Refuse, in one sentence with the remedy, what needs extras that are not installed."""
    # Nothing is imported: packages are only looked for.
    unknown = sorted(set(extras) - set(EXTRAS))
    if unknown:
        raise ParameterError(f"there is no extra {unknown[0]}; use {', '.join(EXTRAS)}")
    lacking = {extra: _not_installed(extra) for extra in extras}
    packages = list(dict.fromkeys(name for names in lacking.values() for name in names))
    if packages:
        wanted = ",".join(extra for extra, names in lacking.items() if names)
        verb = "is" if len(packages) == 1 else "are"
        raise MissingExtra(
            f"{purpose} needs {_listed(packages)}, which {verb} not installed:"
            f" pip install 'sunveil[{wanted}]'"
        )


def _not_installed(extra: str) -> list[str]:
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def _listed(names: list[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
