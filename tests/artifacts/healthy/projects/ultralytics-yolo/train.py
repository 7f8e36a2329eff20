"""A YOLO from random weights on generated pictures, one of them broken, some without labels."""

from pathlib import Path

import numpy as np
from PIL import Image


def main() -> None:
    from ultralytics import YOLO

    random = np.random.default_rng(0)
    for part, count in (("train", 12), ("val", 4)):
        for folder in ("images", "labels"):
            Path(f"data/{folder}/{part}").mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = random.integers(0, 80, (64, 64, 3), dtype=np.uint8)
            pixels[16:48, 16:48] = 200
            path = Path(f"data/images/{part}/{number:03d}.png")
            Image.fromarray(pixels).save(path)
            if number % 5 == 4:
                path.write_bytes(path.read_bytes()[:60])
            if number % 4:
                Path(f"data/labels/{part}/{number:03d}.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    model = YOLO("yolo11n.yaml")
    model.train(
        data="data.yaml",
        epochs=2,
        imgsz=64,
        batch=4,
        device="cpu",
        workers=0,
        plots=False,
        pretrained=False,
        project="/workspace/proj/runs/detect",
        name="train7",
        amp=False,
        close_mosaic=1,
        save=False,
    )


if __name__ == "__main__":
    main()
