"""Count the words that plain English does without, and refuse more of them than there were.

``python .ci/words.py`` prints the counts; ``--list`` every line too. The ceilings only go down.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = re.compile(
    r"\b(told|untold|whose|so many|anew|befell|whoever|lit|settle[sd]?|held against|left out"
    r"|doubts?|strange)\b"
)
# What is quoted as data: names and texts between backquotes.
QUOTED = re.compile(r"``?[^`\n]+``?")
CEILINGS = {"src": 30, "docs and templates": 30}


def files() -> Iterator[tuple[str, Path]]:
    """Yield the texts that are read, each with its group."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield "src", path
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in {".html", ".j2", ".md", ".js"}:
            yield "docs and templates", path
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py"), *ROOT.glob("*.md")]
    for path in sorted(pages):
        if not {"_build", "gallery", "CHANGELOG.md"} & set(path.relative_to(ROOT).parts):
            yield "docs and templates", path


def main(arguments: list[str]) -> int:
    """Print the counts and return the exit code."""
    counts = dict.fromkeys(CEILINGS, 0)
    for group, path in files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found = WORDS.findall(QUOTED.sub("", line))
            counts[group] += len(found)
            if found and "--list" in arguments:
                print(f"{path.relative_to(ROOT)}:{number}: {', '.join(found)}: {line.strip()}")
    for group, count in counts.items():
        print(f"words to go in {group}: {count}, at most {CEILINGS[group]}")
    return int(any(count > CEILINGS[group] for group, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
