/** A field of a form of an MCP server, as far as the console supports it. */
export interface Field {
  readonly name: string;
  readonly kind: "text" | "number" | "boolean" | "choice" | "choices";
  readonly label: string;
  readonly hint: string;
  readonly choices: readonly Choice[];
  readonly isRequired: boolean;
  /** The type of the input of a text. */
  readonly inputType: "text" | "email" | "url" | "date" | "datetime-local";
  /** The initial value; for a field with several choices, the chosen values. */
  readonly given: string | boolean | readonly string[];
  readonly limits: Limits;
  /** The limits as a sentence; empty if there are none. */
  readonly rule: string;
  /** Of a field with several choices: how many may be chosen. */
  readonly count: Range;
}

interface Range {
  readonly least?: number | undefined;
  readonly most?: number | undefined;
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

/** Limits, named like the attributes of an input. They refuse nothing that the server accepts. */
export interface Limits {
  readonly min?: number;
  readonly max?: number | string;
  readonly step?: number | "any";
  /** Unlike `maxLength`, it counts characters as JSON Schema does, and does not cut a text that is pasted. */
  readonly pattern?: string;
}

export type Fields = Readonly<Record<string, unknown>>;

const INPUT_TYPES: ReadonlyMap<unknown, Field["inputType"]> = new Map([
  ["email", "email"],
  ["uri", "url"],
  ["date", "date"],
  ["date-time", "datetime-local"],
]);

/** The fields with what was filled in before, in place of their defaults. */
export function draftedFields(schema: Fields, draft: FormData | undefined): readonly Field[] {
  const fields = fieldsOf(schema);
  return draft ? fields.map((field) => ({ ...field, given: filledInto(field, draft) })) : fields;
}

function filledInto({ name, kind }: Field, draft: FormData): Field["given"] {
  const values = draft.getAll(`field-${name}`).filter((value) => typeof value === "string");
  if (kind === "choices") return values;
  return kind === "boolean" ? values.length > 0 : (values[0] ?? "");
}

export function fieldsOf(schema: Fields): readonly Field[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(isFields(schema["properties"]) ? schema["properties"] : {}).map(([name, given]) => {
    const property = isFields(given) ? given : {};
    const { type, title, description, format } = property;
    const isList = type === "array";
    const choices = choicesOf(isList && isFields(property["items"]) ? property["items"] : property);
    const inputType = type === "string" ? (INPUT_TYPES.get(format) ?? "text") : "text";
    const kind = isList && choices.length > 0 ? "choices" : choices.length > 0 ? "choice" : kindOf(type);
    const range = kind === "text" && type !== "string" ? {} : rangeOf(property);
    return {
      name,
      kind,
      label: textOr(title, name),
      hint: textOr(description, ""),
      choices,
      isRequired: required.includes(name),
      inputType,
      given: inputType === "datetime-local" ? localTime(property["default"]) : givenIn(property["default"], { type, choices }),
      limits: kind === "number" ? numberLimits(type, range) : kind === "text" ? textLimits(inputType, range) : {},
      rule: kind === "choice" || type === "boolean" ? "" : ruleOf(kind, range),
      count: kind === "choices" ? range : {},
    };
  });
}

/** The values of a filled-in form, in the types of its schema. Empty fields are left out. */
export function formContent(schema: Fields, data: FormData): Record<string, unknown> {
  const entries = fieldsOf(schema).map(({ name, kind, inputType, isRequired }) => {
    const given = data.get(`field-${name}`);
    if (kind === "boolean") return [name, given !== null] as const;
    if (kind === "choices") {
      const chosen = data.getAll(`field-${name}`);
      return [name, chosen.length > 0 || isRequired ? chosen : undefined] as const;
    }
    if (typeof given !== "string" || given === "") return [name, undefined] as const;
    if (kind === "number") return [name, Number(given)] as const;
    return [name, inputType === "datetime-local" ? universalTime(given) : given] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** `enum` with or without `enumNames`, or alternatives with a `const` and a `title`. */
function choicesOf(property: Fields): readonly Choice[] {
  const { enum: values, enumNames: names, oneOf, anyOf } = property;
  if (Array.isArray(values))
    return values.flatMap((value: unknown, at) =>
      typeof value === "string" ? { value, title: textOr(Array.isArray(names) ? names[at] : undefined, value) } : [],
    );
  const alternatives: unknown[] = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  return alternatives.flatMap((one) => {
    const value = isFields(one) ? one["const"] : undefined;
    return isFields(one) && typeof value === "string" ? { value, title: textOr(one["title"], value) } : [];
  });
}

function kindOf(type: unknown): Field["kind"] {
  return type === "boolean" ? "boolean" : type === "number" || type === "integer" ? "number" : "text";
}

/** In the format of an input for date and time: without a zone, and without seconds. */
function localTime(value: unknown): string {
  const time = new Date(typeof value === "string" ? value : Number.NaN);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, "YYYY-MM-DDTHH:mm".length);
}

/** Browsers accept years with six digits, which are invalid dates. They are sent unchanged, and the server that asked reports them. */
function universalTime(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? local : time.toISOString();
}

/** A default that is none of the choices would make the browser select the first one. */
function givenIn(value: unknown, { type, choices }: { readonly type: unknown; readonly choices: readonly Choice[] }): Field["given"] {
  if (typeof value === "string") return choices.length === 0 || choices.some((choice) => choice.value === value) ? value : "";
  if (typeof value === "boolean") return value;
  // Browsers count steps from the initial value.
  if (typeof value === "number") return type === "integer" && !Number.isInteger(value) ? "" : String(value);
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : "";
}

function rangeOf({ type, ...property }: Fields): Range {
  const [least, most] = namesOfLimits(type).map((name) => numberOr(property[name], undefined));
  return { least, most };
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

/** Browsers count steps from the minimum: that of a whole number must be whole. */
function numberLimits(type: unknown, { least, most }: Range): Limits {
  const [up, down] = type === "integer" ? [Math.ceil, Math.floor] : [Number, Number];
  return {
    step: type === "integer" ? 1 : "any",
    ...(least !== undefined && { min: up(least) }),
    ...(most !== undefined && { max: down(most) }),
  };
}

/** Browsers accept years with more than four digits. */
const LAST_DATES: Partial<Readonly<Record<Field["inputType"], string>>> = { date: "9999-12-31", "datetime-local": "9999-12-31T00:00" };
/** RFC 3986, in the syntax of `pattern`. Browsers also accept addresses with other characters. */
const URI_CHARACTER = "[!#-;=?-\\[\\]_a-z~]";

function textLimits(inputType: Field["inputType"], { least, most }: Range): Limits {
  const last = LAST_DATES[inputType];
  if (last !== undefined) return { max: last };
  if (inputType !== "url" && least === undefined && most === undefined) return {};
  const [from, to] = [Math.max(0, Math.ceil(least ?? 0)), most === undefined ? "" : Math.max(0, Math.floor(most))];
  return { pattern: `${inputType === "url" ? URI_CHARACTER : "[\\s\\S]"}{${from},${to}}` };
}

function ruleOf(kind: Field["kind"], { least, most }: Range): string {
  const [before, after] =
    kind === "choices" ? ["Choose ", ""] : ["", kind === "text" ? ((most ?? least) === 1 ? " character" : " characters") : ""];
  const words =
    least !== undefined && most !== undefined
      ? `${least === most ? least : `${least} to ${most}`}${after}`
      : least !== undefined
        ? `${before ? "at" : "At"} least ${least}${after}`
        : most !== undefined
          ? `${before ? "at" : "At"} most ${most}${after}`
          : undefined;
  return words === undefined ? "" : `${before}${words}.`;
}

/** Why so many choices are wrong; empty if they are not. An optional field without a choice is left out. */
export function countComplaint({ count: { least = 0, most = Number.POSITIVE_INFINITY }, isRequired, rule }: Field, chosen: number): string {
  return (chosen === 0 && !isRequired) || (chosen >= least && chosen <= most) ? "" : rule;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function numberOr<T>(value: unknown, otherwise: T): number | T {
  return typeof value === "number" ? value : otherwise;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
