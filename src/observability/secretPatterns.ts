/** What takes the place of a secret. */
export const MASK = "****";

/** Something that may be a secret has one of these in it; without any, a text is not looked at closely. */
const SUSPICIOUS =
  /bearer|basic|auth|cookie|token|secret|passw|pwd|credential|key|(?:sig|code)(?:=|%3d)|signature|jwt|assertion|:\\?\/|[spr]k[-%_]|sess[-_%]|eyj|gh[pousr]_|github_|glpat|xox|akia|asia|aiza/i;

const NAME_START = `(?<![A-Za-z0-9_])`;
const TOKEN_START = `(?<![A-Za-z0-9])`;
/** Between a name and its value: `": "`, `=`, `\": \"`, `%3D`, or the comma of a list of names and values. */
const JOINT = String.raw`(?:(?:\\*["'])?\s*(?:[:=]|%3[AD]|=>)|\\*["']\s*,(?=\s*\\*["']))(?:\s|\\+[nrt]|%20|\+)*`;
/** In quotes, up to the same quotes; they may be escaped, as in JSON within JSON. */
const QUOTED = String.raw`(?<quote>\\*["'])(?:(?!(?<!\\)\k<quote>)[\s\S])*`;
const NOT_QUOTED = String.raw`(?!\\*["']|\*{4})`;

/** Header fields whose whole value is secret, spaces and semicolons included. */
const HEADERS = `(?:proxy-)?authorization|(?:set-)?cookie2?|(?:x-|x-goog-)?api-key|x-auth-token|x-amz-security-token`;
/** Other names whose value is secret: of JSON fields, variables, form fields. */
const NAMES = [
  String.raw`\w*(?:access|refresh|id|auth|session|bearer|csrf|security|api|client)[-_]?token`,
  String.raw`\w*(?:api|private|secret|access|encryption|signing)[-_]?key`,
  String.raw`\w+_(?:token|secret|password|passwd|credentials?|key)`,
  `(?:client[-_]?)?secret|password|passwd|pwd|credentials?`,
].join("|");
/** Names that are secret in a query only; elsewhere they are ordinary words. */
const QUERY_NAMES = "token|key|sig|signature|code|auth|jwt|assertion|x-amz-signature|x-amz-credential";

const RULES: readonly { readonly pattern: RegExp; readonly replacement: string }[] = [
  rule(`(${NAME_START}(?:${HEADERS})${JOINT})${QUOTED}`, `$1$<quote>${MASK}`),
  rule(`(${NAME_START}(?:${HEADERS})${JOINT})${NOT_QUOTED}[^\\r\\n]+`, `$1${MASK}`),
  rule(`(${NAME_START}(?:${NAMES})${JOINT})${QUOTED}`, `$1$<quote>${MASK}`),
  rule(String.raw`(${NAME_START}(?:${NAMES})${JOINT})${NOT_QUOTED}(?:(?!%26)[^\s"'\\,;&}\])])+`, `$1${MASK}`),
  rule(String.raw`((?:[?&;]|%3F|%26)(?:${QUERY_NAMES})(?:=|%3D))(?:(?!%26)[^\s"'\\&#;])+`, `$1${MASK}`),
  rule(String.raw`(bearer(?:[\s:="',]|\\+[nrt"]|%20|%3A|%0A|%0D|\+)+)[^\s"'\\,;&<>]+`, `$1${MASK}`),
  rule(String.raw`(basic(?:\s|%20|\+)+)[A-Za-z0-9+/]{4,}(?:=|%3D){1,2}`, `$1${MASK}`),
  rule(String.raw`(:(?:\\?\/){2})[^\s/?#"'\\<>]+@`, `$1${MASK}@`),
  rule(`${TOKEN_START}(?:sk|sess|pk|rk)(?:-|_|%2D)[A-Za-z0-9_%-]{8,}`, MASK),
  rule(`${TOKEN_START}(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|akia|asia|aiza)[A-Za-z0-9_-]{12,}`, MASK),
  rule(String.raw`${TOKEN_START}eyj[A-Za-z0-9_-]{8,}(?:\.|%2E)[A-Za-z0-9_-]{4,}(?:(?:\.|%2E)[A-Za-z0-9_-]*)*`, MASK),
];

/** Masks what looks like a secret by its form or by what stands before it. */
export function maskBySight(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return RULES.reduce((masked, { pattern, replacement }) => masked.replace(pattern, replacement), text);
}

const SECRET_NAME = new RegExp(`^(?:${HEADERS}|${NAMES}|token|key|jwt)$`, "i");

/** Whether what is kept under this name is secret, whatever it looks like. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

function rule(source: string, replacement: string) {
  return { pattern: new RegExp(source, "gi"), replacement };
}
