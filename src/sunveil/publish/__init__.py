"""What draws: tables, rows of systems and synthetic tables, charged before they are drawn."""
