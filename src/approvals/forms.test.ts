import { expect, it } from "vitest";
import { contentOfConsent, contentOfText, fieldLines } from "./forms.js";

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

it("consent is enough for a form without fields, or with a default for each", () => {
  expect(contentOfConsent({ type: "object", properties: {} })).toEqual({ content: {} });
  expect(contentOfConsent({ properties: { remember: { type: "string", default: "once" } } })).toEqual({ content: { remember: "once" } });
  expect(contentOfConsent(only("note"))).toEqual({ complaint: "This question needs `note`." });
  expect(contentOfText("{}", SCHEMA)).toEqual({ complaint: "`sure` is missing." });
  expect(contentOfText("yes", {})).toEqual({ complaint: "This question has no fields." });
});
