import { expect, it } from "vitest";
import { contentOfClient, contentOfConsent, contentOfFields, contentOfText, fieldLines } from "./forms.js";

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
    "- `size` (`s` (Small) or `l` (Large), optional)",
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
  ["size", "Small", "`size` takes `s` (Small) or `l` (Large)."],
  ["tags", '["a","c"]', "`tags` takes some of `a` or `b`."],
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
  expect(contentOfFields({}, SCHEMA)).toEqual({ complaint: "`sure` is missing: it takes true or false." });
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
  expect(contentOfText("{}", SCHEMA)).toEqual({ complaint: "`sure` is missing: it takes true or false." });
  expect(contentOfText("yes", {})).toEqual({ complaint: "This question has no fields." });
});

const PLACES = { type: "string", enum: ["npm", "jsr", "git"], enumNames: ["npm", "JSR", "Git"] };
const ANY_OF = { anyOf: [{ const: "a", title: "A" }, { const: "b" }] };
it.for([
  [{ type: "integer", minimum: 1, maximum: 9 }, "a whole number from 1 to 9", [1, 9, "5"], [0, 10, 1.5, "", null, true]],
  [{ type: "number", minimum: 0.5 }, "a number of at least 0.5", [0.5, 1e9], [0.4, "half", "NaN"]],
  [{ type: "integer", maximum: -1 }, "a whole number of at most -1", [-1], [0, -(2 ** 60)]],
  [
    { type: "string", minLength: 2, maxLength: 3 },
    "a text with 2 to 3 characters",
    ["ab", "abc", "👍👍👍"],
    ["a", "👍", "abcd", 7, ["ab"]],
  ],
  [{ type: "string", minLength: 1 }, "a text that is not empty", ["a"], [""]],
  [{ type: "string", minLength: 4, maxLength: 4 }, "a text with 4 characters", ["abcd"], ["abc"]],
  [
    { type: "string", format: "email", maxLength: 20 },
    "an email address with at most 20 characters",
    ["a.b+c@example.org", "a@localhost"],
    ["a", "a@", "a b@c.de", "a@-b.de", "a@b..de", "somebody@a-long-name.example.org"],
  ],
  [
    { type: "string", format: "uri" },
    "a URI such as `https://example.com/path`",
    ["https://example.com/a?b=c#d", "mailto:a@b.de", "urn:isbn:0451450523", "http://[::1]:8080/"],
    ["example.com", "/path", "https://exa mple.com", "https://example.com/{id}", "https://exämple.com", "http://", ""],
  ],
  [
    { type: "string", format: "date" },
    "a date such as `2026-01-31`",
    ["2026-01-31", "2024-02-29"],
    ["2026-02-29", "2026-13-01", "31.01.2026", "2026-1-31", "12026-01-31", "2026-01-31T00:00:00Z"],
  ],
  [
    { type: "string", format: "date-time" },
    "a date and time such as `2026-01-31T09:30:00Z`",
    ["2026-01-31T09:30:00Z", "2026-01-31t09:30:00.25+05:30"],
    ["2026-01-31", "2026-01-31T09:30", "2026-01-31T09:30:00", "2026-02-30T09:30:00Z", "2026-01-31T24:00:00Z", "2026-01-31 09:30:00Z"],
  ],
  [PLACES, "one of `npm`, `jsr` (JSR), `git` (Git)", ["npm", "git"], ["Git", "", 1]],
  [ANY_OF, "`a` (A) or `b`", ["a", "b"], ["A", 1]],
  [
    { type: "array", minItems: 1, maxItems: 2, items: PLACES },
    "1 to 2 of `npm`, `jsr` (JSR), `git` (Git)",
    [["npm"], ["npm", "git"], "npm", '["jsr"]'],
    [[], ["npm", "jsr", "git"], ["svn"], "svn"],
  ],
  [{ type: "array", minItems: 2, items: ANY_OF }, "at least 2 of `a` (A) or `b`", [["a", "b"]], [["a"], "a"]],
  [{ type: "array", maxItems: 1, items: { type: "string" } }, "a list of at most 1 text", [["x"], []], [["x", "y"], [1], [{}]]],
  [{ type: "array", items: { type: "string" } }, "a list of texts", [["x", "y"]], [[1], { x: 1 }]],
  [{ type: "array", minItems: 2 }, "a list of at least 2 entries", [[1, "x"]], [[1], "x"]],
  [{ type: "string", maxLength: 1 }, "a text with at most 1 character", ["a", ""], ["ab"]],
] as const)("%j takes %s", ([property, expected, fitting, others]) => {
  const schema = { properties: { f: property }, required: ["f"] };
  expect(fieldLines(schema)).toEqual([`- \`f\` (${expected})`]);
  for (const f of fitting) expect([f, contentOfFields({ f }, schema)]).toEqual([f, { content: { f: expect.anything() } }]);
  for (const f of others) expect([f, contentOfFields({ f }, schema)]).toEqual([f, { complaint: `\`f\` takes ${expected}.` }]);
});

it("limits that are no numbers and unknown formats are no limits", () => {
  const schema = { properties: { a: { type: "string", minLength: "3", format: "phone" }, b: { type: "number", maximum: null } } };
  expect(contentOfFields({ a: "", b: 5 }, schema)).toEqual({ content: { a: "", b: 5 } });
});

it.for(["toString", "constructor", "__proto__", { toString: 1 }, ["string"]])("a field of the unknown type %j takes anything", (type) => {
  const schema = { properties: { f: { type, minLength: 5, minimum: 5 } } };
  expect(fieldLines(schema)).toEqual(["- `f` (a text, optional)"]);
  expect(contentOfFields({ f: "abc" }, schema)).toEqual({ content: { f: "abc" } });
});

it("an optional field that a form sends empty counts as left out", () => {
  const schema = { properties: { a: { type: "string", format: "email" }, b: { type: "integer" }, c: { type: "string" } } };
  expect(contentOfFields({ a: "", b: null, c: "" }, schema)).toEqual({ content: { c: "" } });
  expect(contentOfFields({ a: "", b: null }, { ...schema, required: ["a"] })).toEqual({ complaint: "`a` takes an email address." });
});

it("a default that does not fit its field is not consent", () => {
  expect(contentOfConsent({ properties: { note: { type: "string", minLength: 1, default: "" } }, required: ["note"] })).toEqual({
    complaint: "`note` takes a text that is not empty.",
  });
});

it("what a client's own form returned is checked; fields that the form does not have are passed on", () => {
  const schema = { properties: { count: { type: "integer", maximum: 9 }, note: { type: "string", default: "none" } } };
  expect(contentOfClient({ count: "3", extra: [1] }, schema)).toEqual({ content: { extra: [1], count: 3 } });
  expect(contentOfClient({ count: 10 }, schema)).toEqual({ complaint: "`count` takes a whole number of at most 9." });
  expect(contentOfClient({}, schema)).toEqual({ content: {} });
  expect(contentOfClient({}, { properties: { note: schema.properties.note } })).toEqual({ content: { note: "none" } });
});

it("a field may have any name", () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}');
  expect(JSON.stringify(contentOfFields(JSON.parse('{"__proto__":"x"}'), schema))).toBe('{"content":{"__proto__":"x"}}');
});
