"""What a setting decides, on keys as frameworks and people spell them."""

from __future__ import annotations

import pytest

from experiment_debugger.compare.experiment_keys import group_of

KEYS = {
    "model": """
        experiment.model checkpoint.pretrained env.MODEL
        model.hidden_size model.name model.type model._target_ model.num_layers n_layer n_head n_embd model.dropout
        model.d_model hidden_dim num_attention_heads arch architecture backbone model.backbone.depth net.width
        encoder.layers decoder_layers pretrained pretrained_model_name_or_path model_name_or_path model_name
        attention_dropout lora_r lora.rank lora.alpha target_modules freeze_backbone kernel_size patch_size
        vocab_size max_position_embeddings rope_theta num_experts load_in_4bit model.max_length init_std
    """,
    "data": """
        experiment.dataset paths.train_file data.frame_interval
        data.path data.root dataset dataset_name dataset.name data_dir train_file train_data data.train tokenizer
        tokenizer_name max_seq_length max_seq_len seq_len block_size context_length max_source_length truncation padding
        transforms data.augmentation image_size img_size mixup cutmix_alpha shuffle drop_last num_classes sampler
        max_train_samples preprocessing_fn mlm_probability sample_rate data.normalize data.mean
        datasets.0.path vocab_file
    """,
    "split": """
        data.val_fraction val_ratio test_size split data.split train_split fold num_folds n_folds data.fold holdout_ids
        cv.n_splits splits.seed_name stratify validation_split
    """,
    "objective": """
        loss loss.name loss.type criterion label_smoothing label_smoothing_factor class_weights pos_weight temperature
        loss.margin objective.beta kl_coef lambda_gp entropy_coef focal_gamma ignore_index loss_fn
    """,
    "metric": """
        metric metrics metrics.0.name eval_metric metric.average metric_for_best_model greater_is_better topk
        metric.threshold num_beams monitor evaluation.protocol limit_val_batches
    """,
    "training": """
        lr learning_rate optimizer.lr optim.lr optimizer.name optimizer.type optimizer.weight_decay weight_decay
        adam_beta1 adam_epsilon optimizer.betas optimizer.eps momentum lr_scheduler_type scheduler.name scheduler.gamma
        scheduler.step_size warmup_steps warmup_ratio lr_config.warmup num_train_epochs max_epochs epochs max_steps
        train_iters max_iters batch_size train_batch_size per_device_train_batch_size micro_batch_size
        train_micro_batch_size_per_gpu global_batch_size data.batch_size dataloader.batch_size samples_per_gpu
        gradient_accumulation_steps accumulate_grad_batches trainer.accumulate_grad_batches grad_clip max_grad_norm
        gradient_clip_val trainer.gradient_clip_val gradient_clipping clip_grad precision trainer.precision fp16 bf16
        fp16.enabled amp torch_dtype loss_scale fp16.loss_scale initial_scale_power seed data.seed ema_decay
        nproc_per_node torchrun.nproc_per_node num_processes trainer.devices num_nodes strategy
        zero_optimization.stage early_stopping_patience sync_batchnorm AdamW.lr SGD.momentum StepLR.step_size
        DataLoader.batch_size
    """,
    "neutral": """
        num_workers data.num_workers dataloader_num_workers dataloader.pin_memory prefetch_factor persistent_workers
        output_dir log_dir save_dir checkpoint_dir cache_dir work_dir logging_steps log_interval log_every_n_steps
        eval_steps eval_interval eval_every save_steps save_every save_strategy evaluation_strategy
        check_val_every_n_epoch val_check_interval run_name exp_name experiment.name logger.name wandb.project
        wandb.tags report_to trainer.logger tags notes device gpu_ids master_port resume resume_from_checkpoint
        gradient_checkpointing compile torch_compile attn_implementation eval_batch_size per_device_eval_batch_size
        save_total_limit save_top_k checkpoint.every_n_epochs hydra.run.dir ddp_timeout find_unused_parameters
        overlap_comm steps_per_print disable_tqdm push_to_hub slurm.partition paths.output allgather_bucket_size
        ddp_find_unused_parameters optim_log_interval eval.batch_size
        eval_accumulation_steps bf16_full_eval
    """,
    "unknown": "frobnicate foo.bar x my_flag env.id benchmark",
}
TABLE = [(group, key) for group, keys in KEYS.items() for key in keys.split()]


@pytest.mark.parametrize(("group", "key"), TABLE, ids=[key for _, key in TABLE])
def test_a_setting_has_its_group(group: str, key: str) -> None:
    assert group_of(key) == group
