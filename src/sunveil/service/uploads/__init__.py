"""Data that come in over the network or are named on the service's disk: trusted in nothing."""

from sunveil.service.uploads.data_folder import find_below
from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge
from sunveil.service.uploads.limits import UploadLimits
from sunveil.service.uploads.receive import Received, receive
from sunveil.service.uploads.staging import Staging, remove_abandoned

__all__ = [
    "Received",
    "Staging",
    "UploadLimits",
    "UploadRefused",
    "UploadTooLarge",
    "find_below",
    "receive",
    "remove_abandoned",
]
