"""What is known about each finding of `dragoman.doctor.examine`."""

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
        example="after a call with another source, the same ids lead to predictions that differ by up to 0.0021 in "
        "probability; tensors are kept in Translator.state; nothing else was checked",
        details="Attributes that hold tensors are listed if the model can be found: if `forward` is the model, or a "
        "function that uses it.",
    ),
    "unregistered-layers": FindingType(
        "error",
        "layers are kept in a Python list or dictionary, so that model.parameters(), model.eval(), model.to() and "
        "model.state_dict() do not reach them: they are neither trained nor saved",
        "use nn.ModuleList or nn.ModuleDict instead of a list or a dictionary",
        tested="the modules in plain attributes that a call uses",
        effect="these layers stay random, so translations hardly improve",
        chapter=3,
        example="the model uses layers that it has not registered: Translator.layers (2 EncoderLayers); they are in "
        "training mode, so their dropout is active",
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
        example="changing only later target tokens changes predictions by up to 0.021 in probability; a prediction "
        "depends on all later tokens",
        details="The message says how far the leak reaches. If it reaches only some tokens, the mask is shifted, or "
        "heads are reshaped without a transpose; a shift by one reaches one token further with each layer.",
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
        example="padding a source of 7 ids to 31 ids changes predictions by up to 0.047 in probability",
        details="With `parameters`, models that always pad to the same width are checked, too: changing the embedding "
        "of padding must change no prediction.",
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
        example="padding after the end of a target changes the predictions before it by up to 0.11 in probability",
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
        example="changing only the other sentences of a batch changes the predictions for a sentence by up to 0.02 in "
        "probability",
        details="Batch normalization leaks in training only: in evaluation mode it uses stored statistics. If the "
        "model can be found, as for [`kept-state`](#kept-state), the check is therefore repeated with "
        "`nn.BatchNorm1d` etc. in training mode. It is an error if predictions then depend on later target tokens, "
        "and a warning if they depend only on other sentences, as with batch normalization in an encoder. Modules "
        "that `train()` leaves in evaluation mode, or whose parameters are frozen, are not reported. The cause and "
        "the fix are those of batch normalization.",
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
        example="changing all words of the source changes no prediction",
        details="A causal mask in the cross-attention is also reported with this code: a target position then sees "
        "only the source words up to its own position. A bidirectional encoder partly hides this, so it is found only "
        "in untrained models, or if words have no effect on earlier target positions.",
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
        example="changing the last target token does not change the prediction after it, but earlier tokens do",
        details="A decoder that sees only the last token, for example because its cache keeps only the last key, is "
        "also reported with this code, but with another cause and fix.",
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
        example="reversing the words of the source has only 5.9e-07 times the effect of replacing them: the encoder "
        "does not use positions",
        details="For a decoder without positions, there is only a note: it can learn them from the causal mask, and "
        "some models are built that way. The cause is different, too, if the encoder uses positions in training only: "
        "without gradients, the fast path of `torch.nn.TransformerEncoder` ignores a position bias in a float mask.",
    ),
    "not-deterministic": FindingType(
        "error",
        "dropout is active during translation: model.eval() was not called, or F.dropout is called without "
        "training=self.training",
        "call model.eval() before validation and translation, and write F.dropout(x, p, self.training)",
        tested="the same ids twice",
        effect="the same sentence has a different and worse translation each time",
        chapter=6,
        example="the same ids lead to predictions that differ by up to 0.11 in probability; the other checks ran "
        "without dropout",
        details="All other checks then run without dropout. If the model has other random parts, the checks use a "
        "fixed seed.",
    ),
    "not-logits": FindingType(
        "error",
        "the model ends with a softmax, but cross-entropy applies softmax too; with two of them the gradients are "
        "tiny and the loss stays high",
        "return the output of the last projection without a softmax; torch.nn.functional.cross_entropy applies it",
        tested="outputs are not negative and sum to 1",
        effect="the loss applies a second softmax, hardly falls, and translations stay vague",
        chapter=4,
        example="the model returns probabilities instead of logits: no output is negative and they sum to 1",
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
        example="the untrained model has a loss of 10.0 nats on random words; uniform guessing gives 2.5",
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
        example="12 of 70 parameters have no gradient, although they change the predictions: "
        "transformer.encoder.layers.0 (12 parameters)",
        details="A gradient that consists only of rounding errors counts as none. There is a warning for embeddings "
        "that are also the output projection but receive a gradient only as input embeddings, and, even without "
        "`parameters`, for a word whose id is the `padding_idx` of an `nn.Embedding`, if the model can be found. "
        "Parameters that are trained only with an auxiliary loss, such as the codebook of a vector quantization, are "
        "reported, too, because the check knows only the logits.\n\n"
        "Parameters without any effect lead to a warning: the model creates a layer that it does not use, or calls "
        "another one by mistake. If only the last layer of a stack is used, this is an error. For experts that none "
        "of the 500 or more tokens reach, and for poolers of pretrained encoders, there is only a note.",
    ),
    "zero-at-start": FindingType(
        "note",
        "gates, adapters, tables of positions or an output layer start at zero (ReZero, LoRA), so that what is behind "
        "them has no effect until the first steps of training change them",
        "nothing needs to be done if these parameters are meant to start at zero; otherwise initialize them randomly",
        tested="parameters that are zero are replaced by random numbers",
        example="some parameters are zero and hide parts of the model; checks of their effect used random numbers "
        "instead: alpha",
        details="At the start, such a model does not depend on its source, its target, its positions or some of its "
        "parameters, but this is not a mistake. If a finding disappears with small random numbers for zeros, only "
        "this note remains. Only parameters that training changes are replaced: a gate that is frozen at zero is "
        "still an error. Leaks are then checked with the random numbers, too.",
    ),
    "masked-ids": FindingType(
        "warning",
        "the padding mask also hides other ids, such as that of unknown words (source > 0, or source != 0 with another "
        "pad_id), or it is made with the pad id of the other language",
        "compare with the pad id only: source_mask = source != pad_id, with the pad id of that language",
        tested="each word is replaced by padding; predictions must change",
        effect="these words are invisible and are never translated",
        chapter=2,
        example="ids are treated as padding, although they are words: 0 in the source",
        details="Each word of a small vocabulary is replaced by padding in a sentence; of a large vocabulary, the "
        "first 256 words and a sample of 256 others.",
    ),
    "changed-ids": FindingType(
        "warning",
        "forward() assigns to its ids (source[source == 3] = 4) or calls a method that changes them in place (such as "
        "masked_fill_), so that batches that are used again, and labels that share memory with the target, change, too",
        "change a copy: source = source.masked_fill(source == 3, 4), or source = source.clone() first",
        tested="the ids after a call",
        effect="batches that are used twice train on other sentences",
        chapter=4,
        example="forward changes the source ids that it is given",
        details="The other checks give copies to the model, so that this mistake does not affect them.",
    ),
    "created-in-forward": FindingType(
        "error",
        "forward() creates layers, such as nn.LayerNorm(d_model)(x) or nn.Linear(...)(x), instead of using layers that "
        "__init__() created; they are new in each call, so training never updates them",
        "create every layer in __init__(), assign it to an attribute, and call that attribute in forward()",
        tested="the parameters that are created in a call",
        effect="these layers stay random or constant",
        chapter=3,
        example="forward creates parameters of Linear (2 in each call), which no optimizer updates; their values are "
        "random in each call",
        details="It is a warning if the values are the same in each call, like those of a norm, and an error if they "
        "are random, like those of a linear layer.",
    ),
    "missing-activation": FindingType(
        "warning",
        "the activation function is missing, or its result is not used (h = self.linear1(x); a = self.relu(h); "
        "self.linear2(h)), so that both layers together are one linear function",
        "apply the activation function between the layers: self.linear2(self.relu(self.linear1(x)))",
        tested="pairs of linear layers with nothing in between",
        effect="the feed-forward layer can compute no more than a single matrix",
        chapter=3,
        example="no activation function before 1 of the linear layers, whose input is the output of another one: "
        "second",
        details="A pair whose first layer makes its input narrower, as in LoRA, is not reported.",
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
        example="after 600 training steps on two short sentences the loss is still 2.06 nats; uniform guessing gives "
        "3.91",
    ),
    "overflow": FindingType(
        "error",
        "a value is too large for its data type, or a softmax has no position left to attend to: masks of -1e9 in "
        "half precision, a row in which every score is -inf, a norm without epsilon, or exp() without subtracting "
        "the maximum first",
        "mask with torch.finfo(scores.dtype).min or use scaled_dot_product_attention; compute softmax and norms in "
        "float32",
        tested="calls with ordinary, long, padded and half-precision inputs",
        effect="NaN spreads to all weights in one step of training",
        chapter=5,
        example="a target of 128 ids leads to NaN or infinity",
        details="NaN or infinity for ordinary or long sentences is an error. In half precision it is a note: it "
        "matters only if you use the model that way.",
    ),
    "length-limit": FindingType(
        "warning",
        "the table of positions is too short, or a mask has a fixed size",
        "make the table of positions as long as the longest sentence you expect, or truncate longer sentences and "
        "log a warning",
        tested="sources and targets of 128 ids, or max_length",
        effect="long sentences fail",
        chapter=2,
        example="the model fails for a target of more than 50 ids: IndexError: index out of range in self",
    ),
    "called-as": FindingType(
        "note",
        "the model is not called with source and target ids, or returns something else than logits with the shape "
        "(batch, target, vocabulary)",
        "nothing needs to be done if this is how you call it; otherwise pass your own call as forward=lambda source, "
        "target: …, which also examines your masks",
        tested="the common forms of calls, one after another",
        example="model(source.T, target.T).transpose(0, 1)",
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
        example="12 norms with one number as gain or bias for all elements: encoder.layer.0.residual.0.norm, "
        "encoder.layer.0.residual.1.norm and 10 more",
    ),
    "shared-module": FindingType(
        "note",
        "one object is used at several places, because it was passed to several layers, or because a list contains it "
        "several times ([layer] * 6); some models do so on purpose (ALBERT, Universal Transformer)",
        "create one module for each place, or copy it with copy.deepcopy(module)",
        tested="how often each module is called, and where it is registered",
        effect="the places have to do with the same weights, so that the model is smaller than it looks",
        chapter=3,
        example="one attention is used for the target itself and for the source: decoder.0.attention",
    ),
    "softmax-dimension": FindingType(
        "warning",
        "softmax(dim=1) or softmax(dim=2), which is the dimension of heads or of queries in scores of shape (batch, "
        "heads, queries, keys)",
        "use softmax(dim=-1), so that the weights of all keys of a query sum to 1",
        tested="the dimension of the softmax and that of the product with the values",
        effect="what a position attends to depends on other positions or heads, later ones included",
        chapter=1,
        example="the softmax of attention is over dimension 1, but values are added up over the last one: "
        "encoder.0.attention",
    ),
    "skipped-sublayer": FindingType(
        "note",
        "forward() passes the input of the layer to the cross-attention (self.cross(x, memory)), not the result of the "
        "self-attention and its norm",
        "chain the sublayers: x = norm1(x + self_attention(x)), then x = norm2(x + cross_attention(x, memory))",
        tested="what the queries of self-attention and cross-attention are computed from",
        effect="what a layer looks for in the source does not depend on what its self-attention has found",
        chapter=3,
        example="the cross-attention reads the numbers that the self-attention reads, not its result: "
        "decoder.layers.0.cross",
    ),
    "attention-scale": FindingType(
        "note",
        "scores are divided by √d_model instead of the width of a head, or by nothing; or heads are never split",
        "divide by math.sqrt(q.shape[-1]) after splitting the heads; T5 divides by nothing, but its queries start "
        "small",
        tested="the factor between queries times keys and the softmax",
        effect="too large scores make attention look at one word and train slowly; too small ones blur it",
        chapter=1,
        example="scores are divided by 22.63 = √512, but a query has 64 numbers (√64 = 8): encoder.0.attention",
    ),
    "position-frequencies": FindingType(
        "note",
        "exp() is missing in exp(arange(0, d_model, 2) * -log(10000) / d_model), or the exponent counts twice (2 * i "
        "although i already steps by two)",
        "let the frequencies fall from 1 to about 1/10000: 10000 ** (-torch.arange(0, d_model, 2) / d_model)",
        tested="the sines in tables and calls",
        effect="distant or neighboring positions look alike, so that word order is learned late",
        chapter=2,
        example="the frequencies of the positions are evenly spaced, 0.432 radians apart, not geometric",
    ),
    "plain-tensor": FindingType(
        "note",
        "a table of positions or a scale is an ordinary attribute, so that model.to(device) leaves it behind and "
        "state_dict() does not save it",
        "self.register_buffer('table', table) for constants, nn.Parameter for what should be trained",
        tested="tensors in attributes are changed; predictions change",
        effect="it fails on a GPU; random tensors differ after loading, so that translations become nonsense",
        chapter=2,
        example="predictions depend on tensors that are neither parameters nor buffers: PositionalEncoding.encoding "
        "(200, 512)",
    ),
    "drowned-positions": FindingType(
        "note",
        "embeddings start with standard deviation 1 (the default of nn.Embedding) and are multiplied by √d_model, "
        "while sines are at most 1",
        "initialize embeddings with standard deviation d_model ** -0.5, or all matrices with Xavier uniform",
        tested="the size of the embeddings and of the positions that are added",
        effect="word order is learned late, and translations have the right words in a wrong order",
        chapter=2,
        example="the embeddings of words are 32 times as large as the positions that are added to them: "
        "encoder.embedding",
    ),
    "loss-form": FindingType(
        "error",
        "the loss is not a cross-entropy of logits: a softmax is applied twice or not at all, or it compares numbers "
        "that are not log-probabilities",
        "use torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)",
        tested="the gradient for logits, which must be probabilities minus the wanted ones",
        effect="the loss falls, but not because translations become more probable",
        chapter=4,
        example="the gradient for the logits is not that of cross-entropy: probabilities minus wanted probabilities",
    ),
    "loss-shift": FindingType(
        "error",
        "the decoder input and the labels are not shifted by exactly one token: the label is the input itself, or the "
        "shift happens both in the batch and in the loss",
        "shift once: inputs = target[:, :-1] and labels = target[:, 1:]",
        tested="which token the loss rewards at each position of the decoder input",
        effect="unshifted, the model learns to copy its input; shifted twice, it learns every second word",
        chapter=4,
        example="at each position of the decoder input, the loss rewards its own token, not the next one",
    ),
    "loss-padding": FindingType(
        "error",
        "positions with padding as label count",
        "pass ignore_index=pad_id to cross_entropy, or multiply the losses by labels != pad_id",
        tested="the logits at padding are changed; the loss must stay the same",
        effect="the loss looks good because padding is easy; translations may end too early",
        chapter=4,
        example="logits at positions whose label is padding change the loss",
    ),
    "loss-mean": FindingType(
        "warning",
        "the loss is a sum, a mean of the means of sentences, or is divided by positions that include padding",
        "divide the sum once by the number of labels that are not padding",
        tested="a batch, its sentences alone, and the same batch with more padding",
        effect="the step size depends on the batch, and words of short sentences count more",
        chapter=4,
        example="more padding changes the loss from 2.603 to 1.657: it is divided by positions with padding",
    ),
    "loss-smoothing": FindingType(
        "error",
        "with label smoothing, the wanted probabilities do not sum to 1",
        "give the right token 1 - smoothing, and divide smoothing among the tokens, as cross_entropy(…, "
        "label_smoothing=0.1) does",
        tested="the sum of the wanted probabilities in the gradient",
        effect="probabilities are wrong, so that a search compares hypotheses wrongly",
        chapter=4,
        example="the probabilities that the loss wants sum to 0.900",
    ),
    "search-not-repeatable": FindingType(
        "error",
        "dropout is active during search, or it samples",
        "call model.eval() before translation, and use torch.no_grad()",
        tested="the same sources twice",
        effect="the same sentence has a different and worse translation each time",
        chapter=6,
        example="the same sources lead to other translations",
    ),
    "search-stop": FindingType(
        "error",
        "the search does not stop at eos, or returns bos",
        "stop when the last token is eos, for each sentence of a batch, and return what is between bos and eos",
        tested="translations of random sources",
        effect="nonsense follows the end of a translation",
        chapter=6,
        example="a translation continues after eos",
    ),
    "search-batch": FindingType(
        "error",
        "a sentence is influenced by others in its batch: padding is not masked, finished sentences go on, or all of "
        "them stop at the first eos",
        "mask padding in the encoder and in the cross-attention, also with a cache; stop when every sentence has ended",
        tested="each source alone, in a batch, and with padding",
        effect="the translation of a sentence depends on the other sentences of its batch",
        chapter=6,
        example="a sentence has another translation with padding after its source (3 ids) than alone",
    ),
    "search-differs": FindingType(
        "error",
        "the search starts with another token than bos, reads the logits of another position, or its cache is wrong",
        "start with bos, take the logits of the last position, and compare with a search without a cache",
        tested="greedy search with the whole target in each step, which a beam of 1 and a cache must equal",
        effect="translations are worse than the model is",
        chapter=6,
        example="greedy search without a cache gives [6, 34, 2], this search [34, 34, 34]: it starts with eos instead "
        "of bos",
    ),
}
