#!/bin/sh
# Makes .venv hold what requirements.txt names; does nothing if it already does.
# PYTHON chooses the Python. On Linux the package index has PyTorch's build for NVIDIA's
# GPUs; where there is none, the much smaller one for the processor is taken, from
# PyTorch's own index. TORCH=cpu or TORCH=cuda chooses by hand. pip does the rest, as this
# machine's pip.conf or environment says.
set -eu
cpu_index=https://download.pytorch.org/whl/cpu

fail() {
    echo "$1" >&2
    exit 1
}

case ${TORCH:=$(nvidia-smi -L 2>/dev/null | grep -q GPU && echo cuda || echo cpu)} in
cpu | cuda) ;;
*) fail "TORCH=$TORCH is unknown: say TORCH=cpu or TORCH=cuda, or leave it out." ;;
esac

here=$(pwd -P)
made=
[ ! -L .venv ] || rm .venv # what a link leads to is somebody else's
[ ! -x .venv/bin/python ] || made=$(head -n 1 .venv/made-from 2>/dev/null) || :
case $made in
*" in $here") own=.venv/bin/python ;;
*) own= ;; # moved or copied: its programs are still those of where it was made
esac

version='import sys; v = sys.version_info[:2]; print("%d.%d" % v)
sys.exit(not (3, 11) <= v <= (3, 13))'
place=
for python in ${PYTHON:-$own python3 python3.13 python3.12 python3.11 python}; do
    if found=$("$python" -c "$version" 2>/dev/null); then
        place="Python $found in $here"
        break
    fi
done
[ -n "$place" ] || fail "The book needs Python 3.11, 3.12 or 3.13, and ${PYTHON:-python3} \
is $("${PYTHON:-python3}" -V 2>/dev/null || echo 'no Python that runs'). Install one of \
them (https://www.python.org/downloads/) and say where: make book PYTHON=python3.12"

files=$(cat requirements.txt pyproject.toml | cksum)
if [ "$made" = "$place" ] && [ "$(tail -n 1 .venv/made-from)" = "$files" ]; then
    exit 0
fi

# Debian keeps ensurepip in a package of its own; any pip can do its work.
create() {
    if "$python" -c "import ensurepip" 2>/dev/null; then
        "$python" -m venv --clear .venv
    else
        "$python" -m venv --clear --without-pip .venv &&
            "$python" -m pip --python .venv/bin/python install pip
    fi
}

install() {
    # Python compiles modules when they are first imported; compiling all of them here
    # would double the time.
    .venv/bin/python -m pip install --no-compile "$@" || fail "pip failed, see above. \
It needs a network (or the index of your pip.conf) and 2 GB, 6 GB with PyTorch's build for \
GPUs. If a package is not offered for your Python, try another: make book PYTHON=python3.12"
}

if [ "$made" != "$place" ]; then
    echo "Making .venv: $place"
    create || fail "$python cannot make a virtual environment. On Debian or Ubuntu: \
sudo apt install python$found-venv"
fi
echo "$place" >.venv/made-from # and not more before all is installed
if [ "$TORCH" = cpu ] && [ "$(uname)" = Linux ]; then # without that index: the large build
    install --no-deps --retries 1 --extra-index-url "$cpu_index" \
        "$(grep -o '^torch==[^ ]*' requirements.txt)"
fi
install -r requirements.txt
install --no-deps --no-build-isolation -e .
echo "$files" >>.venv/made-from
