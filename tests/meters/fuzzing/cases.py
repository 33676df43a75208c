"""From a seed to a case: a sample, what is done to it, and how it is asked for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from formats.catalogue import WRITERS, sample
from formats.sample import FormatSample

from sunveil.meters import MeterOptions

from .draft import Draft, inside
from .mutations import BYTES, TEXT, TREE

DAYS = 3
# Shares of the cases: through the command line, and with options that nobody would give.
COMMAND_SHARE, WILD_SHARE = 0.15, 0.25
RELEASE_SHARE, SCHEMA_SHARE = 0.08, 0.4
# What only a schema file says.
UNFLAGGED = ("cleaning", "interval_minutes", "first", "last")
HOSTILE_YAML = (
    *("- 1", "a: &x [*x]", "power_unit: {a: b}", "timezone: !!python/name:os.system", "? a", "\t"),
    *("%TAG", "power_unit: kW\npower_unit: W", "---\npower_unit: W", "power_unit: |\n  kW"),
    *("power_unit: >", "decimal: ','", "x: y", '"'),
)
KNOWN = {field.name for field in fields(MeterOptions)}
WILD: dict[str, tuple[Any, ...]] = {
    "time_column": ("time", "nothing", "", "1", "0", "a\tb"),
    "date_column": ("Date", "date", "nothing", "1"),
    "power_column": ("power_kw", "Power (W)", "nothing", "", "2", "99"),
    "system_column": ("system_id", "dataid", "nothing", "1"),
    "time_format": ("%d/%m/%Y %H:%M", "%Q", "", "%", "%Y", "%s", "%H:%M", "%Y-%m-%d %H:%M:%S%z"),
    "power_unit": ("W", "kW", "Wh", "kWh", "MW", "MWh", "furlong", ""),
    "timezone": (
        *("UTC", "Europe/Berlin", "UTC-07:00", "Mars/Base", "", "../etc/passwd", "UTC+99:00"),
    ),
    "label": ("start", "middle", "end", "noon"),
    "duplicates": ("mean", "first", "last", "all"),
    "unit_switch": ("repair", "ignore", "no"),
    "negate": (True, False),
    "net": (True, False),
    "export_column": ("Export (kWh)", "nothing", "2", ""),
    "import_column": ("Import (kWh)", "nothing", "3"),
    "cleaning": ("record", "each", "none"),
    "skip_rows": (0, 1, 5, -1, 10**9),
    "decimal": (".", ",", "auto", "x", ""),
    "separator": (",", ";", "\t", "|", "", "ab", "\n"),
    "register": ("auto", "no", "cumulative", "daily", "weekly"),
    "interval_minutes": (1, 5, 15, 60, 0, -5, 7, 1e9, float("nan")),
    "first": ("2024-06-18", "2024-06-30", "yesterday", "", "0001-01-01"),
    "last": ("2024-06-20", "2024-01-01", "tomorrow", "9999-12-31"),
}


@dataclass(frozen=True)
class Case:
    """One file and one way to ask for it."""

    seed: int
    sample: FormatSample
    draft: Draft
    options: Mapping[str, Any]
    natural: bool  # whether these are the options that the file's own user would give
    command: tuple[str, ...] = ()  # a command line, without the file, instead of a call
    schema: bytes | None = None  # a schema file that goes with it


def make_case(seed: int) -> Case:
    """Return the case of a seed, always the same."""
    rng = random.Random(seed)
    name = rng.choice(tuple(WRITERS))
    made = sample(name, DAYS)
    draft = _spoilt(rng, made)
    options, natural = _options(rng, made)
    if rng.random() >= COMMAND_SHARE:
        return Case(seed, made, draft, options, natural)
    if rng.random() >= SCHEMA_SHARE:
        return Case(seed, made, draft, options, natural, _command(rng, options))
    text = _schema(rng, options, draft)
    return Case(seed, made, draft, options, natural, _command(rng, {}), text)


def _spoilt(rng: random.Random, made: FormatSample) -> Draft:
    draft = Draft(made.content, made.family)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        draft = _one_step(rng, draft, made)
    return draft


def _one_step(rng: random.Random, draft: Draft, made: FormatSample) -> Draft:
    if draft.content[:4] in (b"PAR1", b"ARRO"):
        return rng.choice(BYTES)(rng, draft)
    tree = made.file_name.endswith((".json", ".jsonl", ".xml"))
    if made.file_name.endswith((".xlsx", ".zip", ".gz", ".bz2", ".xz")) and rng.random() < 0.8:
        book = made.file_name.endswith(".xlsx")
        mutation = rng.choice(TREE if book else TEXT)
        notes: list[Draft] = []

        def change(data: bytes) -> bytes:
            notes.append(mutation(rng, Draft(data, made.family)))
            return notes[-1].content

        content = inside(draft.content, change, rng)
        if content is None or not notes or not notes[-1].steps:
            return draft
        (inner,) = notes[-1].planted or ("",)
        kept = notes[-1].scale_kept and not book
        step = f"inside: {notes[-1].steps[-1]}"
        return draft.done(step, content, scale_kept=kept, planted=inner)
    return rng.choice(TREE if tree else TEXT)(rng, draft)


def _options(rng: random.Random, made: FormatSample) -> tuple[dict[str, Any], bool]:
    """Return options, and whether they are those that the file's own user would give."""
    natural: dict[str, Any] = dict(made.options)
    if made.remedy is not None and rng.random() < 0.6:
        natural.update(made.remedy)
    if made.schema is not None and rng.random() < 0.35:
        natural = {**made.schema, "cleaning": "each"}
    natural = {name: value for name, value in natural.items() if name in KNOWN}
    if rng.random() >= WILD_SHARE:
        return natural, True
    wild = rng.sample(sorted(WILD.keys() & KNOWN), rng.randint(1, 4))
    return {**natural, **{name: rng.choice(WILD[name]) for name in wild}}, False


def _schema(rng: random.Random, options: Mapping[str, Any], draft: Draft) -> bytes:
    """Return a schema file that says the same, perhaps spoilt, perhaps the meter file itself."""
    if rng.random() < 0.1:
        return draft.content
    lines = [f'{name}: "{value}"' for name, value in options.items() if name != "cleaning"]
    if rng.random() < 0.3:
        lines.insert(rng.randint(0, len(lines)), rng.choice(HOSTILE_YAML))
    return ("\n".join(lines) + "\n").encode()


def _mostly(rng: random.Random, usual: str, *others: str) -> str:
    return usual if rng.random() < 0.95 else rng.choice(others)


def _command(rng: random.Random, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a command line that asks the same; its file is put behind it."""
    name = "infer"
    if rng.random() < RELEASE_SHARE:
        name = "release"
    elif rng.random() < 0.2:
        name = "schema"
    arguments = [name]
    if name != "schema" or rng.random() < 0.05:
        arguments += ["--latitude", _mostly(rng, "48.14", "91", "x", "")]
        arguments += ["--longitude", _mostly(rng, "11.58", "181", "nan", "")]
    if name == "release":
        arguments += ["--protect", rng.choice(("readings:1", "days:1", "system"))]
        arguments += ["--epsilon", _mostly(rng, "1", "0", "-1", "1e9")]
    for option, value in options.items():
        if option in UNFLAGGED or (name == "release" and option == "unit_switch"):
            continue
        flag = option.replace("_", "-")
        if value is True:
            arguments.append(f"--{flag}")
        elif value is not False:
            arguments += [f"--{flag}", str(value)]
    if rng.random() < 0.1:
        others = ("--json", "--force", "--allow-net", "--nothing", "--label", "-x", "--out")
        arguments.append(rng.choice(others))
    return tuple(arguments)
