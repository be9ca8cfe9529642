import { useId } from "react";
import { visibleText } from "../lib/visibleText.js";

/** A field of a form of an MCP server, as far as the console supports it. */
interface Field {
  readonly name: string;
  readonly kind: "text" | "number" | "boolean" | "choice";
  readonly label: string;
  readonly hint: string;
  readonly choices: readonly string[];
  readonly isRequired: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function fieldsOf(schema: Fields): readonly Field[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return Object.entries(isFields(schema["properties"]) ? schema["properties"] : {}).map(([name, given]) => {
    const { type, title, description, enum: choices } = isFields(given) ? given : {};
    const known = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
    const kind = known.length > 0 ? "choice" : type === "boolean" ? "boolean" : type === "number" || type === "integer" ? "number" : "text";
    return { name, kind, label: textOr(title, name), hint: textOr(description, ""), choices: known, isRequired: required.includes(name) };
  });
}

/** The values of a filled-in form, in the types of its schema. */
export function formContent(schema: Fields, data: FormData): Record<string, unknown> {
  const entries = fieldsOf(schema).map(({ name, kind }) => {
    const given = data.get(`field-${name}`);
    if (kind === "boolean") return [name, given !== null] as const;
    if (typeof given !== "string" || given === "") return [name, undefined] as const;
    return [name, kind === "number" ? Number(given) : given] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

export function FormFields({ schema }: { readonly schema: Fields }) {
  return (
    <div className="fields">
      {fieldsOf(schema).map((field) => (
        <FieldInput key={field.name} field={field} />
      ))}
    </div>
  );
}

function FieldInput({ field: { name, kind, label, hint, choices, isRequired } }: { readonly field: Field }) {
  const id = useId();
  const common = {
    id,
    name: `field-${name}`,
    required: isRequired && kind !== "boolean",
    ...(hint && { "aria-describedby": `${id}-hint` }),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{visibleText(label)}</label>
      {kind === "choice" ? (
        <select {...common}>
          {!isRequired && <option value="" />}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input {...common} type={kind === "boolean" ? "checkbox" : kind} {...(kind === "number" && { step: "any" })} />
      )}
      {hint && (
        <p id={`${id}-hint`} className="quiet">
          {visibleText(hint)}
        </p>
      )}
    </div>
  );
}
