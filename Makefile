# make quickstart   install the core and pretrain on digits (a few minutes on two CPU cores)
# make test         install what the tests need and run them; detection is left out where `make det` has not run
# make test-long    run the tests that take longer (half an hour)
# make test-avx2    run the tests of training with oneDNN's code for CPUs without AVX-512 (a minute)
# make test-newest  run tests with the newest releases on Python 3.13 or 3.12, where there is one (ten minutes)
# make lint         ruff and mypy
# make docs         write the documentation as a site to build/docs (a minute)
# make det          install detection: mmdet, and mmcv's compiled operators (10 to 20 minutes on two cores, once)
# make gpu-rehearsal  run the GPU day at small size on this machine, in an environment like a GPU machine's (15 minutes)
# VENV=dir uses another virtual environment than .venv; PYTHON=python3.12 another interpreter to make it with.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# A part of the environment is up to date when its stamp carries the hash of everything that decides it.
KEY := $(shell $(PYTHON) -c "import hashlib, sys; \
	data = open('setup.py', 'rb').read() + open('constraints.txt', 'rb').read() + sys.version.encode(); \
	print(hashlib.sha256(data).hexdigest()[:16])")
CORE := $(VENV)/.core-$(KEY)
TEST := $(VENV)/.test-$(KEY)
DOCS := $(VENV)/.docs-$(KEY)
DET := $(VENV)/.det-$(KEY)
# Compiled once for a set of versions, whatever the number of environments. pip's own cache must not be used: it does
# not tell builds without operators, with operators, and for another torch apart.
OPERATORS ?= $(HOME)/.cache/mixcl/operators-$(shell $(PYTHON) -c "import re, sys; \
	versions = re.findall(r'^(?:torch|onedl-mmcv)==(\S+)', open('constraints.txt').read(), re.M); \
	print('-'.join([*versions, sys.implementation.cache_tag]))")

# mmcv and mmdet require the OpenCV with a GUI, which needs libGL; the headless one has the same functions without it.
USABLE_OPENCV = $(BIN)/python -c "import cv2" 2>/dev/null || \
	$(BIN)/python -m pip install --force-reinstall --no-deps -c constraints.txt opencv-python-headless

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# What a GPU machine without a network has; see tools/benchmark/gpu_wheels.py for what it lacks.
REHEARSAL := build/rehearsal
GPU_PYTHON ?= python3.12
GPU_MACHINE := torch==2.11.0 torchvision==0.26.0 numpy==2.5.2 timm==1.0.31 scikit-learn==1.9.1 opencv-python-headless \
	matplotlib tensorboard safetensors einops rich transformers pytest hypothesis

.PHONY: quickstart test test-long test-avx2 test-newest install docs det operators lint format gpu-rehearsal clean

quickstart: $(CORE)
	$(BIN)/python tools/quickstart.py

install: $(CORE)

det: $(DET)

test: $(TEST) lint
	$(PYTEST)

test-long: $(TEST)
	$(PYTEST) -m long

test-avx2: $(TEST)
	ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 $(PYTEST) tests/algorithms tests/encoders \
		tests/engine/runners/test_exact_resume.py tests/engine/runners/test_activation_checkpointing.py

test-newest:
	PYTHON=$(PYTHON) .ci/newest

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DOCS)
	$(BIN)/python -m sphinx --fail-on-warning --quiet -c docs -d build/doctrees . build/docs
	@echo written to build/docs/index.html

format: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(CORE):
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e .
	$(USABLE_OPENCV)
	rm -f $(VENV)/.core-*
	touch $@

$(TEST): $(CORE)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[test]'
	rm -f $(VENV)/.test-*
	touch $@

$(DOCS): $(CORE)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[docs]'
	rm -f $(VENV)/.docs-*
	touch $@

$(DET): $(CORE)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[det]'
	$(USABLE_OPENCV)
	$(BIN)/python tools/check_operators.py 2>/dev/null || $(MAKE) operators
	$(BIN)/python tools/check_operators.py
	rm -f $(VENV)/.det-*
	touch $@

# CFLAGS replaces Python's own flags, which often ask for debugging symbols: these take half of the compile time.
operators:
	$(BIN)/python -m pip install --disable-pip-version-check 'setuptools>=77,<81' wheel ninja psutil
	ls $(OPERATORS)/*.whl 2>/dev/null || CFLAGS="-O3 -DNDEBUG $$CFLAGS" $(BIN)/python -m pip wheel --no-build-isolation \
		--disable-pip-version-check --no-cache-dir --no-deps -c constraints.txt -w $(OPERATORS) onedl-mmcv
	$(BIN)/python -m pip install --disable-pip-version-check --force-reinstall --no-deps $(OPERATORS)/*.whl

# From the last commit, in another folder and not installed, as on such a machine.
gpu-rehearsal:
	test -x $(REHEARSAL)/venv/bin/python || $(GPU_PYTHON) -m venv $(REHEARSAL)/venv
	$(REHEARSAL)/venv/bin/python -m pip install --disable-pip-version-check -q $(GPU_MACHINE)
	$(REHEARSAL)/venv/bin/python tools/benchmark/gpu_wheels.py
	rm -rf $(REHEARSAL)/tree $(REHEARSAL)/site $(REHEARSAL)/out
	mkdir -p $(REHEARSAL)/tree
	git archive HEAD | tar x -C $(REHEARSAL)/tree
	$(REHEARSAL)/venv/bin/python -m pip install --disable-pip-version-check -q --no-index --no-deps --no-compile \
		--target $(REHEARSAL)/site .wheels/*.whl
	cd $(REHEARSAL)/tree && PYTHONPATH=$(abspath $(REHEARSAL))/site ../venv/bin/python tools/benchmark/gpu_day.py \
		--device cpu --minutes 9 --out ../out

clean:
	rm -rf $(VENV) build dist *.egg-info mixcl/.mim
