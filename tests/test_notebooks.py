"""The notebooks of examples/ run, and their stored outputs are small and name no machine."""

from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / 'examples').glob('*.ipynb'))


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_outputs(path: Path) -> None:
    content = path.read_text(encoding='utf-8')
    assert len(content) < 250_000 and '/tmp/' not in content and '/home/' not in content
    cells = [cell for cell in nbformat.reads(content, 4).cells if cell.cell_type == 'code']
    outputs = [output for cell in cells for output in cell.outputs]
    assert sum('image/png' in output.get('data', {}) for output in outputs) >= 2
    assert not [output for output in outputs if output.output_type == 'error' or output.get('name') == 'stderr']


@pytest.mark.long
@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip('nbclient')
    monkeypatch.setenv('PYTHONPATH', str(path.parents[1]))
    notebook = nbformat.read(path, 4)
    client.NotebookClient(notebook, timeout=1800, resources=dict(metadata=dict(path=str(tmp_path)))).execute()
