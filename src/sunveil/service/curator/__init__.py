"""The curator's side: data, inference, promises, analysts and the ledger."""
