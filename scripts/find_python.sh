#!/bin/sh
# Prints the Python to make .venv with; or one line that says what is wrong, and fails.
# In order: PYTHON, the one .venv already has, python3, the newest that is installed.

suitable() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
        >/dev/null 2>&1
}

if [ -n "$PYTHON" ]; then
    candidates=$PYTHON
else
    candidates=".venv/bin/python python3 python3.13 python3.12 python3.11 python"
fi
for candidate in $candidates; do
    if suitable "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done

if [ -n "$PYTHON" ]; then
    found="PYTHON=$PYTHON is $("$PYTHON" -V 2>/dev/null || echo 'no Python that runs')"
else
    found="found $(python3 -V 2>/dev/null || echo 'no Python')"
fi
echo "The book needs Python 3.11, 3.12 or 3.13, and $found. Install one of them" \
    "(https://www.python.org/downloads/) and say where: make book PYTHON=python3.12" >&2
exit 1
