"""Models of text, from transformers, with the sizes in workloads/models. Needs torch and transformers."""

from __future__ import annotations

import torch
import transformers
from objective import Built, WrongModel
from plan import Run

DROPOUT = 0.1  # everywhere in BERT, GPT-2 and T5, as published; also the default of their configurations


def build(run: Run, document: dict) -> Built:
    """Model, loss and random tokens; `document` is the model's file."""
    make = {"bert": _bert, "gpt2": _gpt2, "decoder": _decoder, "encoder_decoder": _encoder_decoder}[run.family]
    built = make(run, document[run.family])
    attention = built.model.config._attn_implementation  # no public name says which one was taken
    if attention != run.options.attention:
        raise WrongModel(f"attention '{attention}', not '{run.options.attention}'")
    return built


def _bert(run: Run, sizes: dict) -> Built:
    config = transformers.BertConfig(
        vocab_size=sizes["vocabulary"],
        hidden_size=sizes["hidden"],
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["intermediate"],
        max_position_embeddings=sizes["positions"],
        type_vocab_size=sizes["segments"],
        hidden_act="gelu",
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
        tie_word_embeddings=True,
    )
    model = transformers.AutoModelForPreTraining.from_config(config, attn_implementation=run.options.attention)
    batch, length = run.batch_per_gpu, run.sequence_length
    is_all_tokens = run.variant == "all_tokens"
    predicted = length if is_all_tokens else sizes["predictions"][length]
    tokens = torch.randint(1, sizes["vocabulary"], (batch, length))  # 0 is padding, which gets no gradient
    segments = torch.randint(sizes["segments"], (batch, length))
    masked = torch.rand(batch, length).topk(predicted).indices.sort().values
    positions = (masked + length * torch.arange(batch).unsqueeze(1)).flatten()
    labels = torch.randint(1, sizes["vocabulary"], (batch * predicted,))
    is_next = torch.randint(2, (batch,))
    criterion = torch.nn.CrossEntropyLoss()

    def loss(
        model: torch.nn.Module,
        tokens: torch.Tensor,
        segments: torch.Tensor,
        positions: torch.Tensor,
        labels: torch.Tensor,
        is_next: torch.Tensor,
    ) -> torch.Tensor:
        encoded = model.bert(input_ids=tokens, token_type_ids=segments)
        hidden = encoded.last_hidden_state.flatten(0, 1)
        if not is_all_tokens:
            hidden = hidden.index_select(0, positions)
        words, relation = model.cls(hidden, encoded.pooler_output)
        return criterion(words, labels) + criterion(relation, is_next)

    return Built(model, loss, (tokens, segments, positions, labels, is_next))


def _gpt2(run: Run, sizes: dict) -> Built:
    config = transformers.GPT2Config(
        vocab_size=sizes["vocabulary"],
        n_embd=sizes["hidden"],
        n_layer=sizes["layers"],
        n_head=sizes["heads"],
        n_positions=sizes["positions"],
        activation_function="gelu_new" if run.variant == "gelu_new" else "gelu_pytorch_tanh",
        resid_pdrop=DROPOUT,
        embd_pdrop=DROPOUT,
        attn_pdrop=DROPOUT,
        tie_word_embeddings=True,
    )
    return _next_token(run, config)


def _decoder(run: Run, sizes: dict) -> Built:
    """Llama, or Qwen 3, which alone norms queries and keys."""
    make = transformers.Qwen3Config if sizes.get("qk_norm") else transformers.LlamaConfig
    config = make(
        vocab_size=sizes["vocabulary"],
        hidden_size=sizes["hidden"],
        intermediate_size=sizes["ffn"],
        num_hidden_layers=run.options.layers or sizes["layers"],
        num_attention_heads=sizes["heads"],
        num_key_value_heads=sizes.get("kv_heads", sizes["heads"]),
        head_dim=sizes.get("head_dim", sizes["hidden"] // sizes["heads"]),
        max_position_embeddings=sizes["sequence_length"],
        tie_word_embeddings=sizes["tied"],
    )
    return _next_token(run, config)


def _next_token(run: Run, config: transformers.PreTrainedConfig) -> Built:
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=run.options.attention)
    tokens = torch.randint(config.vocab_size, (run.batch_per_gpu, run.sequence_length))
    return Built(model, lambda model, tokens: model(input_ids=tokens, labels=tokens, use_cache=False).loss, (tokens,))


def _encoder_decoder(run: Run, sizes: dict) -> Built:
    config = transformers.T5Config(
        vocab_size=sizes["vocabulary"],
        d_model=sizes["hidden"],
        d_kv=sizes["head_dim"],
        d_ff=sizes["ffn"],
        num_layers=sizes["layers"],
        num_heads=sizes["heads"],
        dropout_rate=DROPOUT,
        decoder_start_token_id=0,
    )
    model = transformers.AutoModelForSeq2SeqLM.from_config(config, attn_implementation=run.options.attention)
    read = torch.randint(1, sizes["vocabulary"], (run.batch_per_gpu, run.sequence_length))
    written = torch.randint(1, sizes["vocabulary"], (run.batch_per_gpu, sizes["decoder_sequence_length"]))
    return Built(
        model, lambda model, read, written: model(input_ids=read, labels=written, use_cache=False).loss, (read, written)
    )
