"""Severity, cause and fix of each finding of `dragoman.doctor.examine`."""

from __future__ import annotations

from dragoman.doctor.findings.finding import FindingType

MODEL_FINDINGS: dict[str, FindingType] = {
    "kept-state": FindingType(
        "error",
        "the model keeps a cache, a hidden state or the encoder output of one call in an attribute and uses it in the "
        "next call; or it draws random numbers that torch.manual_seed does not fix",
        "create caches and states in forward(), or pass them as arguments, and keep nothing between calls",
    ),
    "unregistered-layers": FindingType(
        "error",
        "layers are kept in a Python list or dictionary, so that model.parameters(), model.eval(), model.to() and "
        "model.state_dict() do not reach them: they are neither trained nor saved",
        "use nn.ModuleList or nn.ModuleDict instead of a list or a dictionary",
    ),
    "future-leak": FindingType(
        "error",
        "the causal mask is missing, given to another attention, shifted by one position, inverted or never applied "
        "(scores.masked_fill(...) returns a new tensor and leaves scores unchanged); or a mixture of experts chooses "
        "among the tokens of several positions (experts with a capacity, or experts that choose tokens); or the heads "
        "are reshaped without a transpose, which mixes positions: x.view(batch, heads, length, -1)",
        "give the decoder's self-attention a mask that lets position i attend only to positions 0 to i, and use the "
        "tensor that masked_fill returns; True means 'may not attend' in torch.nn.MultiheadAttention but 'may attend' "
        "in scaled_dot_product_attention; let a router decide for each token by itself; split heads with "
        "x.view(batch, length, heads, -1).transpose(1, 2), and merge them with transpose(1, 2) before the reshape",
    ),
    "source-padding-leak": FindingType(
        "error",
        "the model attends to source padding: the padding mask is missing in the encoder's self-attention or, more "
        "often, in the decoder's cross-attention; or a mean, a norm or the capacity of experts includes the padding; "
        "or the heads are reshaped without a transpose, which mixes positions: x.view(batch, heads, length, -1)",
        "mask source == pad_id in both places (torch.nn.Transformer: src_key_padding_mask and "
        "memory_key_padding_mask), in training and in translation; split heads with "
        "x.view(batch, length, heads, -1).transpose(1, 2), and merge them with transpose(1, 2) before the reshape",
    ),
    "target-padding-leak": FindingType(
        "error",
        "padding after the end of a target changes the predictions before it: the causal mask and the padding mask "
        "are combined with the wrong operator ('and' instead of 'or', or the reverse), or a computation depends on "
        "the width of the batch, such as heads that are reshaped without a transpose: x.view(batch, heads, length, -1)",
        "combine the masks as may_attend = causal & ~padding, and use target.shape[1] only to build the causal mask; "
        "split heads with x.view(batch, length, heads, -1).transpose(1, 2), and merge them with transpose(1, 2) before "
        "the reshape",
    ),
    "batch-leak": FindingType(
        "error",
        "the sentences of a batch influence each other: the batch and time dimensions are swapped (torch modules "
        "expect time first unless batch_first=True), batch normalization is used, the mask of one sentence is "
        "applied to all, or experts choose among the tokens of all sentences",
        "attend only within a sentence, use layer normalization, and give each sentence its own mask",
    ),
    "source-ignored": FindingType(
        "error",
        "the encoder output does not reach the predictions: the decoder has no cross-attention, uses the target as "
        "its memory, masks the text instead of the padding, or never receives the encoder output",
        "pass the encoder output to every decoder layer as keys and values, and check that the source mask is not "
        "inverted",
    ),
    "target-ignored": FindingType(
        "error",
        "the model shifts the target itself (it prepends bos or removes the last token) although its input already "
        "starts with bos, so targets are shifted twice; or the causal mask also hides the position itself "
        "(tril(diagonal=-1)), and there is no residual connection",
        "shift the target once: the input is bos + target and the labels are target + eos; in examine, pass a function "
        "that removes bos if the model adds it",
    ),
    "position-blind": FindingType(
        "error",
        "positions are never added, are the same for every token, or are computed but not used, so the model treats "
        "a sentence as a bag of words",
        "add the position encoding to the embeddings along the time dimension, not the batch dimension "
        "(x = x + positions[:length]), or rotate the queries and keys in every layer",
    ),
    "not-deterministic": FindingType(
        "error",
        "dropout is active during translation: model.eval() was not called, or F.dropout is called without "
        "training=self.training",
        "call model.eval() before validation and translation, and write F.dropout(x, p, self.training)",
    ),
    "not-logits": FindingType(
        "error",
        "the model ends with a softmax, but cross-entropy applies softmax too; with two of them the gradients are "
        "tiny and the loss stays high",
        "return the output of the last projection without a softmax; torch.nn.functional.cross_entropy applies it",
    ),
    "bad-initial-loss": FindingType(
        "warning",
        "the initial logits are too large: embeddings with standard deviation 1 (the default of nn.Embedding) are "
        "also used as the output projection, a deep pre-norm stack has no final norm, or a matrix was initialized "
        "for a different width",
        "initialize embeddings that are also the output projection with standard deviation d_model ** -0.5 and other "
        "matrices with Xavier uniform; the loss of an untrained model should be close to log(vocabulary size)",
    ),
    "no-gradient": FindingType(
        "error",
        "detach(), .data, no_grad(), argmax or a conversion to NumPy stops the gradient before it reaches these "
        "parameters; or a router that chooses one expert divides the weight of that expert by itself",
        "remove detach(), .data and no_grad() from the forward pass, compute with tensors only, and multiply the "
        "output of a single expert by its probability",
    ),
    "zero-at-start": FindingType(
        "note",
        "gates, adapters, tables of positions or an output layer start at zero (ReZero, LoRA), so that what is behind "
        "them has no effect until the first steps of training change them",
        "nothing needs to be done if these parameters are meant to start at zero; otherwise initialize them randomly",
    ),
    "masked-ids": FindingType(
        "warning",
        "the padding mask also hides other ids, such as that of unknown words (source > 0, or source != 0 with another "
        "pad_id), or it is made with the pad id of the other language",
        "compare with the pad id only: source_mask = source != pad_id, with the pad id of that language",
    ),
    "changed-ids": FindingType(
        "warning",
        "forward() assigns to its ids (source[source == 3] = 4) or calls a method that changes them in place (such as "
        "masked_fill_), so that batches that are used again, and labels that share memory with the target, change, too",
        "change a copy: source = source.masked_fill(source == 3, 4), or source = source.clone() first",
    ),
    "created-in-forward": FindingType(
        "error",
        "forward() creates layers, such as nn.LayerNorm(d_model)(x) or nn.Linear(...)(x), instead of using layers that "
        "__init__() created; they are new in each call, so training never updates them",
        "create every layer in __init__(), assign it to an attribute, and call that attribute in forward()",
    ),
    "missing-activation": FindingType(
        "warning",
        "the activation function is missing, or its result is not used (h = self.linear1(x); a = self.relu(h); "
        "self.linear2(h)), so that both layers together are one linear function",
        "apply the activation function between the layers: self.linear2(self.relu(self.linear1(x)))",
    ),
    "cannot-overfit": FindingType(
        "error",
        "the model cannot memorize two short sentences: its logits are bounded (by tanh, sigmoid or a norm), the "
        "target does not reach the logits, or the labels do not match the inputs",
        "use bos + target as the decoder input and target + eos as the labels; check every operation after the last "
        "projection",
    ),
    "overflow": FindingType(
        "error",
        "a value is too large for its data type, or a softmax has no position left to attend to: masks of -1e9 in "
        "half precision, a row in which every score is -inf, a norm without epsilon, or exp() without subtracting "
        "the maximum first",
        "mask with torch.finfo(scores.dtype).min or use scaled_dot_product_attention; compute softmax and norms in "
        "float32",
    ),
    "length-limit": FindingType(
        "warning",
        "the table of positions is too short, or a mask has a fixed size",
        "make the table of positions as long as the longest sentence you expect, or truncate longer sentences and "
        "log a warning",
    ),
}
