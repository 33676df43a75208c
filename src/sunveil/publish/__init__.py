"""What a curator can put on a website: rows of systems, tables of fleets, synthetic tables."""
