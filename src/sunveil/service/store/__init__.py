"""What the service keeps in the ledger's database, in tables of its own."""
