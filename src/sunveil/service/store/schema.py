"""The tables of the service, beside those of the ledger."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# Where alembic keeps which step the service's tables are at.
VERSION_TABLE = "sunveil_service"

curators = Table(
    "service_curators",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("password", Text, nullable=False),
    Column("made", String(40), nullable=False),
)

# Secrets of the service itself, as digests: the one-time set-up link.
secrets = Table(
    "service_secrets",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("made", String(40), nullable=False),
)

sessions = Table(
    "service_sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("role", String(20), nullable=False),
    Column("who", String(200), nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("flash", Text, nullable=False, default="[]"),
)

# An analyst may hold several tokens; each is known by its public half and a digest of the other.
tokens = Table(
    "service_tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("analyst", String(200), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("made", String(40), nullable=False),
    Column("revoked", String(40)),
    Index("service_tokens_by_analyst", "analyst"),
)

# A dataset that is served: where its files are, and what is public about it.
served = Table(
    "service_datasets",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("title", String(200), nullable=False),
    Column("about", Text, nullable=False, default=""),
    Column("folder", Text, nullable=False),
    Column("estimates", Text),
    Column("meters", Text),
    Column("places", Text),
    Column("systems", Integer),
    Column("keys", Text, nullable=False, default="{}"),
    Column("edition", String(60), nullable=False, default="1"),
    Column("latitude", Float),
    Column("longitude", Float),
    Column("altitude", Float),
    Column("timezone", String(60)),
    Column("state", String(20), nullable=False, default="new"),
    Column("extra", Text, nullable=False, default="{}"),
    Column("made", String(40), nullable=False),
)

# What an analyst asked for under an idempotency key, from before it is charged.
requests = Table(
    "service_requests",
    metadata,
    Column("analyst", String(200), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("dataset", String(60), nullable=False),
    Column("asked", Text, nullable=False),
    Column("release", String(32)),
    Column("made", String(40), nullable=False),
)

# What was answered, as it is served: public, but for analysts of the dataset only.
releases = Table(
    "service_releases",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("dataset", String(60), nullable=False),
    Column("question", String(64), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("title", String(200), nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("cost", Float, nullable=False),
    Column("body", Text, nullable=False),
    Column("made", String(40), nullable=False),
    UniqueConstraint("dataset", "question", name="one_release_per_question"),
    Index("releases_by_dataset", "dataset", "made"),
)
