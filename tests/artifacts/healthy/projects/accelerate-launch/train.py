"""A loop with accelerate's logger at debug level, gradient accumulation and a tracker of its own."""

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

log = get_logger(__name__, log_level="DEBUG")


def main() -> None:
    import logging

    logging.basicConfig(level=logging.DEBUG, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
    accelerator = Accelerator(
        gradient_accumulation_steps=4, mixed_precision="bf16", project_config=ProjectConfiguration("outputs/ft-29")
    )
    log.info(accelerator.state, main_process_only=False)
    set_seed(2)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 10))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    data = torch.randn(640, 10)
    loader = DataLoader(TensorDataset(data), 16, shuffle=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=41)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    log.info("***** Running training *****")
    log.info(
        "  Num examples = 640\n  Num Epochs = 4\n  Gradient Accumulation steps = 4\n  Total optimization steps = 40"
    )
    bar = tqdm(range(40), disable=not accelerator.is_local_main_process, desc="Steps")
    for _epoch in range(4):
        for (x,) in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x).float(), x)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                bar.update(1)
                bar.set_postfix(step_loss=loss.detach().item(), lr=schedule.get_last_lr()[0])
        accelerator.save_state(f"outputs/ft-29/checkpoint-{_epoch}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
