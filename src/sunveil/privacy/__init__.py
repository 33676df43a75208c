"""Units of protection, guarantees, and the mechanisms that give them.

Nothing here reads a meter, a sky or a file: an auditor can read this room alone.
"""
