"""Pictures of what a detector finds."""

from pathlib import Path

import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate

from mixcl.datasets.transforms.decoding import read_image
from mixcl.engine.runners.launch import build_runner


@torch.no_grad()
def draw_detections(cfg: Config, folder: str | Path, num_images: int = 8, score_threshold: float = 0.3) -> list[Path]:
    """Draw test images twice: annotations on the left, a detector's boxes and masks on the right.

    Args:
        cfg: config of a detector, its checkpoint as ``load_from``; the first images of ``test_dataloader`` are drawn.
        folder: where the pictures go, under the images' names.
        score_threshold: score below which detections are left out, 0 to 1.

    Raises:
        UserError: if the checkpoint does not fit.
    """
    runner = build_runner(cfg)
    runner.load_or_resume()
    torch.nn.Module.eval(runner.model)
    dataset = runner.build_dataloader(cfg.test_dataloader).dataset
    runner.visualizer.dataset_meta = dataset.metainfo
    paths = []
    for index in range(min(num_images, len(dataset))):
        (found,) = runner.model.test_step(pseudo_collate([dataset[index]]))
        source = Path(found.img_path)
        path = Path(folder, f'{source.stem}.png')
        name = source.stem if path not in paths else f'{source.stem}_{index}'  # several folders may have a 000.jpg
        paths.append(Path(folder, f'{name}.png'))
        shown = dict(image=read_image(dict(img_path=found.img_path))[0][..., ::-1], data_sample=found.cpu())
        runner.visualizer.add_datasample(name, **shown, pred_score_thr=score_threshold, out_file=str(paths[-1]))
    return paths
