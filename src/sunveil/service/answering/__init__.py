"""What answers questions: charged first, drawn in this process, and kept."""
