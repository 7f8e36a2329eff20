"""What a setting decides, by its dotted key: the experiment itself, its training, or only how it is carried out.

model.hidden_size -> model      data.num_workers -> neutral      optimizer.weight_decay -> training

Sections speak where words do not: `name` is the model's below `model`, and only a label below `logger`.
"""

from __future__ import annotations

import re
from typing import Literal

Group = Literal["model", "data", "split", "objective", "metric", "training", "neutral", "unknown"]

_WORDS: dict[Group, str] = {
    "neutral": r"""
        eval_accumulation_steps \w+_full_eval
        (\w+_)?num_?workers workers(_per_gpu)? pin_memory prefetch\w* persistent_workers
        (output|out|log|logs|logging|save|ckpt|checkpoint|cache|work|run|tensorboard|tb|result|results|tmp|hub|artifact)_?(dir|path|folder|root|dirname)
        (\w+_)?(log|logging|print|save|eval|evaluation|val|checkpoint|ckpt|test|display|vis|report|snapshot)(_(every|interval|freq|frequency|steps|epochs|iters?|period|strategy|n_steps))+
        every_n_(train_)?(steps|epochs) log_every\w* save_every\w*
        eval_every\w* check_val_every_n_epoch val_check_interval num_sanity_val_steps
        save_total_limit save_top_k save_last always_save_checkpoint (run_)?name exp(eriment)?_name job_name
        tags? notes project entity group_name comment description report_to wandb\w* mlflow\w* tensorboard
        logger logging log_level verbos\w* quiet debug progress_bar\w* disable_tqdm enable_progress_bar device
        cuda gpu_ids? local_rank master_(addr|port) port host rdzv\w* timeout\w* ddp_timeout
        (torch_)?compile\w* gradient_checkpointing\w* activation_checkpointing\w* attn_implementation
        use_flash\w* flash_attn\w* resume\w* overwrite_output_dir push_to_hub hub_\w+ nccl\w*
        cudnn_benchmark (\w+_)?find_unused_parameters static_graph empty_cache\w* profile\w*
        (per_device_)?(eval|val|test|valid)_batch_?size per_device_eval_batch_size allgather\w*
        reduce_bucket\w* overlap_comm contiguous_gradients offload\w* wall_clock_breakdown steps_per_print
    """,
    "training": r"""
        world_size n?proc(es+)?(_per_node)? nproc_per_node num_processes (num_)?nodes nnodes num_machines
        (num_|n_)?gpus(_per_node)? devices samples_per_gpu (\w+_)?batch_?size(_per_\w+)? batch bs micro_batch\w*
        train_micro_batch\w* (\w+_)?accumulat\w* accumulate_grad_batches grad_accum\w* (\w+_)?lr
        (\w+_)?learning_rate lr_\w+ warm_?up\w* (\w+_)?schedul\w* \w*decay\w* min_lr max_lr gamma milestones
        step_size t_max eta_min cycle\w* (num_|max_|n_)?(train_)?(epochs?|steps|iters?|iterations) total_steps
        total_epochs max_time train_iters early_stop\w* patience optim(izer)?(_\w+)? (adam_)?beta_?[12] betas
        momentum nesterov (adam_)?eps(ilon)? weight_decay (\w+_)?clip\w* max_(grad_)?norm
        (grad(ient)?_)?clip\w* precision fp16\w* bf16\w* amp\w* half_precision\w* mixed_precision tf32
        (torch_)?dtype loss_scale\w* initial_scale_power zero_optimization ema\w* swa\w* deterministic\w*
        (\w+_)?seed strategy fsdp\w* deepspeed sharding\w* sync_batchnorm sync_bn gradient_(as|pre)\w*
    """,
    "split": r"""
        (\w+_)?split(s|_\w+)?
        (val|valid|validation|test|train)_(fraction|ratio|size|frac|pct|percentage|set|ids?) holdout\w*
        (n_|num_)?folds? fold_\w+ cv test_size stratif\w*
    """,
    "metric": r"""
        limit_(val|test)_batches
        metrics? (eval_|val_|best_)?metric\w* metric_for_best_model greater_is_better monitor(_mode)? average
        averaging top_?k(_acc\w*)? eval_(fn|func|type|protocol|tasks?) ignore_in_eval threshold num_beams
        max_new_tokens generation_\w+
    """,
    "objective": r"""
        loss(es)?(_\w+)? \w+_loss(_\w+)? criterion objective\w* label_smoothing(_factor)? class_weights?
        pos_weight temperature margin kl_\w+ lambda(_\w+)? reward\w* discount gae_lambda entropy_coef\w*
        \w+_coef(f(icient)?)? ignore_index reduction focal\w*
    """,
    "data": r"""
        data(_\w+)? dataset\w* train_(file|data|path|dir) (val|valid|validation|test)_(file|data|path|dir)
        tokeni[sz]er\w* vocab(_file|_path)? max_(seq_?)?len(gth)? max_(source|target|input|text)_len(gth)?
        seq_?len(gth)? block_size context_len(gth)? truncat\w* padding\w* transforms? augment\w* aug crop\w*
        (img|image)_size resize\w* resolution mean std normali[sz]\w* mixup\w* cutmix\w* shuffle\w* sampler\w*
        subset\w* (max_|num_)?(train_|eval_|val_)?samples drop_last num_classes n_classes labels? label_\w+
        classes target(_column)? text_column input_columns? language preprocess\w* collat\w* corpus
        mask_prob\w* mlm_\w+ sample_rate n_mels streaming mixture\w* weights_per_dataset
    """,
    "model": r"""
        model(_\w+)? arch(itecture)? backbone\w* encoder\w* decoder\w* hidden(_\w+)? (num_|n_)?(\w+_)?layers?
        n_layer n_head n_embd (num_|n_)?(attention_)?heads? (d|n|dim)_(model|ff|kv|embd|inner|state) dim depth
        width channels in_channels out_channels embed\w* intermediate_size dropout\w* (\w+_)?dropout
        drop_path\w* activation(_function)? act norm(_layer|_type)? pretrained\w* init(ializer)?(_\w+)?
        freeze\w* frozen\w* lora\w* rank alpha target_modules peft\w* quantiz\w* load_in_\dbit kernel_size
        stride patch_size vocab_size rope\w* bias tie_\w+ max_position_embeddings experts num_experts moe\w*
        head\w*
    """,
}
"""Patterns of names, separated by spaces; how a run is carried out comes first: `eval_batch_size` trains nothing."""
_SECTIONS: dict[Group, str] = {
    "neutral": r"""
        logger loggers logging log wandb mlflow hydra callbacks? checkpoint\w* launcher slurm resources paths
        output profiler tensorboard experiment hardware env environment
    """,
    "split": r"""
        splits? cv
    """,
    "metric": r"""
        metrics? evaluat\w* generation
    """,
    "objective": r"""
        loss(es)? criterion objective
    """,
    "training": r"""
        optim(izer)?s? (lr_)?scheduler schedule lr_config optimizer_config trainer train(ing)?(_args)? amp
        fp16 bf16 zero_optimization
    """,
    "data": r"""
        data datasets? datamodule dataloader (train|val|test)_dataloader tokenizer transforms? augmentations?
        preprocess\w*
    """,
    "model": r"""
        model net network backbone encoder decoder head arch lora peft
    """,
}
"""Patterns of the sections that hold a name."""
_LABELS = frozenset({"name", "type", "_target_", "path", "dir", "id", "class_path", "target", "kind", "fn", "func"})
"""Words that mean what their section means."""


def _compiled(words: dict[Group, str]) -> tuple[tuple[Group, re.Pattern[str]], ...]:
    return tuple((group, re.compile("|".join(text.split()), re.IGNORECASE)) for group, text in words.items())


_NAMES, _HOLDERS = _compiled(_WORDS), _compiled(_SECTIONS)


def group_of(key: str) -> Group:
    """What a setting decides; `unknown` where neither its name nor its sections tell."""
    *sections, name = _parts(key)
    section = _section_of(sections)
    if own_eval := _of_evaluation(sections, name):
        return own_eval
    if name.lower() in _LABELS and section is not None:
        return "unknown" if sections[-1].lower() == "env" else section  # of variables, or the world of an agent
    own = _first(_NAMES, name)
    if own is None:
        return section or "unknown"
    if section in {"objective", "split", "metric"} and own not in {"neutral", "training"}:
        return section
    if section == "model" and own in {"data", "objective", "metric"}:
        return section  # model.max_length
    if section == "training" and own != "neutral" and not sections[-1].lower().startswith("train"):
        return section  # optimizer.alpha; but train.dataset is of the data
    return own


def _of_evaluation(sections: list[str], name: str) -> Group | None:
    """How fast it is evaluated is nobody's concern: eval.batch_size."""
    held = any(re.fullmatch(r"(?i)eval(uation)?|val(idation)?|test", word) for word in sections)
    return "neutral" if held and re.search(r"(?i)batch_?size|accumulat|workers", name) else None


def _parts(key: str) -> list[str]:
    words = [part for part in re.split(r"[./]", key.strip("-+~")) if part and not part.isdigit()]
    return [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).replace("-", "_") for word in words] or [key]


def _section_of(sections: list[str]) -> Group | None:
    """The nearest section that says something."""
    return next((group for word in reversed(sections) if (group := _first(_HOLDERS, word))), None)


def _first(patterns: tuple[tuple[Group, re.Pattern[str]], ...], word: str) -> Group | None:
    return next((group for group, pattern in patterns if pattern.fullmatch(word)), None)
