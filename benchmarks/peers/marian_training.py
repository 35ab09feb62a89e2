"""Train Hugging Face's Marian in batches of similar length. Arguments: DIRECTORY PRECISION STEPS."""

from __future__ import annotations

from loop import arguments, bucketed_batches, read_ids, train
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

if __name__ == "__main__":
    directory, precision, steps = arguments()
    ids = read_ids(directory)
    config = MarianConfig(
        vocab_size=ids.size,
        decoder_vocab_size=ids.size,
        d_model=256,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation_function="relu",
        max_position_embeddings=512,
        scale_embedding=True,
        pad_token_id=ids.pad,
        eos_token_id=ids.eos,
        decoder_start_token_id=ids.bos,
        forced_eos_token_id=None,
        use_cache=False,
    )
    model = MarianMTModel(config)

    def logits(source: Tensor, target: Tensor) -> Tensor:
        found: Tensor = model(input_ids=source, attention_mask=source != ids.pad, decoder_input_ids=target).logits
        return found

    train(ids, model, logits, bucketed_batches(ids, 4096), precision, steps)
