"""Texts for tests of spans: anything, and pieces of what spans consist of."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = (
    '#{ %{ [[a ]] <1> %<a> @maria #tag #1 :smile: :a \\n \\t \\" C:\\new %10 %1 %n <@U1> '
    "C:\\ v %% &amp; # FF00AA .org _x a.txt .PDF / \\ - _ "
    """{ } {{ %s % $ $5 < > <br /> a@b .de http:// www. 1 2. , \ufdd0 \ufdef \ufffd \u200d \ufe0f 😀 १ x [X1X] = " '"""
    ' {% %} [b a="1" ] <%= %> <?php ?> $t( @: /usr /a ~/ --no-x --x -- ='
)
FRAGMENTS = st.lists(st.sampled_from([*_PIECES.split(" "), " ", "\u00a0", "\n"])).map("".join)
TEXTS = st.one_of(st.text(), FRAGMENTS)
