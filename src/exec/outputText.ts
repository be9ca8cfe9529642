// Decodes a command's output. Programs may write other encodings than UTF-8 without saying so, so the likeliest encoding is chosen: the one
// in which the bytes form words. Codex guesses as browsers do, from tables of letter pairs. This guess uses scripts, capitals, vowels and
// the most frequent letters; it agrees with Codex's on texts of a few words.
import { isUtf8 } from "node:buffer";

/** The beginning of a longer output is enough to choose the encoding. */
const SAMPLE_BYTES = 32 * 1024;

/** The text of a command's output. */
export function outputText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  const marked = BYTE_ORDER_MARKS.find(({ mark }) => bytes.indexOf(mark) === 0);
  const encoding = marked?.encoding ?? likeliest(bytes.subarray(0, SAMPLE_BYTES));
  return decoded(bytes, encoding) ?? bytes.toString();
}

const BYTE_ORDER_MARKS = [
  { mark: Buffer.from([0xff, 0xfe]), encoding: "utf-16le" },
  { mark: Buffer.from([0xfe, 0xff]), encoding: "utf-16be" },
] as const;

interface Script {
  /** A non-ASCII letter of the script. */
  readonly letters: RegExp;
  readonly frequent: string;
  readonly vowels?: string;
  /** Letters that occur only at the end of words. */
  readonly finals?: string;
  /** May share a word with ASCII letters, as accented letters do. */
  readonly mixes?: true;
  /** Written without spaces, two bytes per character. */
  readonly ideographic?: true;
  /** In a text of this language, a match means that the guess is wrong. */
  readonly foreign?: RegExp;
}

const CYRILLIC: Script = { letters: /[Ѐ-ӿ]/, frequent: "оеаинтсрвлкмдпу", vowels: "аеёиоуыэюяіїє" };
const KANJI = "日本語人大年一国会中出上生分入時行見月後前間作用者何事場合力部方的名新高学文動手書";
const HANZI =
  "的一是不了在人有我他这来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小多然于心学之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期它头经长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感界文件错误找到目录";
const TRADITIONAL =
  "的一是不了在人有我他這來到時大地為子中你說生國年著就那和要她出也得裡後自以會家可下而過天去能對小多然於心學之都好看起發當沒成只如事把還用第樣道想作種開美總從無情己面最女但現前些所同日手又行意動方期它頭經長兒回位分愛老因很給名法間斯知世什兩次使身者被高已親其進此話常與活正感界文件錯誤找到目錄";
const HANGUL =
  "이다는가의에을하고지로기한사리자도서대어인그나시정아해라스있전을를은것수제부여보일상구들장주과만신경적니게원동안녕세요파없습명";

/** Most common first: among equal scores the first wins. */
const ENCODINGS: readonly (readonly [string, Script])[] = [
  ["windows-1252", { letters: /[À-ÖØ-öø-ÿŒœŠšŽžŸ]/, frequent: "éèàêçüöäßñóíáúåøæâîôëïûùãõ", mixes: true }],
  ["windows-1251", CYRILLIC],
  ["windows-1250", { letters: /[À-ɏ]/, frequent: "ąćęłńóśźżáéíýčďěňřšťůúžőűöüăâîșț", mixes: true }],
  ["koi8-u", CYRILLIC],
  ["ibm866", CYRILLIC],
  ["windows-1253", { letters: /[Ά-ώ]/, frequent: "αοιετσνηυρπκμλςωάέίόή", vowels: "αεηιουωάέήίόύώ" }],
  ["windows-1256", { letters: /[\u0621-\u06d2]/, frequent: "اليمونرتبسحعدقفكهشجطصخ" }],
  ["windows-1255", { letters: /[א-ת]/, frequent: "יוהלאתרמבשנםע", finals: "םןץףך" }],
  ["shift_jis", { letters: /[ぁ-ヿ一-龯]/, frequent: KANJI, ideographic: true, foreign: /[\uff61-\uff9f]/ }],
  ["euc-jp", { letters: /[ぁ-ヿ一-龯]/, frequent: KANJI, ideographic: true, foreign: /[\uff61-\uff9f]/ }],
  ["gb18030", { letters: /[一-龯]/, frequent: HANZI, ideographic: true, foreign: /[ぁ-ヿ\ue000-\uf8ff]/ }],
  ["big5", { letters: /[一-龯]/, frequent: TRADITIONAL, ideographic: true, foreign: /[ぁ-ヿ\ue000-\uf8ff]/ }],
  ["euc-kr", { letters: /[가-힣]/, frequent: HANGUL, ideographic: true, foreign: /[ぁ-ヿ一-龯\ue000-\uf8ff]/ }],
];

/** Bytes that hardly form words in any encoding are shown as windows-1252, which has a character for each. */
const LEAST_SCORE = 0.6;

function likeliest(sample: Buffer): string {
  let best: { readonly encoding: string; readonly score: number } | undefined;
  for (const [encoding, script] of ENCODINGS) {
    const text = decoded(wholePairs(sample, script), encoding);
    if (text === undefined) continue;
    const score = likelihood(text, script);
    if (best === undefined || score > best.score) best = { encoding, score };
  }
  return best !== undefined && best.score >= LEAST_SCORE ? best.encoding : "windows-1252";
}

/** The sample may end inside a character. */
function wholePairs(sample: Buffer, { ideographic }: Script): Buffer {
  const isCut = ideographic && sample.length === SAMPLE_BYTES;
  return isCut ? sample.subarray(0, sample.lastIndexOf(0x0a) + 1 || sample.length) : sample;
}

const WORD = /[\p{L}\p{M}]+/gu;
const BOX = /[\u2500-\u259f]/;

/** The average score per non-ASCII character. */
function likelihood(text: string, script: Script): number {
  const beyond = [...text].filter((character) => character > "\x7f");
  let points = 0;
  for (const character of beyond) points += pointsOf(character, script);
  for (const [word] of text.matchAll(WORD)) points += wordPoints(word, script);
  points -= 3 * (text.match(SYMBOL_IN_WORD)?.length ?? 0);
  // A single two-byte character is not evidence of text.
  if (script.ideographic && beyond.length < 2) points -= 3;
  return points / Math.max(1, beyond.length);
}

/** Symbols between letters, which no word contains: a sign of a wrong guess. Apostrophes and dashes are excluded. */
const SYMBOL_IN_WORD = /(?<=\p{L})[^\p{L}\p{M}\p{ASCII}\u00a0\u2010-\u2026](?=\p{L})/gu;

function pointsOf(character: string, { letters, frequent, foreign, ideographic }: Script): number {
  if (character >= "\x80" && character <= "\x9f") return -8;
  if (character === "\ufffd" || BOX.test(character) || foreign?.test(character)) return -5;
  if (/[ぁ-ヿ]/.test(character)) return 4;
  if (letters.test(character)) return frequent.includes(character.toLowerCase()) ? 3 : ideographic ? 0 : 1;
  return /\p{L}/u.test(character) ? -2 : 0;
}

function wordPoints(word: string, script: Script): number {
  const characters = [...word];
  const own = characters.filter((character) => script.letters.test(character));
  if (own.length === 0 || script.ideographic) return 0;
  let points = 0;
  if (!script.mixes) {
    if (own.length < characters.length) points -= 5 * own.length;
    // A single letter is weak evidence of a script.
    if (own.length === 1) points -= 3;
    if (own.length > 3 && script.vowels && !own.some((letter) => script.vowels?.includes(letter.toLowerCase()))) points -= 8;
  }
  let pairs = 0;
  for (const [at, letter] of characters.entries()) {
    const before = characters[at - 1];
    if (before === undefined) continue;
    if (isLower(before) && isUpper(letter)) points -= 4;
    if (script.mixes && before > "\x7f" && letter > "\x7f") points -= ++pairs > 3 ? 3 : 0.5;
    if (script.finals?.includes(before)) points -= 6;
  }
  if (script.finals?.includes(characters.at(-1) ?? "")) points += 2;
  return points;
}

function isLower(letter: string): boolean {
  return letter !== letter.toUpperCase();
}

function isUpper(letter: string): boolean {
  return letter !== letter.toLowerCase();
}

/** Undefined where the bytes are invalid in the encoding, or this Node does not support it. */
function decoded(bytes: Buffer, encoding: string): string | undefined {
  if (encoding === "windows-1252") return windows1252(bytes);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Node's own decoder returns control characters for 0x80 to 0x9f in several versions (seen with 20.20). */
function windows1252(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80] ?? control);
}

const FROM_0X80 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
