import { type ReactNode, useEffect, useId, useRef } from "react";
import { countComplaint, draftedFields, type Field, type Fields } from "../lib/formSchema.js";
import { visibleText } from "../lib/visibleText.js";

/** The fields of a form of an MCP server. */
export function FormFields({ schema, draft }: { readonly schema: Fields; readonly draft: FormData | undefined }) {
  return (
    <div className="fields">
      {draftedFields(schema, draft).map((field) =>
        field.kind === "choices" ? <Several key={field.name} field={field} /> : <One key={field.name} field={field} />,
      )}
    </div>
  );
}

function One({ field }: { readonly field: Field }) {
  const { kind, label, isRequired } = field;
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
      <Hints field={field} id={id} />
    </div>
  );
}

/** What the server says about the field, and what it takes. */
function Hints({ field: { hint, rule }, id }: { readonly field: Field; readonly id: string }) {
  if (hint === "" && rule === "") return null;
  return (
    <div id={`${id}-hints`} className="quiet">
      {hint && <p>{visibleText(hint)}</p>}
      {rule && <p>{rule}</p>}
    </div>
  );
}

function inputOf({ name, kind, hint, rule, choices, isRequired, inputType, given, limits }: Field, id: string): ReactNode {
  const common = { id, name: `field-${name}`, ...((hint || rule) && { "aria-describedby": `${id}-hints` }) };
  if (kind === "boolean") return <input {...common} type="checkbox" defaultChecked={given === true} />;
  const text = typeof given === "string" ? given : "";
  if (kind !== "choice")
    return (
      <input
        {...common}
        type={kind === "number" ? "number" : inputType}
        defaultValue={text}
        required={isRequired}
        {...limits}
        // Browsers show it when the pattern does not match.
        {...(limits.pattern && rule && { title: rule })}
      />
    );
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
function Several({ field }: { readonly field: Field }) {
  const { name, label, hint, rule, choices, given } = field;
  const id = useId();
  const fieldset = useRef<HTMLFieldSetElement>(null);
  // HTML has no limit for the number of checked boxes.
  const check = () => {
    const boxes = [...(fieldset.current?.querySelectorAll("input") ?? [])];
    boxes[0]?.setCustomValidity(countComplaint(field, boxes.filter(({ checked }) => checked).length));
  };
  useEffect(check);
  return (
    <fieldset ref={fieldset} className="field" onChange={check} {...((hint || rule) && { "aria-describedby": `${id}-hints` })}>
      <legend>{visibleText(label)}</legend>
      {choices.map(({ value, title }) => (
        <label key={value} className="choice">
          <input type="checkbox" name={`field-${name}`} value={value} defaultChecked={Array.isArray(given) && given.includes(value)} />
          {visibleText(title)}
        </label>
      ))}
      <Hints field={field} id={id} />
    </fieldset>
  );
}
