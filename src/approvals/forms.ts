import { type Fields, isFields, parseForeignJson } from "../lib/fields.js";
import { oneLine } from "../lib/oneLine.js";
import { visible } from "../lib/visibleText.js";
import { expectationOf, type FormField, fittingValue, formFields } from "./formFields.js";

export type FormContent = { readonly content: Fields } | { readonly complaint: string };

const MOST_LINES = 20;
const LONGEST_LINE = 500;

/** The fields of a form, one per line, for somebody who does not see it. */
export function fieldLines(schema: Fields): readonly string[] {
  const fields = formFields(schema);
  const lines = fields.slice(0, MOST_LINES).map((field) => {
    const kind = `${expectationOf(field)}${field.isRequired ? "" : ", optional"}`;
    return `- ${visible(oneLine([`\`${field.name}\` (${kind})`, ...field.about].join(": "), LONGEST_LINE))}`;
  });
  return fields.length > MOST_LINES ? [...lines, `- and ${fields.length - MOST_LINES} more`] : lines;
}

/** Consent alone fills in a form without fields, or whose fields all have a default. */
export function contentOfConsent(schema: Fields): FormContent {
  const fields = formFields(schema);
  const needed = fields.filter(({ usual }) => usual === undefined);
  if (needed.length > 0) return { complaint: shown(`Approval alone does not fill in ${namesOf(needed)}.`) };
  return checked(Object.fromEntries(fields.map(({ name, usual }) => [name, usual])), fields);
}

/** A form with one field takes the text as it is; one with several takes a JSON object. */
export function contentOfText(text: string, schema: Fields): FormContent {
  const fields = formFields(schema);
  const parsed = parsedObject(text);
  const isForm = parsed !== undefined && Object.keys(parsed).every((name) => fields.some((field) => field.name === name));
  const [only, ...others] = fields;
  if (isForm) return checked(parsed, fields);
  if (only && others.length === 0) return checked({ [only.name]: text }, fields);
  const several = `This question has the fields ${namesOf(fields)}: give a JSON object with them.`;
  return { complaint: only ? shown(several) : "This question has no fields." };
}

/** Every field of the content must be one of the form's, and fit it. */
export function contentOfFields(given: Fields, schema: Fields): FormContent {
  const fields = formFields(schema);
  const unknown = Object.keys(given).find((name) => fields.every((field) => field.name !== name));
  return unknown === undefined ? checked(given, fields) : { complaint: shown(`\`${unknown}\` is not a field of this question.`) };
}

/**
 * What a client's own form returned. It cannot be asked to correct it: fields that the form does not have are passed on, and consent without
 * content counts as such.
 */
export function contentOfClient(given: Fields, schema: Fields): FormContent {
  const fields = formFields(schema);
  const consent = Object.keys(given).length === 0 ? contentOfConsent(schema) : undefined;
  if (consent && "content" in consent) return consent;
  const form = checked(given, fields);
  const others = Object.entries(given).filter(([name]) => fields.every((field) => field.name !== name));
  return "content" in form ? { content: { ...Object.fromEntries(others), ...form.content } } : form;
}

/** A form of a server may have any number of fields, names and choices. */
function shown(complaint: string): string {
  return visible(oneLine(complaint, LONGEST_LINE));
}

function checked(given: Fields, fields: readonly FormField[]): FormContent {
  const content: [string, unknown][] = [];
  for (const field of fields) {
    const { name, isRequired } = field;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined && isRequired) return { complaint: shown(`\`${name}\` is missing: it takes ${expectationOf(field)}.`) };
    const fitting = value === undefined ? undefined : fittingValue(field, value);
    if (fitting !== undefined) content.push([name, fitting]);
    else if (!isLeftOut(field, value)) return { complaint: shown(`\`${name}\` takes ${expectationOf(field)}.`) };
  }
  return { content: Object.fromEntries(content) };
}

/** Forms send null, or an empty text, for an optional field that nobody filled in. */
function isLeftOut({ isRequired }: FormField, value: unknown): boolean {
  return !isRequired && (value === undefined || value === null || value === "");
}

function namesOf(fields: readonly FormField[]): string {
  return fields.map(({ name }) => `\`${name}\``).join(", ");
}

function parsedObject(text: string): Fields | undefined {
  try {
    const value = parseForeignJson(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
