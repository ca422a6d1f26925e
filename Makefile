# make quickstart   install the core and pretrain on digits (a few minutes on two CPU cores)
# make test         install what the tests need and run all of them
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

.PHONY: quickstart test install lint format clean

quickstart: $(CORE)
	$(BIN)/python tools/quickstart.py

install: $(CORE)

test: $(TEST) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(CORE):
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e .
	@# mmcv asks for the OpenCV with windows, which needs libGL; the headless one has the same functions without it.
	$(BIN)/python -c "import cv2" 2>/dev/null || \
		$(BIN)/python -m pip install --force-reinstall --no-deps -c constraints.txt opencv-python-headless
	rm -f $(VENV)/.core-*
	touch $@

$(TEST): $(CORE)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[test]'
	rm -f $(VENV)/.test-*
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info mixcl/.mim
