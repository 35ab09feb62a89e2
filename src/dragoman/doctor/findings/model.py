"""Severity, cause and fix of each finding of `dragoman.doctor.examine`."""

from __future__ import annotations

from dragoman.doctor.findings.finding import FindingType

MODEL_FINDINGS: dict[str, FindingType] = {
    "kept-state": FindingType(
        "error",
        "the model keeps a cache, a hidden state or the encoder output of one call in an attribute and uses it in the "
        "next call; or it draws random numbers that torch.manual_seed does not fix",
        "create caches and states in forward(), or pass them as arguments, and keep nothing between calls",
        tested="the same ids before and after another call",
        effect="a translation depends on what was translated before it",
        chapter=6,
    ),
    "unregistered-layers": FindingType(
        "error",
        "layers are kept in a Python list or dictionary, so that model.parameters(), model.eval(), model.to() and "
        "model.state_dict() do not reach them: they are neither trained nor saved",
        "use nn.ModuleList or nn.ModuleDict instead of a list or a dictionary",
        tested="the modules in plain attributes that a call uses",
        effect="these layers stay random, so translations hardly improve",
        chapter=3,
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
        tested="later target tokens are changed; earlier predictions must stay the same",
        effect="the training loss is far too good, and translations are nonsense or repeat one word, because the "
        "future is missing",
        chapter=2,
    ),
    "source-padding-leak": FindingType(
        "error",
        "the model attends to source padding: the padding mask is missing in the encoder's self-attention or, more "
        "often, in the decoder's cross-attention; or a mean, a norm or the capacity of experts includes the padding; "
        "or the heads are reshaped without a transpose, which mixes positions: x.view(batch, heads, length, -1)",
        "mask source == pad_id in both places (torch.nn.Transformer: src_key_padding_mask and "
        "memory_key_padding_mask), in training and in translation; split heads with "
        "x.view(batch, length, heads, -1).transpose(1, 2), and merge them with transpose(1, 2) before the reshape",
        tested="padding is added to sources; predictions must stay the same",
        effect="the translation of a sentence depends on the longest sentence in its batch",
        chapter=2,
    ),
    "target-padding-leak": FindingType(
        "error",
        "padding after the end of a target changes the predictions before it: the causal mask and the padding mask "
        "are combined with the wrong operator ('and' instead of 'or', or the reverse), or a computation depends on "
        "the width of the batch, such as heads that are reshaped without a transpose: x.view(batch, heads, length, -1)",
        "combine the masks as may_attend = causal & ~padding, and use target.shape[1] only to build the causal mask; "
        "split heads with x.view(batch, length, heads, -1).transpose(1, 2), and merge them with transpose(1, 2) before "
        "the reshape",
        tested="padding is put behind targets; predictions before it must stay the same",
        effect="training sees other predictions than translation, which has no padding behind a target",
        chapter=2,
    ),
    "batch-leak": FindingType(
        "error",
        "the sentences of a batch influence each other: the batch and time dimensions are swapped (torch modules "
        "expect time first unless batch_first=True), batch normalization is used, the mask of one sentence is "
        "applied to all, or experts choose among the tokens of all sentences",
        "attend only within a sentence, use layer normalization, and give each sentence its own mask",
        tested="all other sentences of a batch are changed; the predictions of one must stay the same",
        effect="the translation of a sentence depends on the other sentences of its batch",
        chapter=2,
    ),
    "source-ignored": FindingType(
        "error",
        "the encoder output does not reach the predictions: the decoder has no cross-attention, uses the target as "
        "its memory, masks the text instead of the padding, or never receives the encoder output",
        "pass the encoder output to every decoder layer as keys and values, and check that the source mask is not "
        "inverted",
        tested="words of the source are changed; predictions must change",
        effect="translations are fluent and have nothing to do with the source",
        chapter=3,
    ),
    "target-ignored": FindingType(
        "error",
        "the model shifts the target itself (it prepends bos or removes the last token) although its input already "
        "starts with bos, so targets are shifted twice; or the causal mask also hides the position itself "
        "(tril(diagonal=-1)), and there is no residual connection",
        "shift the target once: the input is bos + target and the labels are target + eos; in examine, pass a function "
        "that removes bos if the model adds it",
        tested="target tokens are changed; the prediction after them must change",
        effect="the next word does not fit the words before it: repeated and missing words",
        chapter=4,
    ),
    "position-blind": FindingType(
        "error",
        "positions are never added, are the same for every token, or are computed but not used, so the model treats "
        "a sentence as a bag of words",
        "add the position encoding to the embeddings along the time dimension, not the batch dimension "
        "(x = x + positions[:length]), or rotate the queries and keys in every layer",
        tested="words are moved; predictions must change as if words were replaced",
        effect="a sentence and the same words in another order have the same translation",
        chapter=2,
    ),
    "not-deterministic": FindingType(
        "error",
        "dropout is active during translation: model.eval() was not called, or F.dropout is called without "
        "training=self.training",
        "call model.eval() before validation and translation, and write F.dropout(x, p, self.training)",
        tested="the same ids twice",
        effect="the same sentence has a different and worse translation each time",
        chapter=6,
    ),
    "not-logits": FindingType(
        "error",
        "the model ends with a softmax, but cross-entropy applies softmax too; with two of them the gradients are "
        "tiny and the loss stays high",
        "return the output of the last projection without a softmax; torch.nn.functional.cross_entropy applies it",
        tested="outputs are not negative and sum to 1",
        effect="the loss applies a second softmax, hardly falls, and translations stay vague",
        chapter=4,
    ),
    "bad-initial-loss": FindingType(
        "warning",
        "the initial logits are too large: embeddings with standard deviation 1 (the default of nn.Embedding) are "
        "also used as the output projection, a deep pre-norm stack has no final norm, or a matrix was initialized "
        "for a different width",
        "initialize embeddings that are also the output projection with standard deviation d_model ** -0.5 and other "
        "matrices with Xavier uniform; the loss of an untrained model should be close to log(vocabulary size)",
        tested="the loss of random words, compared with guessing",
        effect="training starts by undoing the initial weights, and may diverge",
        chapter=5,
    ),
    "no-gradient": FindingType(
        "error",
        "detach(), .data, no_grad(), argmax or a conversion to NumPy stops the gradient before it reaches these "
        "parameters; or a router that chooses one expert divides the weight of that expert by itself",
        "remove detach(), .data and no_grad() from the forward pass, compute with tensors only, and multiply the "
        "output of a single expert by its probability",
        tested="the gradient of the loss for each parameter",
        effect="these parameters never learn",
        chapter=5,
    ),
    "zero-at-start": FindingType(
        "note",
        "gates, adapters, tables of positions or an output layer start at zero (ReZero, LoRA), so that what is behind "
        "them has no effect until the first steps of training change them",
        "nothing needs to be done if these parameters are meant to start at zero; otherwise initialize them randomly",
        tested="parameters that are zero are replaced by random numbers",
    ),
    "masked-ids": FindingType(
        "warning",
        "the padding mask also hides other ids, such as that of unknown words (source > 0, or source != 0 with another "
        "pad_id), or it is made with the pad id of the other language",
        "compare with the pad id only: source_mask = source != pad_id, with the pad id of that language",
        tested="each word is replaced by padding; predictions must change",
        effect="these words are invisible and are never translated",
        chapter=2,
    ),
    "changed-ids": FindingType(
        "warning",
        "forward() assigns to its ids (source[source == 3] = 4) or calls a method that changes them in place (such as "
        "masked_fill_), so that batches that are used again, and labels that share memory with the target, change, too",
        "change a copy: source = source.masked_fill(source == 3, 4), or source = source.clone() first",
        tested="the ids after a call",
        effect="batches that are used twice train on other sentences",
        chapter=4,
    ),
    "created-in-forward": FindingType(
        "error",
        "forward() creates layers, such as nn.LayerNorm(d_model)(x) or nn.Linear(...)(x), instead of using layers that "
        "__init__() created; they are new in each call, so training never updates them",
        "create every layer in __init__(), assign it to an attribute, and call that attribute in forward()",
        tested="the parameters that are created in a call",
        effect="these layers stay random or constant",
        chapter=3,
    ),
    "missing-activation": FindingType(
        "warning",
        "the activation function is missing, or its result is not used (h = self.linear1(x); a = self.relu(h); "
        "self.linear2(h)), so that both layers together are one linear function",
        "apply the activation function between the layers: self.linear2(self.relu(self.linear1(x)))",
        tested="pairs of linear layers with nothing in between",
        effect="the feed-forward layer can compute no more than a single matrix",
        chapter=3,
    ),
    "cannot-overfit": FindingType(
        "error",
        "the model cannot memorize two short sentences: its logits are bounded (by tanh, sigmoid or a norm), the "
        "target does not reach the logits, or the labels do not match the inputs",
        "use bos + target as the decoder input and target + eos as the labels; check every operation after the last "
        "projection",
        tested="training on two sentences",
        effect="the model cannot learn any translation well",
        chapter=5,
    ),
    "overflow": FindingType(
        "error",
        "a value is too large for its data type, or a softmax has no position left to attend to: masks of -1e9 in "
        "half precision, a row in which every score is -inf, a norm without epsilon, or exp() without subtracting "
        "the maximum first",
        "mask with torch.finfo(scores.dtype).min or use scaled_dot_product_attention; compute softmax and norms in "
        "float32",
        tested="calls with long, padded and half-precision inputs",
        effect="NaN spreads to all weights in one step of training",
        chapter=5,
    ),
    "length-limit": FindingType(
        "warning",
        "the table of positions is too short, or a mask has a fixed size",
        "make the table of positions as long as the longest sentence you expect, or truncate longer sentences and "
        "log a warning",
        tested="sources and targets of 128 ids, or max_length",
        effect="long sentences fail",
        chapter=2,
    ),
    "called-as": FindingType(
        "note",
        "the model is not called with source and target ids, or returns something else than logits with the shape "
        "(batch, target, vocabulary)",
        "nothing needs to be done if this is how you call it; otherwise pass your own call as forward=lambda source, "
        "target: …, which also examines your masks",
        tested="the common forms of calls, one after another",
    ),
    "scalar-norm": FindingType(
        "note",
        "the gain and the bias of a norm are single numbers (torch.ones(1)), so that the norm cannot weight the "
        "elements of a vector",
        "make gain and bias as long as the vectors, torch.ones(d_model) and torch.zeros(d_model), or use "
        "nn.LayerNorm(d_model)",
        tested="modules that return vectors of size 1, and their parameters",
        effect="a little worse: layers cannot choose which elements they read",
        chapter=3,
    ),
    "shared-module": FindingType(
        "note",
        "one object is used at several places, because it was passed to several layers, or because a list contains it "
        "several times ([layer] * 6); some models do so on purpose (ALBERT, Universal Transformer)",
        "create one module for each place, or copy it with copy.deepcopy(module)",
        tested="how often each module is called, and where it is registered",
        effect="the places have to do with the same weights, so that the model is smaller than it looks",
        chapter=3,
    ),
    "attention-scale": FindingType(
        "note",
        "scores are divided by √d_model instead of the width of a head, or by nothing; or heads are never split",
        "divide by math.sqrt(q.shape[-1]) after splitting the heads; T5 divides by nothing, but its queries start "
        "small",
        tested="the factor between queries times keys and the softmax",
        effect="too large scores make attention look at one word and train slowly; too small ones blur it",
        chapter=1,
    ),
    "position-frequencies": FindingType(
        "note",
        "exp() is missing in exp(arange(0, d_model, 2) * -log(10000) / d_model), or the exponent counts twice (2 * i "
        "although i already steps by two)",
        "let the frequencies fall from 1 to about 1/10000: 10000 ** (-torch.arange(0, d_model, 2) / d_model)",
        tested="the sines in tables and calls",
        effect="distant or neighboring positions look alike, so that word order is learned late",
        chapter=2,
    ),
    "plain-tensor": FindingType(
        "note",
        "a table of positions or a scale is an ordinary attribute, so that model.to(device) leaves it behind and "
        "state_dict() does not save it",
        "self.register_buffer('table', table) for constants, nn.Parameter for what should be trained",
        tested="tensors in attributes are changed; predictions change",
        effect="it fails on a GPU; random tensors differ after loading, so that translations become nonsense",
        chapter=2,
    ),
    "drowned-positions": FindingType(
        "note",
        "embeddings start with standard deviation 1 (the default of nn.Embedding) and are multiplied by √d_model, "
        "while sines are at most 1",
        "initialize embeddings with standard deviation d_model ** -0.5, or all matrices with Xavier uniform",
        tested="the size of the embeddings and of the positions that are added",
        effect="word order is learned late, and translations have the right words in a wrong order",
        chapter=2,
    ),
    "loss-form": FindingType(
        "error",
        "the loss is not a cross-entropy of logits: a softmax is applied twice or not at all, or it compares numbers "
        "that are not log-probabilities",
        "use torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)",
        tested="the gradient for logits, which must be probabilities minus the wanted ones",
        effect="the loss falls, but not because translations become more probable",
        chapter=4,
    ),
    "loss-shift": FindingType(
        "error",
        "the decoder input and the labels are not shifted by exactly one token: the label is the input itself, or the "
        "shift happens both in the batch and in the loss",
        "shift once: inputs = target[:, :-1] and labels = target[:, 1:]",
        tested="which token the loss rewards at each position of the decoder input",
        effect="unshifted, the model learns to copy its input; shifted twice, it learns every second word",
        chapter=4,
    ),
    "loss-padding": FindingType(
        "error",
        "positions with padding as label count",
        "pass ignore_index=pad_id to cross_entropy, or multiply the losses by labels != pad_id",
        tested="the logits at padding are changed; the loss must stay the same",
        effect="the loss looks good because padding is easy; translations may end too early",
        chapter=4,
    ),
    "loss-mean": FindingType(
        "warning",
        "the loss is a sum, a mean of the means of sentences, or is divided by positions that include padding",
        "divide the sum once by the number of labels that are not padding",
        tested="a batch, its sentences alone, and the same batch with more padding",
        effect="the step size depends on the batch, and words of short sentences count more",
        chapter=4,
    ),
    "loss-smoothing": FindingType(
        "error",
        "with label smoothing, the wanted probabilities do not sum to 1",
        "give the right token 1 - smoothing, and divide smoothing among the tokens, as cross_entropy(…, "
        "label_smoothing=0.1) does",
        tested="the sum of the wanted probabilities in the gradient",
        effect="probabilities are wrong, so that a search compares hypotheses wrongly",
        chapter=4,
    ),
    "search-not-repeatable": FindingType(
        "error",
        "dropout is active during search, or it samples",
        "call model.eval() before translation, and use torch.no_grad()",
        tested="the same sources twice",
        effect="the same sentence has a different and worse translation each time",
        chapter=6,
    ),
    "search-stop": FindingType(
        "error",
        "the search does not stop at eos, or returns bos",
        "stop when the last token is eos, for each sentence of a batch, and return what is between bos and eos",
        tested="translations of random sources",
        effect="nonsense follows the end of a translation",
        chapter=6,
    ),
    "search-batch": FindingType(
        "error",
        "a sentence is influenced by others in its batch: padding is not masked, or finished sentences go on",
        "mask padding in the encoder and in the cross-attention, also with a cache",
        tested="each source alone, in a batch, and with padding",
        effect="the translation of a sentence depends on the other sentences of its batch",
        chapter=6,
    ),
    "search-differs": FindingType(
        "error",
        "the search starts with another token than bos, reads the logits of another position, or its cache is wrong",
        "start with bos, take the logits of the last position, and compare with a search without a cache",
        tested="greedy search with the whole target in each step, which a beam of 1 and a cache must equal",
        effect="translations are worse than the model is",
        chapter=6,
    ),
}
