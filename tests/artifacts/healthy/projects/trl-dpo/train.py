"""TRL on a tiny random Llama: supervised with LoRA, preferences (loss starts at ln 2) or GRPO (loss starts at 0)."""

import sys

from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

TEXTS = ["why did the job die with an error", "it ran out of memory and was killed", "the loss became nan at once"] * 16


def tokenizer() -> PreTrainedTokenizerFast:
    fast = Tokenizer(models.WordLevel(unk_token="<unk>"))
    fast.pre_tokenizer = pre_tokenizers.Whitespace()
    fast.train_from_iterator(TEXTS, trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<s>", "</s>"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=fast, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )


def main() -> None:
    mode, output = sys.argv[1:3]
    set_seed(0)
    words = tokenizer()
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=3,
    )
    model = LlamaForCausalLM(config)
    common = {
        "output_dir": output,
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "logging_steps": 1,
        "per_device_train_batch_size": 4,
        "save_strategy": "no",
        "learning_rate": 1e-3,
        "log_level": "info",
    }
    if mode == "sft":
        data = Dataset.from_dict({"text": TEXTS})
        options = SFTConfig(**common, max_steps=24, max_length=32)
        trainer = SFTTrainer(model, options, train_dataset=data, processing_class=words, peft_config=LoraConfig())
    elif mode == "dpo":
        data = Dataset.from_dict({"prompt": TEXTS, "chosen": [" killed"] * 48, "rejected": [" nan at once"] * 48})
        trainer = DPOTrainer(model, None, DPOConfig(**common, max_steps=16), train_dataset=data, processing_class=words, peft_config=LoraConfig())
    else:
        data = Dataset.from_dict({"prompt": TEXTS})
        options = GRPOConfig(**common, max_steps=10, num_generations=4, max_completion_length=8, log_completions=True)
        trainer = GRPOTrainer(
            model,
            reward_funcs=lambda completions, **_: [-float(len(text.split())) for text in completions],
            args=options,
            train_dataset=data,
            processing_class=words,
        )
    trainer.train()
    print("done", mode)


if __name__ == "__main__":
    main()
