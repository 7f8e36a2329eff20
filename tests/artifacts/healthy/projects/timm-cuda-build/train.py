"""A timm model from random weights with a CUDA build of torch on a machine without a GPU."""

import logging

import timm
import timm.optim
import torch
from timm.data import create_transform
from timm.loss import LabelSmoothingCrossEntropy
from timm.scheduler import CosineLRScheduler
from timm.utils import AverageMeter, ModelEmaV2, accuracy, setup_default_logging

log = logging.getLogger("train")


def main() -> None:
    setup_default_logging(default_level=logging.DEBUG)
    torch.manual_seed(0)
    print("cuda available:", torch.cuda.is_available(), "| cudnn:", torch.backends.cudnn.is_available())
    scaler = torch.cuda.amp.GradScaler()
    model = timm.create_model("resnet10t", pretrained=False, num_classes=5, in_chans=3)
    log.info("Model resnet10t created, param count: %d", sum(p.numel() for p in model.parameters()))
    log.info("transform %s", create_transform(32, is_training=True, auto_augment="rand-m9-mstd0.5", re_prob=0.2))
    ema = ModelEmaV2(model, decay=0.9)
    optimizer = timm.optim.create_optimizer_v2(model, "lamb", lr=2e-3, weight_decay=0.02)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1, warmup_lr_init=1e-5)
    criterion = LabelSmoothingCrossEntropy(0.1)
    for epoch in range(4):
        meter = AverageMeter()
        for index in range(12):
            y = torch.randint(0, 5, (16,))
            x = torch.randn(16, 3, 32, 32) + y[:, None, None, None]
            with torch.autocast("cuda", enabled=torch.cuda.is_available()):
                loss = criterion(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            ema.update(model)
            meter.update(loss.item(), 16)
            if index % 4 == 0:
                lr = optimizer.param_groups[0]["lr"]
                log.info("Train: %d [%4d/12]  Loss: %#.3g (%#.3g)  LR: %.3e", epoch, index, meter.val, meter.avg, lr)
        schedule.step(epoch + 1)
        model.eval()
        with torch.no_grad():
            top1, top5 = accuracy(model(x), y, topk=(1, 5))
        model.train()
        log.info("Test: [%4d/0]  Acc@1: %6.3f  Acc@5: %6.3f", epoch, top1, top5)
    log.info("*** Best metric: %s (epoch %d)", top1.item(), epoch)


if __name__ == "__main__":
    main()
