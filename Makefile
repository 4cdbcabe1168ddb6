# Three commands are all a reader needs: `make book`, `make lab` and `make test`.
# The work is done by small programs in scripts/; this file only names them.
#
# Variables, each on the command line or in the environment:
#   PYTHON=python3.12   the Python to make .venv with
#   TORCH=cpu or cuda   PyTorch without or with CUDA; else as a GPU is found or not
#   PORT=9000           for `make serve`
#   CONFIG=toy          for `make train`
#   ARGS="--port=9333"  options of JupyterLab, for `make lab`

PY := .venv/bin/python
export PYTHON TORCH

# Python keeps the compiled modules, whatever a container's image says: each program that
# `make test` starts, a kernel for each page among them, would compile PyTorch anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help env book lab test notebooks train serve clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1|\2/p' Makefile \
	  | while IFS='|' read -r name help; do printf 'make %-11s %s\n' "$$name" "$$help"; done

env:
	@sh scripts/environment.sh

book: env  ## build the HTML book from the stored outputs
	@$(PY) scripts/build_book.py

lab: book  ## open copies of the chapters in JupyterLab (its options: ARGS="--no-browser")
	@$(PY) scripts/lab.py $(ARGS)

test: env  ## run everything that is checked: code, notebooks, pages in a browser, style
	@$(PY) scripts/browser.py
	@$(PY) scripts/build_book.py --whole
	@$(PY) -m pytest -n 2

notebooks: env  ## run the chapters and store their outputs (one: NAME=ch01_rnn_seq2seq)
	@$(PY) scripts/run_notebooks.py $(NAME)

train: env  ## train a translator, as the machine allows (CONFIG=toy takes half a minute)
	@$(PY) -m attnbook train $(if $(CONFIG),--config $(CONFIG))

serve: book  ## serve the built book on this machine (PORT=8000)
	@$(PY) -m http.server --bind 127.0.0.1 --directory _build/html $(or $(PORT),8000)

clean:  ## delete what was built; .venv stays
	@rm -rf _build .pytest_cache .ruff_cache .hypothesis
	@find book code scripts tests -name __pycache__ -prune -exec rm -rf {} +
