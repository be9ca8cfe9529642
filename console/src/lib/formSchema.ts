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
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

/** Limits, named like the attributes of an input. */
export interface Limits {
  readonly min?: number;
  readonly max?: number;
  readonly step?: number | "any";
  readonly minLength?: number;
  readonly maxLength?: number;
}

export type Fields = Readonly<Record<string, unknown>>;

const INPUT_TYPES: Readonly<Record<string, Field["inputType"]>> = {
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "datetime-local",
};

export function fieldsOf(schema: Fields): readonly Field[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(isFields(schema["properties"]) ? schema["properties"] : {}).map(([name, given]) => {
    const property = isFields(given) ? given : {};
    const { type, title, description, format } = property;
    const isList = type === "array";
    const choices = choicesOf(isList && isFields(property["items"]) ? property["items"] : property);
    return {
      name,
      kind: isList && choices.length > 0 ? "choices" : choices.length > 0 ? "choice" : kindOf(type),
      label: textOr(title, name),
      hint: textOr(description, ""),
      choices,
      isRequired: required.includes(name),
      inputType: INPUT_TYPES[textOr(format, "")] ?? "text",
      given: textOr(format, "") === "date-time" ? localTime(property["default"]) : givenIn(property["default"]),
      limits: limitsOf(property),
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

function givenIn(value: unknown): Field["given"] {
  if (typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : "";
}

function limitsOf({ type, minimum, maximum, minLength, maxLength }: Fields): Limits {
  if (type === "number" || type === "integer")
    return {
      step: type === "integer" ? 1 : "any",
      ...(typeof minimum === "number" && { min: minimum }),
      ...(typeof maximum === "number" && { max: maximum }),
    };
  return { ...(typeof minLength === "number" && { minLength }), ...(typeof maxLength === "number" && { maxLength }) };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}
