import { describe, expect, it } from "vitest";
import { claimsVersion } from "../revisions.js";
import { META, readClaim, takesForms } from "./request.js";

const WHOLE = {
  [META.protocolVersion]: "2026-07-28",
  [META.clientCapabilities]: { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } },
  "io.modelcontextprotocol/clientInfo": { name: "acme", version: "1.0" },
  [META.logLevel]: "warning",
  progressToken: "p",
};

describe("a request's data about its sender", () => {
  it("is read from its `_meta`", () => {
    expect(readClaim({ _meta: WHOLE })).toEqual({
      version: "2026-07-28",
      client: { name: "acme", version: "1.0" },
      capabilities: { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } },
      extensions: { "io.modelcontextprotocol/tasks": {} },
      logLevel: "warning",
      progressToken: "p",
    });
  });

  it("needs only the version and the capabilities", () => {
    const least = { [META.protocolVersion]: "2026-07-28", [META.clientCapabilities]: {} };
    expect(readClaim({ _meta: least })).toMatchObject({ capabilities: {}, extensions: {}, logLevel: undefined });
  });

  it.each([undefined, null, "acme", {}, { name: 1 }])("is accepted without a name of the sender if the client info is %j", (info) => {
    expect(readClaim({ _meta: { ...WHOLE, [META.clientInfo]: info } }).client).toBeUndefined();
  });

  it.each([
    ["no version", { ...WHOLE, [META.protocolVersion]: undefined }, -32602, undefined],
    ["a version that is not a string", { ...WHOLE, [META.protocolVersion]: 2026 }, -32602, undefined],
    [
      "an unknown version",
      { ...WHOLE, [META.protocolVersion]: "2031-01-01" },
      -32022,
      { supported: ["2026-07-28"], requested: "2031-01-01" },
    ],
    [
      "a version that needs a handshake",
      { ...WHOLE, [META.protocolVersion]: "2025-11-25" },
      -32022,
      { supported: ["2026-07-28"], requested: "2025-11-25" },
    ],
    ["no capabilities", { ...WHOLE, [META.clientCapabilities]: undefined }, -32602, undefined],
    ["capabilities that are a list", { ...WHOLE, [META.clientCapabilities]: [] }, -32602, undefined],
    ["an unknown log level", { ...WHOLE, [META.logLevel]: "chatty" }, -32602, undefined],
  ])("with %s is refused", (_, meta, code, extra) => {
    let thrown: unknown;
    try {
      readClaim({ _meta: meta });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code, extra });
  });
});

it.each([
  [{ _meta: { [META.protocolVersion]: "2026-07-28" } }, true],
  [{ _meta: { [META.protocolVersion]: null } }, true],
  [{ protocolVersion: "2026-07-28", _meta: {} }, false],
  [undefined, false],
  [[], false],
])("%j is of the era without sessions: %j", (params, is) => {
  expect(claimsVersion(params)).toBe(is);
});

it.each([
  [{ elicitation: {} }, true],
  [{ elicitation: { form: {}, url: {} } }, true],
  [{ elicitation: { url: {} } }, false],
  [{ elicitation: true }, false],
  [{}, false],
])("a client with %j accepts forms: %j", (capabilities, takes) => {
  expect(takesForms(readClaim({ _meta: { ...WHOLE, [META.clientCapabilities]: capabilities } }))).toBe(takes);
});
