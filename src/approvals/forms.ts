import { alternatives } from "../lib/complaints.js";
import { isFields, parseForeignJson } from "../lib/fields.js";
import { oneLine } from "../lib/oneLine.js";
import { visible } from "../lib/visibleText.js";

type Schema = Readonly<Record<string, unknown>>;

/** A field of a form that one of the agent's servers asks to have filled in. */
interface FormField {
  readonly name: string;
  readonly type: unknown;
  /** Empty if any value of the type is valid. */
  readonly choices: readonly string[];
  readonly isRequired: boolean;
  /** Its default, if it has one. */
  readonly usual: unknown;
  readonly about: readonly string[];
}

export type FormContent = { readonly content: Readonly<Record<string, unknown>> } | { readonly complaint: string };

const MOST_LINES = 20;
const LONGEST_LINE = 500;

/** The fields of a form, one per line, for somebody who does not see it. */
export function fieldLines(schema: Schema): readonly string[] {
  const fields = fieldsOf(schema);
  const lines = fields.slice(0, MOST_LINES).map((field) => {
    const kind = `${field.type === "array" ? "some of " : ""}${kindOf(field)}${field.isRequired ? "" : ", optional"}`;
    return `- ${visible(oneLine([`\`${field.name}\` (${kind})`, ...field.about].join(": "), LONGEST_LINE))}`;
  });
  return fields.length > MOST_LINES ? [...lines, `- and ${fields.length - MOST_LINES} more`] : lines;
}

/** Consent alone fills in a form without fields, or whose fields all have a default. */
export function contentOfConsent(schema: Schema): FormContent {
  const fields = fieldsOf(schema);
  const needed = fields.filter(({ usual }) => usual === undefined);
  if (needed.length > 0) return { complaint: shown(`Approval alone does not fill in ${namesOf(needed)}.`) };
  return { content: Object.fromEntries(fields.map(({ name, usual }) => [name, usual])) };
}

/** A form with one field takes the text as it is; one with several takes a JSON object. */
export function contentOfText(text: string, schema: Schema): FormContent {
  const fields = fieldsOf(schema);
  const parsed = parsedObject(text);
  const isForm = parsed !== undefined && Object.keys(parsed).every((name) => fields.some((field) => field.name === name));
  const [only, ...others] = fields;
  if (isForm) return checked(parsed, fields);
  if (only && others.length === 0) return checked({ [only.name]: text }, fields);
  const several = `This question has the fields ${namesOf(fields)}: give a JSON object with them.`;
  return { complaint: only ? shown(several) : "This question has no fields." };
}

/** Every field of the content must be one of the form's, and fit it. */
export function contentOfFields(given: Schema, schema: Schema): FormContent {
  const fields = fieldsOf(schema);
  const unknown = Object.keys(given).find((name) => fields.every((field) => field.name !== name));
  return unknown === undefined ? checked(given, fields) : { complaint: shown(`\`${unknown}\` is not a field of this question.`) };
}

/** A form of a server may have any number of fields, names and choices. */
function shown(complaint: string): string {
  return visible(oneLine(complaint, LONGEST_LINE));
}

function checked(given: Schema, fields: readonly FormField[]): FormContent {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const { name, isRequired } = field;
    if (!Object.hasOwn(given, name)) {
      if (isRequired) return { complaint: shown(`\`${name}\` is missing.`) };
      continue;
    }
    const value = valueFor(field, given[name]);
    if (value === undefined) return { complaint: shown(`\`${name}\` takes ${kindOf(field)}.`) };
    content[name] = value;
  }
  return { content };
}

/** Undefined if the value does not fit. */
function valueFor({ type, choices }: FormField, given: unknown): unknown {
  const value = typeof given === "string" && type !== "string" ? valueOfWord(given.trim().toLowerCase(), given) : given;
  const fits = (one: unknown) => choices.length === 0 || choices.some((choice) => choice === one);
  switch (type) {
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "integer":
      return Number.isSafeInteger(value) ? value : undefined;
    case "number":
      return Number.isFinite(value) ? value : undefined;
    case "array": {
      // A choice, or a text without choices, stays as it was given.
      const list = Array.isArray(value) ? (value as unknown[]) : [given];
      return list.every(fits) ? list : undefined;
    }
    case "string":
      return typeof value === "string" && fits(value) ? value : undefined;
    default:
      return given;
  }
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

function kindOf({ type, choices }: FormField): string {
  if (choices.length > 0) return alternatives(choices);
  return { boolean: "true or false", integer: "a whole number", number: "a number", array: "a list" }[String(type)] ?? "a text";
}

function namesOf(fields: readonly FormField[]): string {
  return fields.map(({ name }) => `\`${name}\``).join(", ");
}

function fieldsOf(schema: Schema): readonly FormField[] {
  const { properties, required } = schema;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(isFields(properties) ? properties : {}).map(([name, given]) => {
    const property = isFields(given) ? given : {};
    return {
      name,
      type: property["type"],
      choices: choicesOf(isFields(property["items"]) ? property["items"] : property),
      isRequired: needed.includes(name),
      usual: property["default"],
      about: [property["title"], property["description"]].filter((text) => typeof text === "string"),
    };
  });
}

/** The revisions of MCP have several forms of choices. */
function choicesOf({ enum: words, oneOf, anyOf }: Schema): readonly string[] {
  const listed = words ?? oneOf ?? anyOf;
  const values = (Array.isArray(listed) ? listed : []).map((value: unknown) => (isFields(value) ? value["const"] : value));
  return values.filter((value) => typeof value === "string");
}

function parsedObject(text: string): Schema | undefined {
  try {
    const value = parseForeignJson(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
