import { expect, it } from "vitest";
import { contentOfConsent, contentOfFields, contentOfText, fieldLines } from "./forms.js";

const SCHEMA = {
  type: "object",
  properties: {
    sure: { type: "boolean", title: "Really?" },
    count: { type: "integer" },
    share: { type: "number" },
    zone: { type: "string", enum: ["dev", "prod"], description: "Where.\nAsk if in doubt." },
    size: {
      type: "string",
      oneOf: [
        { const: "s", title: "Small" },
        { const: "l", title: "Large" },
      ],
    },
    tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
    note: { type: "string" },
  },
  required: ["sure"],
};
const only = (name: keyof typeof SCHEMA.properties) => ({
  type: "object",
  properties: { [name]: SCHEMA.properties[name] },
  required: [name],
});

it("the fields of a form are described for those who do not see it", () => {
  expect(fieldLines(SCHEMA)).toEqual([
    "- `sure` (true or false): Really?",
    "- `count` (a whole number, optional)",
    "- `share` (a number, optional)",
    "- `zone` (`dev` or `prod`, optional): Where. Ask if in doubt.",
    "- `size` (`s` or `l`, optional)",
    "- `tags` (some of `a` or `b`, optional)",
    "- `note` (a text, optional)",
  ]);
});

it("a text becomes values of the types that the fields have", () => {
  const text = JSON.stringify({ sure: "yes", count: "3", share: 0.5, zone: "dev", size: "l", tags: ["a"], note: "5" });
  expect(contentOfText(text, SCHEMA)).toEqual({
    content: { sure: true, count: 3, share: 0.5, zone: "dev", size: "l", tags: ["a"], note: "5" },
  });
  const alone = (["sure", "count", "tags", "note"] as const).map((name, at) =>
    contentOfText(["False", "3", "b", "5"][at] ?? "", only(name)),
  );
  expect(alone).toEqual([
    { content: { sure: false } },
    { content: { count: 3 } },
    { content: { tags: ["b"] } },
    { content: { note: "5" } },
  ]);
});

it.for([
  ["sure", "perhaps", "`sure` takes true or false."],
  ["count", "3.5", "`count` takes a whole number."],
  ["share", "half", "`share` takes a number."],
  ["zone", "test", "`zone` takes `dev` or `prod`."],
  ["size", "Small", "`size` takes `s` or `l`."],
  ["tags", '["a","c"]', "`tags` takes `a` or `b`."],
] as const)("a value that does not fit %s is refused: %s", ([name, text, complaint]) => {
  expect(contentOfText(text, only(name))).toEqual({ complaint });
});

it("choices of a list are compared before a word is read as another type, and a list of texts keeps the text", () => {
  const list = (items: object) => ({ properties: { t: { type: "array", items } } });
  expect(contentOfText("yes", list({ enum: ["yes", "no"] }))).toEqual({ content: { t: ["yes"] } });
  expect(contentOfText("1", list({ enum: ["1", "2"] }))).toEqual({ content: { t: ["1"] } });
  expect(contentOfText("2024", list({ type: "string" }))).toEqual({ content: { t: ["2024"] } });
});

it("given fields must be the form's, and fit", () => {
  expect(contentOfFields({ sure: true, count: 3 }, SCHEMA)).toEqual({ content: { sure: true, count: 3 } });
  expect(contentOfFields({ sure: true, colour: "red" }, SCHEMA)).toEqual({ complaint: "`colour` is not a field of this question." });
  expect(contentOfFields({ sure: true, count: {} }, SCHEMA)).toEqual({ complaint: "`count` takes a whole number." });
  expect(contentOfFields({}, SCHEMA)).toEqual({ complaint: "`sure` is missing." });
});

it("a complaint is short and shows every character, whatever the form contains", () => {
  const words = Array.from({ length: 20_000 }, (_, at) => `choice ${at}`);
  const form = { properties: { "a\u202eb": { type: "string", enum: words } } };
  const { complaint } = contentOfText("none", form) as { readonly complaint: string };
  expect([complaint.length < 1_000, complaint.includes("\u202e")]).toEqual([true, false]);
});

it("half a character in a text becomes the replacement character", () => {
  expect(contentOfText('{"note":"\\ud83d"}', only("note"))).toEqual({ content: { note: "\ufffd" } });
});

it("consent is enough for a form without fields, or with a default for each", () => {
  expect(contentOfConsent({ type: "object", properties: {} })).toEqual({ content: {} });
  expect(contentOfConsent({ properties: { remember: { type: "string", default: "once" } } })).toEqual({ content: { remember: "once" } });
  expect(contentOfConsent(only("note"))).toEqual({ complaint: "Approval alone does not fill in `note`." });
  expect(contentOfText("{}", SCHEMA)).toEqual({ complaint: "`sure` is missing." });
  expect(contentOfText("yes", {})).toEqual({ complaint: "This question has no fields." });
});
