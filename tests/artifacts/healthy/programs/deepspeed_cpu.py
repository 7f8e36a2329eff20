"""DeepSpeed ZeRO-1 on one CPU process."""

import deepspeed
import deepspeed.ops
import torch
from torch import nn

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 2,
    "steps_per_print": 5,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "wall_clock_breakdown": True,
    "dump_state": True,
}


def main() -> None:
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled for minutes
    deepspeed.init_distributed("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)
    for step in range(60):
        x = torch.randn(8, 16, dtype=torch.bfloat16)
        loss = nn.functional.mse_loss(engine(x).float(), x.float().sum(1, keepdim=True))
        engine.backward(loss)
        engine.step()
        if step % 5 == 0:
            print(f"micro step {step} loss {loss.item():.4f}", flush=True)
    engine.save_checkpoint("outputs/ds-33")
    deepspeed.comm.destroy_process_group()
    print("training finished")


if __name__ == "__main__":
    main()
