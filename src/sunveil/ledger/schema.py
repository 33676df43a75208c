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

# One row, the version of the other tables; its presence makes a database a ledger.
version_table = Table(
    "sunveil_ledger", metadata, Column("version", Integer, primary_key=True, autoincrement=False)
)

# One row, which every change of a ledger updates first: a household's account is in all datasets,
# so that changes follow one another whichever dataset they are of.
turns = Table(
    "turns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("changes", BigInteger, nullable=False),
)

# One row per dataset: its promise, what has been spent, how many meters of a household its promise
# counts as one, how many households it has, and whether any of them is elsewhere too or has several
# meters: then what households have spent is added up (spending.py).
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
    Column("meters", Integer, nullable=False, default=1),
    Column("households", BigInteger, nullable=False, default=0),
    Column("shared", Integer, nullable=False, default=0),
    CheckConstraint("fleet_spent >= 0 AND largest_spent >= 0", name="never_negative"),
    CheckConstraint("fleet_spent + largest_spent <= total", name="promise_kept"),
)

# What single systems have spent beside the fleet's releases; systems are named by a digest of
# dataset and id.
accounts = Table(
    "accounts",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("system", String(64), primary_key=True),
    Column("spent", BigInteger, nullable=False, default=0),
    CheckConstraint("spent >= 0", name="account_never_negative"),
)

# Which systems a dataset has, and whose they are: the account, a digest of the id that is the same
# in all datasets, the household, and the entry that registered it. That of another dataset stands
# in for a dataset whose systems were charged and never registered.
members = Table(
    "members",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("system", String(64), primary_key=True),
    Column("name", String(64), nullable=False, index=True),
    Column("household", String(64), nullable=False, index=True),
    Column("chain_id", Integer, ForeignKey("datasets.id"), nullable=False),
    Column("place", BigInteger, nullable=False),
)

# What a curator's table says of the systems of a dataset: the digest of a household's or of a
# meter's key, once each.
system_keys = Table(
    "system_keys",
    metadata,
    Column("chain_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("name", String(64), primary_key=True, index=True),
    Column("kind", String(10), primary_key=True),
    Column("key", String(64), nullable=False, index=True),
    Column("place", BigInteger, nullable=False),
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

# What was answered: the place of the charge that paid for it, of the entry that tells of it, and
# the series that it belongs to, if any (standing.py).
answers = Table(
    "answers",
    metadata,
    Column("dataset_id", Integer, ForeignKey("datasets.id"), primary_key=True),
    Column("question", String(64), primary_key=True),
    Column("charge", BigInteger, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    Column("series", String(64), index=True),
    UniqueConstraint("dataset_id", "charge", name="one_answer_per_charge"),
)
