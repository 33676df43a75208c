"""The tables of a ledger."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# Where alembic keeps which step a ledger is at; its presence makes a database a ledger.
VERSION_TABLE = "sunveil_ledger"

# One row per dataset: its promise, and what has been spent. Every change of a dataset updates its
# row first, so that changes of one dataset follow one another.
datasets = Table(
    "datasets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("promise", Text, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("fleet_spent", BigInteger, nullable=False, default=0),
    Column("largest_spent", BigInteger, nullable=False, default=0),
    Column("length", BigInteger, nullable=False, default=0),
    Column("head", String(64), nullable=False),
    CheckConstraint("fleet_spent >= 0 AND largest_spent >= 0", name="never_negative"),
    CheckConstraint("fleet_spent + largest_spent <= total", name="promise_kept"),
)

# What single systems have spent beside the fleet's releases; systems are named by a digest.
accounts = Table(
    "accounts",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("system", String(64), primary_key=True),
    Column("spent", BigInteger, nullable=False, default=0),
    CheckConstraint("spent >= 0", name="account_never_negative"),
)

analysts = Table(
    "analysts",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("share", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False, default=0),
    CheckConstraint("spent >= 0 AND spent <= share", name="share_kept"),
)

# Append-only, each entry bound to the one before by its digest.
entries = Table(
    "entries",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("place", BigInteger, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
)

# What was answered: the place of the charge that paid for it, and of the entry that tells of it.
answers = Table(
    "answers",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("question", String(64), primary_key=True),
    Column("charge", BigInteger, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    UniqueConstraint("dataset_id", "charge", name="one_answer_per_charge"),
)
