from __future__ import annotations

import pytest
import yaml
from formats.catalogue import sample
from formats.sample import assert_right
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError, SourceError
from sunveil.meters import Duplicates, Label, MeterOptions, Unit, read_meters
from sunveil.meters.describe_file import describe_source
from sunveil.meters.reading_options import Register
from sunveil.meters.schema_files import (
    CHECK,
    LARGEST_SCHEMA,
    SCHEMA_FIELDS,
    completed,
    options_from,
    read_schema,
    schema_digest,
    schema_text,
)

# What a meter file may hold, which no message may quote.
PRIVATE = "Ada Lovelace", "3.1415", "2024-05-01"
WHOLE = """\
# a comment
skip_rows: 3
separator: ;
decimal: ","
time_column: Zeit
date_column: 1
time_format: "%d.%m.%Y %H:%M"
timezone: Europe/Berlin
label: end
interval_minutes: 15
first: 2024-01-01 00:15:00
last: 2024-12-31T23:45
system_column: Zähler
power_unit: kwh
register: no
export_column: "kWh: gesamt"
import_column: A
negate: yes
net: yes
duplicates: mean
"""


@pytest.fixture
def write(tmp_path):
    def make(content: str | bytes):
        path = tmp_path / "schema.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def test_every_field_is_read_as_it_is_written(write):
    found = read_schema(write(WHOLE))
    assert set(found) == set(SCHEMA_FIELDS) - {"power_column"}
    assert found["register"] == "no"
    assert (found["date_column"], found["skip_rows"], found["interval_minutes"]) == ("1", 3, 15.0)
    assert found["negate"] is found["net"] is True
    options = options_from(found)
    assert (options.power_unit, options.register, options.label) == (
        Unit.KWH,
        Register.NO,
        Label.END,
    )
    assert (options.decimal, options.separator) == (",", ";")
    assert (options.export_column, options.import_column) == ("kWh: gesamt", "A")


def test_a_schema_has_only_fields_of_the_options():
    assert set(SCHEMA_FIELDS) <= set(MeterOptions.__dataclass_fields__)


@pytest.mark.parametrize("nothing", ["", "~", "null"])
def test_a_field_without_a_value_is_left_out(write, nothing):
    assert read_schema(write(f"power_unit: kW\ntimezone: {nothing}\n")) == {"power_unit": "kW"}
    assert (
        read_schema(write(f'power_unit: kW\ntime_column: "{nothing}"\n'))["time_column"] == nothing
    )


@pytest.mark.parametrize("content", ["", "# nothing to declare\n", "{}"])
def test_a_schema_may_declare_nothing(write, content):
    assert read_schema(write(content)) == {}


def test_a_schema_fills_in_what_options_leave_open(write, tmp_path):
    path = write(WHOLE)
    found = completed(MeterOptions(power_unit="W", cleaning="each"), path)
    assert found == options_from(path, power_unit="W", cleaning="each")
    assert completed(found, None) is found
    meters = tmp_path / "meter.csv"
    rows = [f"01.06.2024 {hour:02}:00;{hour},5" for hour in range(24)]
    meters.write_text("\n".join(["Zeit;Leistung (kW)", *rows]) + "\n")
    schema = {"decimal": ",", "timezone": "UTC", "label": "end"}
    (record,) = read_meters(meters, cleaning="each", schema=schema, label="start")
    assert (record.power_kw[1], record.label) == (1.5, Label.START)


def test_what_is_given_beside_a_schema_wins(write):
    path = write(WHOLE)
    assert options_from(path).duplicates is Duplicates.MEAN
    assert (
        options_from(str(path), duplicates="first", power_unit="MW").duplicates is Duplicates.FIRST
    )
    assert options_from(path, power_unit="auto").power_unit == "auto"
    assert options_from(None, cleaning="each") == MeterOptions(cleaning="each")
    with pytest.raises(ParameterError, match="option `power_unit` must be one of"):
        options_from(path, power_unit="furlong")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("unti: kW", "has the key 'unti', and a schema file has skip_rows, separator, decimal"),
        ("unit: kW", "has the key 'unit', and a schema file has"),
        ("power_unit: kW\npower_unit: W", "has the key 'power_unit' twice"),
        ("power_column: a\nexport_column: b", "name the same readings: give one"),
        ("power_unit: horses", "power_unit must be one of auto, W, kW, MW, Wh, kWh, MWh"),
        ("skip_rows: many", "skip_rows must be a whole number from 0 to 1000"),
        ("skip_rows: 1001", "skip_rows must be a whole number from 0 to 1000"),
        ("skip_rows: 1.0", "skip_rows must be a whole number"),
        ("interval_minutes: nan", "interval_minutes must be a number from 1 to 60"),
        ("interval_minutes: soon", "interval_minutes must be a number from 1 to 60"),
        ("negate: maybe", "negate must be true or false"),
        ("decimal: x", "decimal must be one of auto, ., ,"),
        ("separator: ab", "separator is not valid: Separator between fields, one character"),
        ("timezone: Mars/Olympus", "timezone is not valid: Time zone .* UTC, an offset"),
        ("label: noon", "label must be one of auto, start, middle, end"),
        ("register: gas", "register must be one of auto, no, cumulative, daily"),
        ("duplicates: all", "duplicates must be one of refuse, mean, first, last"),
        ("first: soon", "first is not valid: First timestamp, such as"),
        ("first: 2024-02-01\nlast: 2024-01-01", "option `first` must not be after option `last`"),
        ("decimal: ,", r"is not a schema file \(line 1\): it has lines such as power_unit: kW"),
        ("power_unit: [kW]", r"is not a schema file \(line 1\)"),
        ("power_unit: kW\ntime_column: {a: b}", r"is not a schema file \(line 2\)"),
        ("power_unit: kW\n---\npower_unit: W", r"is not a schema file \(line 2\)"),
        ("- unit", "is not a schema file"),
        ("power_unit", "is not a schema file"),
        ("power_unit: &a kW", r"is not a schema file \(line 1\)"),
        ("power_unit: kW\ntime_column: *a", r"is not a schema file \(line 2\)"),
        ("power_unit: !!python/name:os.system kW", r"is not a schema file \(line 1\)"),
        ("<<: {power_unit: kW}", "is not a schema file"),
        (b"power_unit: \xff", "is not a schema file"),
        (b"power_unit: \x00", "is not a schema file"),
        (b"PK\x03\x04", "is not a schema file"),
        ("[" * 60_000, "is not a schema file"),
        ("{a: " * 15_000, "is not a schema file"),
        ("power_unit: kW\n" + "#" * LARGEST_SCHEMA, "is larger than 64 kB"),
    ],
    ids=range(35),
)
def test_what_is_no_schema_is_refused_in_one_sentence(write, content, said):
    with pytest.raises(SourceError, match=said) as refused:
        read_schema(write(content))
    assert str(refused.value).startswith("schema.yaml")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_anchors_that_would_make_a_small_file_large_are_refused_before_anything_is_built(write):
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(SourceError, match="is not a schema file"):
        read_schema(write("l0: &l0 kW\n" + "\n".join(levels)))


@pytest.mark.parametrize(
    "content",
    [
        "time;power_kw\n2024-05-01 12:00;3.1415\n",
        "Customer: Ada Lovelace\ntime,power_kw\n2024-05-01 12:00,3.1415\n",
        "Ada Lovelace: 3.1415\n",
        "2024-05-01: 3.1415\n",
        '"Ada Lovelace\n": [3.1415]\n',
        "power_unit: 3.1415\n",
        "time_column: 'Ada Lovelace\n",
    ],
)
def test_a_meter_file_given_by_mistake_is_not_quoted(write, content):
    with pytest.raises(SourceError) as refused:
        read_schema(write(content))
    assert not any(part in str(refused.value) for part in PRIVATE)


def test_a_schema_that_is_not_there_is_refused(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SourceError, match="cannot be read: check its path and rights"):
            read_schema(path)


TEXTS = st.text(min_size=1, max_size=12)
OPTIONS = st.builds(
    MeterOptions,
    time_column=st.none() | TEXTS,
    power_column=st.none() | TEXTS,
    system_column=st.none() | TEXTS,
    date_column=st.none() | TEXTS,
    time_format=st.none() | TEXTS,
    separator=st.none() | st.characters(codec="utf-8"),
    skip_rows=st.none() | st.integers(0, 1000),
    decimal=st.sampled_from(["auto", ".", ","]),
    power_unit=st.sampled_from(["auto", *Unit]),
    register=st.sampled_from(["auto", *Register]),
    interval_minutes=st.none() | st.sampled_from([1.0, 5.0, 7.5, 60.0]),
    first=st.none() | st.just("2024-01-01T00:00"),
    timezone=st.none() | st.sampled_from(["UTC", "UTC-07:00", "America/Denver"]),
    label=st.sampled_from(["auto", *Label]),
    duplicates=st.sampled_from(list(Duplicates)),
    negate=st.booleans(),
)


@settings(max_examples=60)
@given(options=OPTIONS)
def test_what_is_written_is_read_back(tmp_path_factory, options):
    path = tmp_path_factory.mktemp("schema") / "schema.yaml"
    path.write_text(schema_text(options, about="a\nb"), encoding="utf-8", newline="")
    assert options_from(path) == options


def test_every_line_says_what_it_means_and_where_it_is_from():
    options = MeterOptions(
        power_unit="kWh", separator=";", decimal=",", label="end", interval_minutes=15
    )
    origins = {
        "power_unit": "header", "separator": "stamps", "decimal": "readings", "label": "format",
        "register": "default", "timezone": "default",
    }  # fmt: skip
    text = schema_text(options, origins, about="meters.csv, SMA Sunny Explorer, 1 system")
    assert text.splitlines()[0] == (
        "# How a meter file is written: meters.csv, SMA Sunny Explorer, 1 system."
    )
    assert (
        "# Unit of the readings; auto: from the header. From the header.\npower_unit: kWh\n" in text
    )
    assert "By the definition of the format.\nlabel: end\n" in text
    assert "[minutes] Declared.\ninterval_minutes: 15\n" in text
    readings = "derived from readings; keep it only if you know it from elsewhere."
    assert f'# Decimal mark.\n# {CHECK} {readings}\ndecimal: ","\n' in text
    assert f"{CHECK} assumed; nothing in the file says so.\nregister: auto\n" in text
    assert text.endswith("\n")
    assert "keep it private" in text
    # rules that nobody chose are not facts about the file
    assert "duplicates" not in text
    assert "negate" not in text


@pytest.mark.parametrize(
    "name",
    [
        "sma-german", "sunny_portal-portal", "fronius-german_csv", "fronius-english_workbook",
        "enphase-day_first", "enphase-telemetry", "solaredge-chart", "pvoutput-page",
        "nem12-quarters", "wide-quarters_ending", "utilities-german", "utilities-by_time",
        "containers-utf16_little", "containers-feathered", "json-lines", "stamps-apart",
        "numbers-units_in_cells", "languages-dutch", "registers-watt_hours", "net-german",
        "net-obis", "net-signed", "net-named", "net-export_alone", "net-day_rows",
        "net-direction_rows",
    ],
)  # fmt: skip
def test_a_release_reads_a_file_by_what_was_proposed_for_it(name, tmp_path):
    made, found, path, schema = proposed(tmp_path, name, 6)
    assert found.systems == len(made.expected)
    assert_right(made, read_meters(path, options_from(schema, cleaning="each")))


def proposed(folder, name, days, **options):
    """Describe a sample, and write the schema that is proposed for it."""
    made = sample(name, days)
    path, schema = folder / made.file_name, folder / "schema.yaml"
    path.write_bytes(made.content)
    given = {**made.options, **(made.remedy or {}), **options}
    found = describe_source(path, MeterOptions(**given))
    schema.write_text(schema_text(found.options, found.origins, about=found.format))
    return made, found, path, schema


@pytest.mark.parametrize(
    ("header", "time", "power"),
    [("Zeit;Text;Leistung (kW)", "header", "header"), ("a;b;c", "stamps", "readings")],
)
def test_what_only_readings_tell_is_marked_to_be_checked(tmp_path, header, time, power):
    rows = [f"2024-06-01 {hour:02}:00Z;x;{hour},5" for hour in range(24)]
    path = tmp_path / "meter.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    found = describe_source(path, MeterOptions(power_unit="kW", label="end"))
    assert found.origins["time_column"] == time
    assert found.origins["power_column"] == power
    assert found.origins["decimal"] == "readings"
    assert found.origins["timezone"] == "stamps"
    assert (found.origins["power_unit"], found.origins["label"]) == ("declared", "declared")
    # with a comma between cells, the point is left
    path.write_text(path.read_text().replace(",", ".").replace(";", ","))
    assert describe_source(path, MeterOptions(power_unit="kW")).origins["decimal"] == "header"


def test_a_format_that_is_defined_to_the_last_sign_leaves_nothing_to_declare(tmp_path):
    *_, schema = proposed(tmp_path, "nem12-quarters", 3)
    assert CHECK not in schema.read_text()
    assert read_schema(schema) == {}


def test_of_an_archive_no_span_is_proposed_which_would_cut_its_other_files_off(tmp_path):
    made, found, path, schema = proposed(
        tmp_path, "containers-zipped_days", 6, first="2000-01-01T00:00"
    )
    assert (found.options.first, found.options.last) == ("2000-01-01T00:00", None)
    assert_right(made, read_meters(path, options_from(schema, cleaning="each")))


def test_a_clock_that_nobody_knows_is_asked_for_unless_the_stamps_say_it():
    assert f"{CHECK} not known." in schema_text(MeterOptions())
    assert "\n# timezone: UTC\n" in schema_text(MeterOptions())
    for origin in ("stamps", "format"):
        assert "timezone" not in schema_text(MeterOptions(), {"timezone": origin})
    assert yaml.safe_load(schema_text(MeterOptions(timezone="UTC")))["timezone"] == "UTC"


def test_the_digest_of_a_schema_is_that_of_its_declarations(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("power_unit: kW\ntimezone: UTC-07:00\n")
    declared = options_from(path)
    assert schema_digest(declared) == schema_digest(options_from({**read_schema(path)}))
    assert schema_digest(declared) == schema_digest(options_from(path, cleaning="each"))
    assert schema_digest(declared) != schema_digest(options_from(path, power_unit="W"))
    assert schema_digest(declared) != schema_digest(options_from(path, net=True))
