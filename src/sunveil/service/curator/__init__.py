"""The curator's side: data in, inference, promises, analysts, and the ledger."""
