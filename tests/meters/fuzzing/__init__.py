"""Files and arguments of every format, spoilt in every way, from fixed seeds.

``make fuzz`` reads 100,000 of them and looks for what must never be: an exception that is not one
of Sunveil's own, a message that quotes the file, readings in another scale than the file's.
"""
