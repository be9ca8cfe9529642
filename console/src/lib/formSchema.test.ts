import { expect, it } from "vitest";
import { fieldsOf, formContent } from "./formSchema.js";

const SCHEMA = {
  type: "object",
  properties: {
    version: { type: "string", title: "Version", description: "As in the changelog", default: "4.2.0", maxLength: 20 },
    when: { type: "string", format: "date-time" },
    channel: { type: "string", enum: ["stable", "beta"], enumNames: ["Stable", "Beta"], default: "beta" },
    licence: {
      type: "string",
      oneOf: [
        { const: "mit", title: "MIT" },
        { const: "apache", title: "Apache 2" },
      ],
    },
    places: { type: "array", items: { type: "string", enum: ["npm", "jsr"] }, default: ["npm"] },
    copies: { type: "integer", minimum: 1, maximum: 9 },
    draft: { type: "boolean", default: true },
    broken: 7,
  },
  required: ["version", 1],
};

it("reads the fields of a form with their choices, limits and default values", () => {
  const fields = fieldsOf(SCHEMA).map(({ name, kind, inputType, given, limits, isRequired, choices }) => [
    name,
    kind,
    inputType,
    given,
    limits,
    isRequired,
    choices.map(({ value, title }) => `${value} ${title}`),
  ]);
  expect(fields).toEqual([
    ["version", "text", "text", "4.2.0", { maxLength: 20 }, true, []],
    ["when", "text", "datetime-local", "", {}, false, []],
    ["channel", "choice", "text", "beta", {}, false, ["stable Stable", "beta Beta"]],
    ["licence", "choice", "text", "", {}, false, ["mit MIT", "apache Apache 2"]],
    ["places", "choices", "text", ["npm"], {}, false, ["npm npm", "jsr jsr"]],
    ["copies", "number", "text", "", { step: 1, min: 1, max: 9 }, false, []],
    ["draft", "boolean", "text", true, {}, false, []],
    ["broken", "text", "text", "", {}, false, []],
  ]);
  expect(fieldsOf({ properties: [] })).toEqual([]);
});

it("returns the filled-in values in the types of the schema", () => {
  const data = new FormData();
  for (const [name, value] of [
    ["version", "4.3.0"],
    ["when", "2026-01-02T03:04"],
    ["channel", ""],
    ["places", "npm"],
    ["places", "jsr"],
    ["copies", "3"],
  ] as const)
    data.append(`field-${name}`, value);
  expect(formContent(SCHEMA, data)).toEqual({
    version: "4.3.0",
    when: new Date("2026-01-02T03:04").toISOString(),
    places: ["npm", "jsr"],
    copies: 3,
    draft: false,
  });
});

it("omits an optional list without a choice, and keeps a required one", () => {
  const places = { type: "array", items: { type: "string", enum: ["npm", "jsr"] } };
  expect(formContent({ properties: { places } }, new FormData())).toEqual({});
  expect(formContent({ properties: { places }, required: ["places"] }, new FormData())).toEqual({ places: [] });
});

it("shows a default time in the input's format, and sends an invalid date unchanged", () => {
  const when = { type: "string", format: "date-time", default: "2026-01-31T10:00:00Z" };
  const [field] = fieldsOf({ properties: { when } });
  expect(new Date(String(field?.given)).toISOString()).toBe("2026-01-31T10:00:00.000Z");
  const data = new FormData();
  data.append("field-when", "20266-01-01T10:00");
  expect(formContent({ properties: { when } }, data)).toEqual({ when: "20266-01-01T10:00" });
});
