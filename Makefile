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
.PHONY: help env book pdf test quick notebooks lab serve train chapter repository pins platforms links clean

help:  ## list these commands
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1|\2/p' Makefile \
	  | while IFS='|' read -r name help; do printf 'make %-11s %s\n' "$$name" "$$help"; done

env:  ## make .venv and install the pinned requirements (the others do it for you)
	@sh scripts/environment.sh

book: env  ## build the HTML book from the stored outputs
	@$(PY) scripts/build_book.py

pdf: book  ## print the whole book into one PDF, which the pages then offer (some minutes)
	@$(PY) scripts/browser.py
	@$(PY) scripts/book_pdf.py
	@$(PY) scripts/build_book.py

test: env  ## run everything that is checked: code, notebooks, pages in a browser, style
	@$(PY) scripts/browser.py
	@$(PY) scripts/build_book.py --whole
	@$(PY) -m pytest -n 2

quick: env  ## run the tests of what changed, in three minutes at most
	@$(PY) scripts/quick_tests.py

notebooks: env  ## run the chapters and store their outputs (one: NAME=ch01_rnn_seq2seq)
	@$(PY) scripts/run_notebooks.py $(NAME)

lab: book  ## open copies of the chapters in JupyterLab (its options: ARGS="--no-browser")
	@$(PY) scripts/lab.py $(ARGS)

serve: book  ## serve the built book on this machine (PORT=8000)
	@$(PY) -m http.server --bind 127.0.0.1 --directory _build/html $(or $(PORT),8000)

train: env  ## train a translator, as the machine allows (CONFIG=toy takes half a minute)
	@$(PY) -m attnbook train $(if $(CONFIG),--config $(CONFIG))

chapter: env  ## start a new page (NAME=ch13_my_topic, lab13_my_topic or a4_my_topic)
	@$(PY) scripts/new_chapter.py "$(NAME)"

repository: env  ## write the published address where it must stand (NAME=owner/name)
	@$(PY) scripts/set_repository.py "$(NAME)"

pins: env  ## renew requirements.txt from requirements.in
	@$(PY) -m pip install --quiet --upgrade --target _build/uv uv
	@_build/uv/bin/uv pip compile --quiet --universal --upgrade --no-header --no-annotate \
	  --python-version 3.11 --output-file _build/pins.txt requirements.in
	@grep '^#' requirements.txt >_build/requirements.txt
	@grep -Ev '^(nvidia|cuda|triton)\b' _build/pins.txt >>_build/requirements.txt
	@mv _build/requirements.txt requirements.txt && echo 'Now: make test'

platforms: env  ## compare the pages' outputs on other processors, some of them pretended
	@for threads in 1 2; do \
	  for set in ATEN_CPU_CAPABILITY=default ATEN_CPU_CAPABILITY=avx2 -uATEN_CPU_CAPABILITY; do \
	    echo "$$set, threads: $$threads"; \
	    env "$$set" ATTNBOOK_THREADS=$$threads $(PY) -m pytest -n 2 -q book || failed=1; \
	  done; \
	done; \
	for seed in 1 2 3; do \
	  echo "other rounding in training, seed $$seed"; \
	  ATTNBOOK_ROUNDING=$$seed $(PY) -m pytest -n 2 -q book || failed=1; \
	done; exit $${failed:-0}

links: env  ## check that links to other sites lead somewhere (needs a network)
	@.venv/bin/jupyter-book build . --builder linkcheck --path-output _build/links

clean:  ## delete what was built; .venv stays
	@rm -rf _build .pytest_cache .ruff_cache .hypothesis
	@find book code scripts tests -name __pycache__ -prune -exec rm -rf {} +
