"""The end-to-end audit: what comes out of every public door for files that differ in one unit."""
