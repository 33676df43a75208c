#!/usr/bin/env bash
# Build the wheel and the sdist, and spend a newcomer's first hour with the wheel alone in an empty folder.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
python="${1:-python3}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# without these, a machine's own settings for Python would get in
unset PYTHONPATH
PIP_CONSTRAINT="$root/constraints.txt" "$python" -m build --outdir "$work/dist" "$root" >"$work/build.log" \
    || { cat "$work/build.log"; exit 1; }
"$python" "$root/.ci/package_contents.py" "$work"/dist/*

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check -c "$root/constraints.txt" \
    "$(echo "$work"/dist/*.whl)[publish]"
mkdir "$work/empty"
cd "$work/empty"
export SUNVEIL_CACHE="$work/cache" XDG_STATE_HOME="$work/state" MPLBACKEND=Agg
"$work/venv/bin/python" "$root/.ci/first_inference.py"
"$work/venv/bin/sunveil" check meters.csv
"$work/venv/bin/sunveil" infer meters.csv --latitude 39.742 --longitude -105.1727 --report report.html
test -s report.html
"$work/venv/bin/sunveil" demo >demo.txt
test -s demo/report.html
# every block of the pages that a newcomer follows does what the page says
"$work/venv/bin/python" "$root/docs/examples.py" --check README tutorial publication power privacy
echo "The wheel and the sdist are whole, and the wheel does what the pages say."
