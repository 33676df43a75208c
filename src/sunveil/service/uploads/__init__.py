"""Data that come in over the network or are named on the service's disk: trusted in nothing."""

from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge
from sunveil.service.uploads.limits import Limits
from sunveil.service.uploads.named import find_below
from sunveil.service.uploads.receive import Received, receive
from sunveil.service.uploads.staging import Staging, sweep

__all__ = [
    "Limits",
    "Received",
    "Staging",
    "UploadRefused",
    "UploadTooLarge",
    "find_below",
    "receive",
    "sweep",
]
