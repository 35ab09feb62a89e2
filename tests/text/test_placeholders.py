"""The spans of a sentence, and what only looks like one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from span_texts import TEXTS

from dragoman.text.number_forms import MIN_COUNT, NumberCounts, number_form
from dragoman.text.placeholders import find_spans


def found(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in find_spans(text)]


@pytest.mark.parametrize(
    ("kind", "spans"),
    [
        (
            "placeholder",
            "{name} {{a.b}} {{ a.b }} {0} {} {0:.2f} %1$s %s %d %.2f %(name)s %(n)d $VAR ${VAR} $(VAR) [X7X]",
        ),
        (
            "placeholder",
            "%{name} #{user.name} [[name]] %<count>d %<n>.2f <%=name%> <?=$a->b?> $t(a.b) @:a.b @.lower:ab",
        ),
        ("placeholder", "%1 %PRODUCTNAME $[officename] %% &amp; &#39; &#xA0; &nbsp;"),
        ("tag", '<1> </1> <12/> <br /> <b> </b> <br/> <a href="x y"> <x id=1 class="a">'),
        (
            "link",
            "https://a.b/c_(d) http://x www.a.de mailto:a@b.c a.b+c@d-e.co.uk https://x.de/{id}?a=%20&b#c ftp://x/y "
            "HTTPS://A.DE/X WWW.A.DE Mailto:A@B.DE "
            r"README.md Bericht_05.03.2024.pdf a-1.2.tar.gz ../a/b.csv C:\d\e.TXT ..\a.txt \\s\d\e.xlsx ~/Übung.docx "
            "v2.3.1 node.js 550e8400-e29b-41d4-a716-446655440000 #FF00AA font_size server01.example.org",
        ),
        ("placeholder", r"%n %L1 <@U123> <#C1|general> <:name:123> \" \' \n \t \r\n"),
        (
            "link",
            r"@maria @maria@example.org @tom.x @scope/x @мария #name# #reading #3days #über #読書 C:\new\table \\s\n\t "
            "/usr/share/doc /etc/größe/ ~/a ./a ../a.b/c --no-color --output=a.b",
        ),
        ("placeholder", r"\(x^2\) \(\frac{a}{b}\) \[\mathbf{V}_1\]"),
        ("emoji", ":smile: :+1: :e-mail: :a::b:"),
        ("number", "10 2019 1,000.50 1.5e-10 978-3-16-148410-0 12:30 192.168.0.1 2024-01-05 5 १२,३४५ ٣٫١٤ 1/2"),
        ("emoji", "😀 👍🏽 👩‍👩‍👧 🇩🇪 ❤️ 1️⃣ #⃣ 😀😀 \ufdd0\ufdef"),
    ],
)
def test_spans_are_found_with_their_kind(kind: str, spans: str) -> None:
    for span in spans.replace("{{ a.b }}", "{{a.b}}").replace("x y", "x").split(" "):
        if span not in ("<br", "/>", "<a", "<x", "id=1") and not span.startswith(("href=", "class=")):
            for text in (span, f"Siehe {span}.", f"({span})", f"„{span}“, {span}!"):
                assert {each.kind for each in find_spans(text)} == {kind}, text
                assert set(found(text)) == {span}, text
    path = r"C:\Program Files\LibreOffice 7\my file.xlsx"
    assert found(f'Öffnen Sie "{path}" oder {path}.') == [path, path]
    for span in ("{{ a.b }}", '<a href="x y">', "<br />", '<x id=1 class="a">'):
        assert found(f"a {span}b") == [span]


@pytest.mark.parametrize(
    ("before", "after"), [("価格は", "です"), ("请看", "吧"), ("ราคา", "บาท"), ("សូម", "ទៅ"), ("ສົ່ງ", "ໄປ")]
)
def test_spans_in_scripts_without_spaces_touch_words(before: str, after: str) -> None:
    spans = "%s %d %.2f %1$s %(n)d %1 %n %1% $VAR ${VAR} {name} :smile: @maria @tom.x a.b+c@d-e.co.uk https://a.b/c "
    spans += "report.pdf font_size server01.example.org v2.3.1 <b> &nbsp; <%=a%> $t(a) /usr/share --no-color"
    for span in spans.split():
        assert found(f"{before}{span}{after}") == [span]


@pytest.mark.parametrize("ending", ["ը", "ի", "ی", "의", "개", "をの", "-ը"])
def test_placeholders_may_have_an_ending_in_another_script(ending: str) -> None:
    for span in ["%s", "%d", "%.2f", "%1$s", "%(n)d", "%1", "%n", "%1%", "{name}", "font_size"]:
        assert found(f"A {span}{ending}") == [span]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (r"Er sagt \[Anmerkung der Redaktion\] etwas \(ca. zwei Hunde\) und \(n-1\)", [r"\(n-1\)"]),
        ("100 %s", ["100", "%s"]),
        ("a <% if x -> y %> b <?php f(); ?> c <% x <?xml ?>", ["<% if x -> y %>", "<?php f(); ?>"]),
        ("und/oder 1/2 am 1/2/2026, 5 km/h, /ə/, / /, a/b/c, s/he/it, her /his, /sponsors/", ["1/2", "1/2/2026", "5"]),
        ("Ja -- er lief und --so kam er", []),
        ("Er lief und --so kam er – ja", []),
        ("--und dann kam er, --Nein, x--y, a---b", []),
        ("it's --it's, ein --Ende, --so- und", []),
        ("No sé --dijo Juan-- si vendrá. Ja --nein, Damen /Herren/Kinder", []),
        ("50% off, 100%ige Wolle, 20 % auf alles", ["50", "100", "20"]),
        ("100%s and %d%% and %%s", ["100", "%d", "%%", "%%"]),
        ("{ } {a b} {", []),
        ("$5 or $500, US$ 20, $", ["5", "500", "20"]),
        ("100%{x}, # {x}, [[ein Wort]], [name], %<5", ["100", "{x}", "{x}", "5"]),
        ("1 <2, a<1 b>, <1234>", ["1", "2", "1", "1234"]),
        ("Preis$VAR, 5$A, a$x$", ["$VAR", "5"]),
        ("B2B, MP3, 42nd, 1990s, A4, 3.x, v1, COVID-19, _x, x_", []),
        ("See https://a.b/c. Or https://a.b/c, (https://a.b/c)", ["https://a.b/c"] * 3),
        ("a < b and c > d, x <y and z> w, <3 apples", ["3"]),
        ("请访问https://a.com/b。共有5000个文件", ["https://a.com/b", "5000"]),
        ("www. mailto: http:// a@b", []),
        ("user@example.com.", ["user@example.com"]),
        ("Ende.Text, a.pdfs, .txt, 5 .md, a.md.b, z.B. 文.txt", ["5"]),
        ("请打开report.pdf文件。", ["report.pdf"]),
        (r"Zeile\nreadme.txt", [r"\n"]),
        ("pracę.po południu, a.community, Ende.Com", []),
        (r"nach C:\ und öffnen Sie a.pdf", ["a.pdf"]),
        (r"C:\x\a.txt und Bericht.pdf", [r"C:\x\a.txt", "Bericht.pdf"]),
        ("seit 2024-01-05T10:30Z, 2024-01-05T10:30:00.5+01:00.", ["2024-01-05T10:30Z", "2024-01-05T10:30:00.5+01:00"]),
        ("R&D & Co; #1 #2nd C# C#-Code F#m", ["1"]),
        ("Kinder @ Kino, 5 @ 3, a@b, x@ y, E-Mail@", ["5", "3"]),
        ("10:30:15 :, a:b:c, std::vector::x, :-), :D, |:---:|", ["10:30:15"]),
        (r"Ein Satz.\nNoch einer\nund einer.\r\n\tEnde: \"ja\"", [r"\n", r"\n", r"\r\n", r"\t", r"\"", r"\""]),
        (r"in C:\new\table.\nNeu und D:\My Files\new\x", [r"C:\new\table", r"\n", r"D:\My Files\new\x"]),
        (r"src\main\new, HKEY_X\y\new, \textbf{a}, $\nu$, \theta und \new, \\n", ["HKEY_X", "{a}"]),
        ("%1 von %10", ["%1", "%10"]),
        ("%10 indirim", ["10"]),
        ("♥ © ™ ✓ * # 1", ["1"]),
    ],
)
def test_what_only_looks_like_a_span_is_not_found(text: str, spans: list[str]) -> None:
    assert found(text) == spans


@given(text=TEXTS)
def test_spans_are_in_order_and_not_empty(text: str) -> None:
    last = 0
    for start, end, _ in find_spans(text):
        assert last <= start < end <= len(text)
        last = end


@pytest.mark.parametrize(
    "text",
    [
        "{" * 20_000,
        "<a b=" * 5_000,
        "1." * 20_000,
        "a." * 20_000,
        "a.txt/" * 8_000,
        "%" * 20_000,
        "%" + "0" * 20_000,
        "%5" + "0" * 20_000,
        "😀" * 20_000,
        "\\n" * 10_000,
        "C:\\" * 7_000,
        "C:\\a b " * 3_000,
        "\\a" * 10_000,
        "\\(" * 10_000,
        ":a" * 10_000,
        ":a:" * 7_000,
        "@a." * 7_000,
        "#1" * 10_000,
        "%10" * 7_000,
    ],
)
def test_long_texts_take_linear_time(text: str) -> None:
    start = time.process_time()
    list(find_spans(text))
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("0", ["7", "१"]),
        ("00", ["42"]),
        ("000", ["512", "1234567"]),
        ("0.0", ["2.5", "10.25"]),
        ("0.000", ["1.500"]),
        ("0,000", ["1,500"]),
        ("0:0", ["12:30"]),
        ("0..0", ["1.2.3", "192.168.0.1"]),
        ("0..0000", ["31.12.1999"]),
        ("0,,000", ["1,500,000"]),
        ("0,.0", ["1,500.25"]),
    ],
)
def test_numbers_have_forms(form: str, numbers: list[str]) -> None:
    assert {number_form(number) for number in numbers} == {form}


def test_forms_that_the_target_writes_differently_are_counted() -> None:
    counts = NumberCounts()
    for _ in range(MIN_COUNT):
        counts.add("Seit 2019 sind es 2,5 Kilo um 12:30.", "Since 2019 it has been 2.5 kilos at 12:30.")
        counts.add("Am 31.12.2019 waren es 1.500,25 Euro.", "On 12/31/2019 it was 1,500.25 euros.")
    assert counts.as_text() == {"0..0000"}
    assert counts.with_exchange() == {"0,0", "0.,0"}
    rare = NumberCounts()
    rare.add("2,5", "2.5")
    assert not rare.as_text()
    assert not rare.with_exchange()


@pytest.mark.parametrize("thousands", ["1,500", "1.500"])
def test_rare_numbers_with_both_separators_are_exchanged_if_thousands_and_decimals_are(thousands: str) -> None:
    counts = NumberCounts()
    for _ in range(MIN_COUNT):
        counts.add("2,5 und 1.500", f"2.5 and {thousands}")
    assert ("0.,0" in counts.with_exchange()) == (thousands == "1,500")
