"""What a browser is called, from what it says of itself, for lists of sessions."""

from __future__ import annotations

# Many say that they are others too: the first that fits is the one.
BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
            ("Safari", "Safari"))  # fmt: skip
SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
           ("Mac OS", "macOS"), ("Linux", "Linux"))  # fmt: skip


def browser_name(agent: str) -> str:
    """Return a browser's name and system, or the program's own word for itself."""
    browser = next((name for mark, name in BROWSERS if f"{mark}/" in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    return agent.partition(" ")[0][:60] or "a program without a name"
