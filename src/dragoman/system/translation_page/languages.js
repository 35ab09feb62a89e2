// The names of languages, and the direction in which they are written.

const RIGHT_TO_LEFT_SCRIPTS = new Set(["Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Syrc", "Thaa"]);
const englishNames = new Intl.DisplayNames("en", { type: "language" });

/** The code of a language as browsers know it, such as de-AT for de_AT; "und" if they cannot read it. */
export function tagOf(code) {
  try {
    return Intl.getCanonicalLocales(code.replaceAll("_", "-"))[0];
  } catch {
    return "und";
  }
}

/** The English name of a language, or its code if browsers cannot read it. */
export function englishName(code) {
  const { baseName } = new Intl.Locale(tagOf(code)); // without extensions, which have no names
  return baseName === "und" ? code : englishNames.of(baseName);
}

/** "rtl" or "ltr", as most of the texts in this language are written. */
export function directionOf(code) {
  return RIGHT_TO_LEFT_SCRIPTS.has(new Intl.Locale(tagOf(code)).maximize().script) ? "rtl" : "ltr";
}
