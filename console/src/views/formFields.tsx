import { type ReactNode, useId } from "react";
import { type Field, type Fields, fieldsOf } from "../lib/formSchema.js";
import { visibleText } from "../lib/visibleText.js";

/** The fields of a form of an MCP server. */
export function FormFields({ schema }: { readonly schema: Fields }) {
  return (
    <div className="fields">
      {fieldsOf(schema).map((field) =>
        field.kind === "choices" ? <Several key={field.name} field={field} /> : <One key={field.name} field={field} />,
      )}
    </div>
  );
}

function One({ field }: { readonly field: Field }) {
  const { kind, label, hint, isRequired } = field;
  const id = useId();
  const isChecked = kind === "boolean";
  const input = inputOf(field, id);
  return (
    <div className={isChecked ? "field field-check" : "field"}>
      {isChecked && input}
      <label htmlFor={id}>
        {visibleText(label)}
        {isRequired && !isChecked && <span className="quiet"> (needed)</span>}
      </label>
      {!isChecked && input}
      {hint && (
        <p id={`${id}-hint`} className="quiet">
          {visibleText(hint)}
        </p>
      )}
    </div>
  );
}

function inputOf({ name, kind, hint, choices, isRequired, inputType, given, limits }: Field, id: string): ReactNode {
  const common = { id, name: `field-${name}`, ...(hint && { "aria-describedby": `${id}-hint` }) };
  if (kind === "boolean") return <input {...common} type="checkbox" defaultChecked={given === true} />;
  const text = typeof given === "string" ? given : "";
  if (kind !== "choice")
    return <input {...common} type={kind === "number" ? "number" : inputType} defaultValue={text} required={isRequired} {...limits} />;
  return (
    <select {...common} defaultValue={text} required={isRequired}>
      {!(isRequired && text !== "") && <option value="" />}
      {choices.map(({ value, title }) => (
        <option key={value} value={value}>
          {visibleText(title)}
        </option>
      ))}
    </select>
  );
}

/** A field in which the user may select several choices. */
function Several({ field: { name, label, hint, choices, given } }: { readonly field: Field }) {
  return (
    <fieldset className="field">
      <legend>{visibleText(label)}</legend>
      {choices.map(({ value, title }) => (
        <label key={value} className="choice">
          <input type="checkbox" name={`field-${name}`} value={value} defaultChecked={Array.isArray(given) && given.includes(value)} />
          {visibleText(title)}
        </label>
      ))}
      {hint && <p className="quiet">{visibleText(hint)}</p>}
    </fieldset>
  );
}
