import { expect, it } from "vitest";
import { countComplaint, draftedFields, fieldsOf, formContent } from "./formSchema.js";

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
    ["version", "text", "text", "4.2.0", { pattern: "[\\s\\S]{0,20}" }, true, []],
    ["when", "text", "datetime-local", "", { max: "9999-12-31T00:00" }, false, []],
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

/** The rule of the only field, and which texts its pattern takes. Browsers compile patterns in this way. */
function ruleAndPattern(property: object, texts: readonly string[]): readonly unknown[] {
  const [field] = fieldsOf({ properties: { f: property } });
  const pattern = new RegExp(`^(?:${field?.limits.pattern ?? ""})$`, "v");
  return [field?.rule, texts.filter((text) => pattern.test(text))];
}

it("counts the characters of a text as the server does, and takes the same addresses", () => {
  const texts = ["a", "👍👍", "a\nb", "abcd"];
  expect(ruleAndPattern({ type: "string", minLength: 2, maxLength: 3 }, texts)).toEqual(["2 to 3 characters.", ["👍👍", "a\nb"]]);
  expect(ruleAndPattern({ type: "string", minLength: 4 }, texts)).toEqual(["At least 4 characters.", ["abcd"]]);
  const addresses = ["https://a.de/b?c=[d]#e", "https://a.de/{b}", "https://ä.de", "https://a.de/b c", "https://a.de/`"];
  expect(ruleAndPattern({ type: "string", format: "uri" }, addresses)).toEqual(["", ["https://a.de/b?c=[d]#e"]]);
});

it("limits that an input would misunderstand are adapted: a browser counts whole numbers from the minimum or the initial value", () => {
  const limits = (property: object) => fieldsOf({ properties: { f: property } }).map((field) => [field.limits, field.given, field.rule]);
  expect(limits({ type: "integer", minimum: 0.5, maximum: 8.5, default: 2.5 })).toEqual([[{ step: 1, min: 1, max: 8 }, "", "0.5 to 8.5."]]);
  expect(limits({ type: "number", maximum: 8.5, default: 2.5 })).toEqual([[{ step: "any", max: 8.5 }, "2.5", "At most 8.5."]]);
  expect(limits({ type: "string", format: "date", minLength: 3 })).toEqual([[{ max: "9999-12-31" }, "", "At least 3 characters."]]);
  expect(limits({ type: "array", minItems: 3 })).toEqual([[{}, "", ""]]);
});

it("a default that is none of the choices selects none", () => {
  expect(fieldsOf({ properties: { f: { type: "string", enum: ["a", "b"], default: "c" } } }).map(({ given }) => given)).toEqual([""]);
});

it("counts choices; an optional field without any is left out", () => {
  const field = (more: object, required: readonly string[] = []) =>
    fieldsOf({ properties: { f: { type: "array", items: { enum: ["a", "b", "c"] }, ...more } }, required })[0];
  const complaints = (of: ReturnType<typeof field>) => (of ? [0, 1, 2, 3].map((chosen) => countComplaint(of, chosen)) : []);
  const rule = "Choose 2.";
  expect(complaints(field({ minItems: 2, maxItems: 2 }))).toEqual(["", rule, "", rule]);
  expect(complaints(field({ minItems: 1 }, ["f"]))).toEqual(["Choose at least 1.", "", "", ""]);
  expect(complaints(field({ maxItems: 1 }))).toEqual(["", "", "Choose at most 1.", "Choose at most 1."]);
  expect(complaints(field({}, ["f"]))).toEqual(["", "", "", ""]);
});

it("shows what was filled in before in place of the defaults", () => {
  const data = new FormData();
  for (const [name, value] of [
    ["version", ""],
    ["places", "jsr"],
    ["copies", "4"],
  ] as const)
    data.append(`field-${name}`, value);
  const shown = Object.fromEntries(draftedFields(SCHEMA, data).map(({ name, given }) => [name, given]));
  expect(shown).toMatchObject({ version: "", channel: "", places: ["jsr"], copies: "4", draft: false });
  expect(draftedFields(SCHEMA, undefined)).toEqual(fieldsOf(SCHEMA));
});

it("types and formats with unusual names are unknown ones", () => {
  for (const given of [{ type: "toString" }, { type: { toString: 1 } }, { type: "string", format: "constructor" }])
    expect(fieldsOf({ properties: { a: { ...given, enum: ["x"] }, b: given } })).toMatchObject([
      { kind: "choice", inputType: "text" },
      { kind: "text", inputType: "text", limits: {}, rule: "" },
    ]);
});

it("one character is not several", () => {
  const ruleOf = (limits: object) => fieldsOf({ properties: { a: { type: "string", ...limits } } })[0]?.rule;
  expect([ruleOf({ maxLength: 1 }), ruleOf({ minLength: 1 }), ruleOf({ minLength: 1, maxLength: 2 })]).toEqual([
    "At most 1 character.",
    "At least 1 character.",
    "1 to 2 characters.",
  ]);
});
