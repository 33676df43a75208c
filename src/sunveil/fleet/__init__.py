"""A fleet's readings on disk: found, planned in parts, and laid out as blocks."""
