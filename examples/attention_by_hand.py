"""Attention by hand: two sentences of six words with vectors made up for them, and the weights printed.

Each word has eight made-up features. Words that share features attend to each other: no training, only
softmax(Q K^T / sqrt(d)) V. Run it, change a number, run it again:

python examples/attention_by_hand.py
"""

from __future__ import annotations

import numpy as np

from dragoman.reference.attention import (
    AdditiveScorer,
    Array,
    Linear,
    Projections,
    additive_attention,
    causal_mask,
    multi_head_attention,
    scaled_dot_product_attention,
)

#            person animal  place  thing action  small    red grammar
ENGLISH = {
    "the": [0, 0, 0, 0, 0, 0, 0, 3],
    "small": [0, 0, 0, 0, 0, 3, 0, 0],
    "dog": [0, 3, 0, 0, 0, 1, 0, 0],
    "finds": [0, 0, 0, 0, 3, 0, 0, 0],
    "red": [0, 0, 0, 0, 0, 0, 3, 0],
    "balls": [0, 0, 0, 3, 0, 0, 1, 0],
}
GERMAN = {
    "der": [0, 0, 0, 0, 0, 0, 0, 3],
    "kleine": [0, 0, 0, 0, 0, 3, 0, 0],
    "Hund": [0, 3, 0, 0, 0, 1, 0, 0],
    "findet": [0, 0, 0, 0, 3, 0, 0, 0],
    "rote": [0, 0, 0, 0, 0, 0, 3, 0],
    "Bälle": [0, 0, 0, 3, 0, 0, 1, 0],
}


def main() -> None:
    """Print the weights of every kind of attention."""
    english, german = (np.array(list(words.values()), dtype=np.float64) for words in (ENGLISH, GERMAN))  # (6, 8) each

    _, weights = scaled_dot_product_attention(english, english, english)
    show("Self-attention: every English word looks at the English words", weights, ENGLISH, ENGLISH)

    _, weights = scaled_dot_product_attention(english, english, english, causal_mask(6))
    show("The same, and no word sees those after it", weights, ENGLISH, ENGLISH)

    _, weights = scaled_dot_product_attention(german, english, english)
    show("Cross-attention: every German word looks at the English words", weights, GERMAN, ENGLISH)

    identity = Linear(np.eye(8))
    _, heads = multi_head_attention(german, english, Projections(identity, identity, identity, identity), heads=2)
    for number, weights in enumerate(heads, start=1):
        half = "person to thing" if number == 1 else "action to grammar"
        show(f"Head {number} of 2 sees half of the features, from {half}", weights, GERMAN, ENGLISH)

    # tanh(q + k) grows where both have a feature; the scorer adds it up over the features
    scorer = AdditiveScorer(identity, identity, 6.0 * np.ones(8))
    _, weights = additive_attention(german - 3, english - 1, english, scorer)
    show("Additive attention (Bahdanau et al. 2015) in place of the dot product", weights, GERMAN, ENGLISH)


def show(title: str, weights: Array, rows: dict[str, list[int]], columns: dict[str, list[int]]) -> None:
    """Print weights, (6, 6), with the queries' words to the left and the keys' words above."""
    print(f"\n{title}")
    print(" " * 8 + "".join(f"{word:>8}" for word in columns))
    for word, row in zip(rows, weights, strict=True):
        print(f"{word:>8}" + "".join(f"{weight:8.2f}" for weight in row))


if __name__ == "__main__":
    main()
