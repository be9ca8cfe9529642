import { type Fields, isFields, parseForeignJson } from "../lib/fields.js";

/** A field of a form that one of the agent's servers asks to have filled in: MCP's subset of JSON Schema, from a server that may not keep to it. */
export interface FormField {
  readonly name: string;
  readonly type: unknown;
  /** Empty if any value of the type is valid. */
  readonly choices: readonly Choice[];
  readonly isRequired: boolean;
  /** Its default, if it has one. */
  readonly usual: unknown;
  readonly about: readonly string[];
  readonly format: Format | undefined;
  /** Of a number its value, of a text its characters, of a list its entries. */
  readonly limits: Limits;
  /** A list that takes nothing but texts. */
  readonly listsTexts: boolean;
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

interface Limits {
  readonly least?: number;
  readonly most?: number;
}

type Format = keyof typeof FORMATS;

export function formFields({ properties, required }: Fields): readonly FormField[] {
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isFields(properties) ? properties : {}).map(([name, given]) => {
    const property = isFields(given) ? given : {};
    const { type, format, items, title, description } = property;
    const entries = type === "array" && isFields(items) ? items : undefined;
    return {
      name,
      type,
      choices: choicesOf(entries ?? property),
      isRequired: needed.includes(name),
      usual: property["default"],
      about: [title, description].filter((text) => typeof text === "string"),
      format: type === "string" && typeof format === "string" && isFormat(format) ? format : undefined,
      limits: limitsOf(property),
      listsTexts: entries?.["type"] === "string",
    };
  });
}

/** The revisions of MCP have several forms of choices. */
function choicesOf({ enum: words, enumNames: names, oneOf, anyOf }: Fields): readonly Choice[] {
  const listed = words ?? oneOf ?? anyOf;
  return (Array.isArray(listed) ? listed : []).flatMap((one: unknown, at) => {
    const [value, title]: unknown[] = isFields(one) ? [one["const"], one["title"]] : [one, Array.isArray(names) ? names[at] : undefined];
    return typeof value === "string" ? { value, title: typeof title === "string" ? title : value } : [];
  });
}

function limitsOf({ type, ...property }: Fields): Limits {
  const limit = (name: string) => (typeof property[name] === "number" ? property[name] : undefined);
  const [from, to] = namesOfLimits(type).map(limit);
  return { ...(from !== undefined && { least: from }), ...(to !== undefined && { most: to }) };
}

/** A server may name any type, `toString` too. */
function namesOfLimits(type: unknown): readonly string[] {
  switch (type) {
    case "string":
      return ["minLength", "maxLength"];
    case "array":
      return ["minItems", "maxItems"];
    case "integer":
    case "number":
      return ["minimum", "maximum"];
    default:
      return [];
  }
}

/** The value in the field's type: a text may stand for another type. Undefined if it does not fit. */
export function fittingValue(field: FormField, given: unknown): unknown {
  const { type, choices, limits, format } = field;
  const value = typeof given === "string" && type !== "string" ? valueOfWord(given.trim().toLowerCase(), given) : given;
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "integer":
      return Number.isSafeInteger(value) && isWithin(limits, Number(value)) ? value : undefined;
    case "number":
      return Number.isFinite(value) && isWithin(limits, Number(value)) ? value : undefined;
    case "array": {
      // A choice, or a text without choices, stays as it was given.
      const list = Array.isArray(value) ? (value as unknown[]) : [given];
      const isText = (one: unknown) => !field.listsTexts || typeof one === "string";
      return list.every((one) => isText(one) && isChoice(choices, one)) && isWithin(limits, list.length) ? list : undefined;
    }
    case "string": {
      const isFit =
        typeof value === "string" &&
        isChoice(choices, value) &&
        isWithin(limits, charactersOf(value)) &&
        (format === undefined || FORMATS[format].isOf(value));
      return isFit ? value : undefined;
    }
    default:
      return isChoice(choices, given) ? given : undefined;
  }
}

function isChoice(choices: readonly Choice[], value: unknown): boolean {
  return choices.length === 0 || choices.some((choice) => choice.value === value);
}

function isWithin({ least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY }: Limits, count: number): boolean {
  return count >= least && count <= most;
}

/** As JSON Schema counts them. */
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const WORDS: Readonly<Record<string, boolean>> = { yes: true, no: false };

function valueOfWord(word: string, otherwise: string): unknown {
  if (Object.hasOwn(WORDS, word)) return WORDS[word];
  try {
    return parseForeignJson(word === "true" || word === "false" ? word : otherwise);
  } catch {
    return otherwise;
  }
}

/** What the field takes, for complaints and for somebody who does not see the form. */
export function expectationOf({ type, choices, format, limits, listsTexts }: FormField): string {
  if (type === "array") {
    if (choices.length > 0) return `${rangeOf(limits, { bound: "" }) ?? "some"} of ${alternatives(choices)}`;
    return listsTexts
      ? `a list of ${countOf(limits, "text", "texts") ?? "texts"}`
      : `a list${after(" of ", countOf(limits, "entry", "entries"))}`;
  }
  if (choices.length > 0) return `${choices.length > 2 ? "one of " : ""}${alternatives(choices)}`;
  if (type === "boolean") return "true or false";
  if (type === "integer" || type === "number")
    return `${type === "integer" ? "a whole number" : "a number"}${after(" ", rangeOf(limits, { bound: "of ", both: "from " }))}`;
  const text = format === undefined ? "a text" : FORMATS[format].name;
  if (limits.least === 1 && limits.most === undefined) return `${text} that is not empty`;
  return `${text}${after(" with ", countOf(limits, "character", "characters"))}`;
}

function countOf(limits: Limits, one: string, several: string): string | undefined {
  const range = rangeOf(limits, { bound: "" });
  return range === undefined ? undefined : `${range} ${(limits.most ?? limits.least) === 1 ? one : several}`;
}

function after(before: string, words: string | undefined): string {
  return words === undefined ? "" : `${before}${words}`;
}

function rangeOf({ least, most }: Limits, { bound, both = "" }: { readonly bound: string; readonly both?: string }): string | undefined {
  if (least !== undefined && most !== undefined) return least === most ? `${bound}${least}` : `${both}${least} to ${most}`;
  if (least !== undefined) return `${bound}at least ${least}`;
  return most === undefined ? undefined : `${bound}at most ${most}`;
}

/** The values, with the titles that a person sees. */
function alternatives(choices: readonly Choice[]): string {
  const quoted = choices.map(({ value, title }) => `\`${value}\`${title === value ? "" : ` (${title})`}`);
  return quoted.join(quoted.length > 2 ? ", " : " or ");
}

/** As browsers check a field of this type, so that the console's own check agrees. */
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;
/** RFC 3986: printable ASCII, but for these. */
const URI_CHARACTERS = /^[!-~]+$/;
const NOT_IN_URIS = /["<>\\^`{|}]/;
/** RFC 3339. */
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

const FORMATS = {
  email: { name: "an email address", isOf: (text: string) => EMAIL.test(text) },
  uri: {
    name: "a URI such as `https://example.com/path`",
    isOf: (text: string) => URI_CHARACTERS.test(text) && !NOT_IN_URIS.test(text) && URL.canParse(text),
  },
  date: { name: "a date such as `2026-01-31`", isOf: isDate },
  "date-time": {
    name: "a date and time such as `2026-01-31T09:30:00Z`",
    isOf: (text: string) => isDate(text.slice(0, "YYYY-MM-DD".length)) && /^t/i.test(text.slice(10)) && TIME.test(text.slice(11)),
  },
} as const;

function isFormat(name: string): name is Format {
  return Object.hasOwn(FORMATS, name);
}

/** A day of the calendar: 31 days after January comes March in the arithmetic of dates. */
function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}
