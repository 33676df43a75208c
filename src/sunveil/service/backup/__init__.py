"""A service as one file, and back: its database and its data folder."""

from sunveil.service.backup.restore import Restored, restore_service
from sunveil.service.backup.write import BackupSummary, back_up_service

__all__ = ["BackupSummary", "Restored", "back_up_service", "restore_service"]
