"""The Transformer: ids in, logits out. It knows neither text nor machine.

Read `transformer` first: encoder and decoder, made of `layers`, made of `attention`; `masks` say what may attend, and
`positions` where each token is. `cache` keeps keys and values of earlier positions while a translation is decoded.
`build` makes a model from its settings, and `capture` records its attention. `torch_transformer` is a second
implementation, to compare with ours.
"""
