"""Random texts to compare two implementations: letters of many scripts, spans, spaces and reserved characters."""

from __future__ import annotations

import random

_LETTERS = (
    "abcdefghij ABC äöüß",
    "कखगघा ि़",
    "漢字かな カ กขค",
    "éèıİΣσςﬁ①Ⅳ² Ａ１",
    "Łódź Нью-Йорк",
    "e\u0301u\u0308o\u0302\u0323",
)
_SYMBOLS = (
    "▁ \t\x00\x85\u00a0\u200b\ufeff\u3000x",
    "<unk><pad><s></s><0x0A>0x< ",
    "😀👨‍👩‍👧🇩🇪👍🏽☃♪→€©&“”„–",
    "\ufdd0\ufdd5\ufdef\U0001fffe %s {a}",
)
_SPANS = (
    """{{a.b}} %s %1$s %d %5.2f % $5 $VAR $a$ ${x} $(x.y) {name} {0} < > <br /> </b> <a|href="x|y"|id=3> <a|b='c'/> """
    """a@b.de http:// http://x.de/a(b). www.x.org, mailto:a 1 2. 31.12.1999 1,500 12:30 2.5 192.168.0.1 42nd B2B ² """
    """[X1X] = " ' ’ “ „ – — & R&D 1️⃣ #️⃣ #⃣ १ %PATH% %PRODUCTNAME 100% %% Haus Der ein ß / // _ ! ( ) [ ] * - """
    """a.txt C:\\ \\n.md v1.2 #FF00AA a_b &amp; x.org 1e5 %% 1234567890 @maria @a@b.de #tag #1 #2nd #3d :x: :+1: :-: """
    """<%= %> <%|a->b|%> <?php ?> $t(a) @:a.b /usr/share/a. /usr /a ~/b ./c --no-x --ab=c. --x -- --- it's --it's """
    """\\n \\t \\r\\n \\\" \\a \\nein \\text{ C:\\new\\x. \\\\a\\b %10 %1 %n %L2 <@U1> <:a:1>"""
)


def strange_texts(count: int) -> list[str]:
    """Texts, the same at each call."""
    generator = random.Random(1)
    spans = [span.replace("|", " ") for span in _SPANS.split(" ")]
    characters = ["".join(_LETTERS), "".join(_SYMBOLS), *_LETTERS, *_SYMBOLS]

    def text() -> str:
        length = generator.randrange(30)
        if generator.random() < 0.5:
            return "".join(generator.choice(spans) + generator.choice(["", " "]) for _ in range(length // 2))
        return "".join(generator.choice(generator.choice(characters)) for _ in range(length))

    return [text() for _ in range(count)]
