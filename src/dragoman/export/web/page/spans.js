// Finds the parts of a sentence that translators copy, by the same rules as `dragoman.text.placeholders`.

const WORD = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`;

/** Letters of scripts that put no spaces between words. */
export const WITHOUT_SPACES = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");

const LETTER = `[${WORD}--[${WITHOUT_SPACES}]]`;
const SPACE = String.raw`\p{White_Space}`;

const OTHER_ESCAPE = String.raw`\\[^nrt"'\\${SPACE}]`;
const SOLID = `[^${SPACE}]`;
const LINE_ESCAPE =
  String.raw`(?<!\\)(?<!${OTHER_ESCAPE}${SOLID}{0,80})(?:\\r)?\\` +
  String.raw`(?:(?<=[^${SPACE}$%\\\(\[\{\}\|&=\^_]\\)[nrt]|[nrt](?![a-z]))` +
  String.raw`(?![a-z]+[\{\[]|${SOLID}{0,80}?${OTHER_ESCAPE})`; // \n, but no path and no command of LaTeX

const WIDTH = String.raw`[\-+0#]*(?:(?!0)\p{Nd}\p{Nd}*)?`; // ambiguous zeros would take quadratic time
const CONVERSION = String.raw`${WIDTH}(?:\.\p{Nd}+)?(?:hh?|ll?|[zjtqL])?[sdiufxXeEgGcrp@]`;
// Version 20 of Node does not find (?:${SETTING})+ with the flag v.
const SETTING = String.raw`[${SPACE}]+(?:${WORD}|-)+=(?:"[^"\]\n]*"|'[^'\]\n]*')`;
const PLACEHOLDER = [
  String.raw`\{\{[^\{\}\n]{1,80}\}\}`, // {{a.b}}
  String.raw`\{%[^\{\}\n]{1,80}%\}`, // {% if a %}
  String.raw`\[[a-z](?:${WORD}|-)*${SETTING}(?:${SETTING})*[${SPACE}]*\/?\]`, // [gallery ids="1,2"]
  String.raw`[$#]\{[^\{\}${SPACE}]{1,80}\}|(?<!\p{Nd})%\{[^\{\}${SPACE}]{1,80}\}`, // ${VAR}, #{user}, %{name}
  String.raw`\$[\(\[][A-Za-z_](?:${WORD}|\.)*[\)\]]|\[\[[A-Za-z_][A-Za-z0-9_.]*\]\]`, // $(VAR), $[name], [[name]]
  String.raw`\{[^\{\}${SPACE}]{0,80}\}`, // {name}, {0}, {}
  String.raw`(?<![\p{Nd}$])(?=(?<variable>\$[A-Za-z_]${WORD}*))\k<variable>(?!\$)`, // $VAR, but no price
  String.raw`%(?:\p{Nd}+\$|\((?:${WORD}|[.\-])+\)|<[A-Za-z_]${WORD}*>)${CONVERSION}`, // %1$s, %(name)s, %<name>s
  String.raw`(?<![\p{Nd}%])%${CONVERSION}(?!${WORD})`, // %s, %d, %.2f, but not the percent sign of 100%
  String.raw`(?<![\p{Nd}%])%(?:L?[1-9n](?!${WORD})|[A-Z][A-Z0-9_]{2,}%?)`, // %1, %L1, %n, %PRODUCTNAME, %PATH%
  String.raw`(?<![\p{Nd}%])%[1-9]\p{Nd}(?!${WORD})(?:(?=[^\n]{0,200}%[1-9](?!${WORD}))|(?<=%[1-9](?!${WORD})[^\n]{0,200}))`, // %10 with %1
  String.raw`(?<!%)%%(?!%)`, // %% of printf
  String.raw`&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\p{Nd}{1,7}|#[xX][0-9A-Fa-f]{1,6});`, // &amp;
  String.raw`\[X\p{Nd}+X\]`,
  String.raw`<[@#!:][^<>${SPACE}]{1,80}>`, // <@U123>, <#C1|general>, <:name:123> of chats
  String.raw`(?<!\\)\\["']|${LINE_ESCAPE}`, // \", \n, \t
].join("|");

const VALUE = String.raw`"[^"<>]*"|'[^'<>]*'|[^${SPACE}"'<>=\/]+`;
const ATTRIBUTE = String.raw`[${SPACE}]+(?:${WORD}|[:.\-])+[${SPACE}]*=[${SPACE}]*(?:${VALUE})`;
const TAG = String.raw`<\/?(?:[A-Za-z](?:${WORD}|[:.\-])*(?:${ATTRIBUTE})*[${SPACE}]*|\p{Nd}{1,3})\/?>`;

const ADDRESS = String.raw`[[${WORD}\-._~:\/?#\[\]@!$&'\(\)*+,;=%\{\}\|]--[${WITHOUT_SPACES}]]+`;
const anyCase = (pattern) => pattern.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const SCHEME = anyCase(String.raw`(?:https?|ftps?|sftp|file|ssh|git|svn|ldap):\/\/|mailto:|www\.`);
const EXTENSION =
  "pdf|docx?|xls[xm]?|pptx?|od[tspg]|ot[tspg]|txt|rtf|csv|tsv|jsonl?|xml|html?|css|js|ts|py|java|cpp|zip|gz|bz2|xz|7z" +
  "|rar|jpe?g|png|gif|svg|bmp|tiff?|webp|mp[34]|wav|avi|exe|dll|deb|rpm|iso|ini|conf|cfg|ya?ml|toml|md|tex|log|sh|sql" +
  "|db|tmx|xliff|xlf";
const FILE_CHARACTERS = String.raw`[[${WORD}.+~\/\-]--[${WITHOUT_SPACES}]]`;
const NO_PATH = String.raw`\\\/:*?"<>\|\n`; // characters that names of files and directories in Windows do not have
const WINDOWS_PATH =
  String.raw`[A-Za-z]:\\(?:[^${NO_PATH}${SPACE}][^${NO_PATH}]{0,60}\\)*` +
  String.raw`(?:(?![^${NO_PATH}${SPACE}]*\.(?:${EXTENSION}) )[^${NO_PATH}${SPACE}]+ ){0,2}[^${NO_PATH}${SPACE}]*` +
  String.raw`|(?<!\\)(?:\.\.?|\\)\\(?:${FILE_CHARACTERS}|\\)*`;
const FILE =
  String.raw`(?<!${FILE_CHARACTERS})(?<!\\(?=[nrt]))(?:${WINDOWS_PATH}|${FILE_CHARACTERS}*)${LETTER}\.` +
  String.raw`(?:${EXTENSION}|${EXTENSION.toUpperCase()})(?!\.?${LETTER})`;
const DIRECTORY =
  String.raw`(?<!${WORD}|\\)(?:[A-Za-z]:|\\\\(?:${WORD}|[.$\-])+)\\` +
  String.raw`(?:[^${NO_PATH}${SPACE}]{1,60}(?: [^${NO_PATH}${SPACE}]{1,60}){0,2}(?<![.!?,;])\\)*[^${NO_PATH}${SPACE}“”„«»]+`;
const HEX = "[0-9A-Fa-f]";
const IDENTIFIER =
  String.raw`(?<!${LETTER})(?:[vV]\p{Nd}+(?:\.\p{Nd}+)+` + // v2.3.1
  String.raw`|${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}|#${HEX}{6}` + // a UUID, the color #FF00AA
  String.raw`|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+` + // font_size
  String.raw`|\p{Nd}{4}-\p{Nd}{2}-\p{Nd}{2}T\p{Nd}{2}:\p{Nd}{2}(?::\p{Nd}{2}(?:\.\p{Nd}+)?)?(?:Z|[+\-]\p{Nd}{2}:?\p{Nd}{2})?)` + // 2024-01-05T10:30Z
  String.raw`(?!${LETTER})` +
  String.raw`|(?<!${WORD}|[.\-])(?:[a-z0-9\-]+\.)+(?:com|org|net|edu|gov|info)(?!${WORD}|-)`; // server01.example.org
const BEFORE_NAME = String.raw`(?<!${WORD}|[@.+\/&#\-])`;
const NAME =
  String.raw`${BEFORE_NAME}@(?=[\p{L}_])${LETTER}+(?:[.\-]${LETTER}+)*(?:@${LETTER}+(?:[.\-]${LETTER}+)*)?(?:\/(?:${WORD}|[.\/\-])*${WORD})?` +
  String.raw`|${BEFORE_NAME}#(?:(?=[\p{L}_])${WORD}+#?|\p{Nd}+(?!\p{Nd}|(?:st|nd|rd|th)?(?!${WORD}))${LETTER}+)`;
const LINK =
  String.raw`(?<![A-Za-z0-9_])(?:${SCHEME})(?=[${WORD}\/\[\{%$])${ADDRESS}` +
  String.raw`|(?<![${WORD}.+\-])[${WORD}.+\-]+@[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+` +
  `|${FILE}|${DIRECTORY}|${IDENTIFIER}|${NAME}`;

const SEPARATOR = String.raw`[.,:\/'’٫٬\u00a0\u202f\-]`;
const NUMBER =
  String.raw`(?<!${LETTER})(?<!${LETTER}[.,:\/'’_\-])(?=(?<digits>\p{Nd}+(?:${SEPARATOR}\p{Nd}+)*(?:[eE][\-+]?\p{Nd}+)?))\k<digits>` +
  String.raw`(?!${LETTER}|[\ufe0f\u20e3]|[.,:\/'’]${LETTER})`;

const PICTURE =
  String.raw`(?:\p{Emoji_Presentation}\ufe0f?|\p{Extended_Pictographic}\ufe0f|\p{Emoji}(?=\p{Emoji_Modifier}))` +
  String.raw`\p{Emoji_Modifier}?`;
const JOINED = String.raw`(?:\u200d(?:${PICTURE}|\p{Extended_Pictographic}\ufe0f?))*`;
const EMOJI =
  String.raw`(?:\p{Regional_Indicator}{2}|[0-9#*]\ufe0f?\u20e3|${PICTURE}[\u{e0020}-\u{e007f}]*${JOINED})+` +
  String.raw`|(?<!${WORD}|:)(?::(?!-+:)[A-Za-z0-9_+\-]{1,40}:)+(?!${WORD}|:)` + // :smile: of chats
  String.raw`|[\ufdd0-\ufdef\u{1fffe}\u{1ffff}\u{2fffe}]+`; // the reserved characters themselves

const SPANS = new RegExp(
  `(?<tag>${TAG})|(?<link>${LINK})|(?<placeholder>${PLACEHOLDER})|(?<number>${NUMBER})|(?<emoji>${EMOJI})`,
  "gv",
);
const KINDS = ["tag", "link", "placeholder", "number", "emoji"];
const PUNCTUATION = ".,;:!?'*_|$";
const BRACKETS = { ")": "(", "]": "[", "}": "{" };
const LONG_NUMBER = 10; // digits
const DIGITS = /\p{Nd}+/gu;

/** The spans of a text, in order: where each starts and ends, and its kind. */
export function findSpans(text) {
  return Array.from(text.matchAll(SPANS), (match) => {
    const kind = KINDS.find((name) => match.groups[name] !== undefined);
    const found = kind === "link" ? withoutPunctuation(match[0]) : match[0];
    return { start: match.index, end: match.index + found.length, kind };
  });
}

/** A link without the punctuation that ends the sentence, and without a bracket that it does not open. */
function withoutPunctuation(link) {
  for (;;) {
    const last = link.at(-1);
    const closes = BRACKETS[last] && count(link, last) > count(link, BRACKETS[last]);
    if (!PUNCTUATION.includes(last) && !closes) return link;
    link = link.slice(0, -1);
  }
}

const count = (text, character) => text.split(character).length - 1;

/** The form of a number: its number of digits, or its first two separators and the kind of its groups. */
export function numberForm(number) {
  const [first, ...others] = number.match(DIGITS).map((group) => [...group].length);
  if (others.reduce((sum, length) => sum + length, first) >= LONG_NUMBER) return "0".repeat(LONG_NUMBER);
  if (!others.length) return "0".repeat(Math.min(first, 3));
  const groups = others.every((length) => length === 3) ? "000" : others.at(-1) === 4 ? "0000" : "0";
  return `0${number.split(DIGITS).slice(1, -1).join("").slice(0, 2)}${groups}`;
}

/** The number with commas for points and points for commas. */
export const exchangeSeparators = (number) => number.replace(/[.,]/g, (each) => (each === "." ? "," : "."));
