import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { argumentHeadersOf, checkStatelessHeaders } from "./statelessHeaders.js";

const VERSION = "2026-07-28";
const META = { "io.modelcontextprotocol/protocolVersion": VERSION };
const CALL = { method: "tools/call", params: { name: "grüße", arguments: { region: "eu west", count: 3 }, _meta: META } };
const TOOLS = [
  {
    name: "grüße",
    title: "",
    description: "",
    inputSchema: { properties: { region: { type: "string", "x-mcp-header": "Region" }, count: { "x-mcp-header": "Count" }, free: {} } },
    outputSchema: undefined,
  },
];
const RIGHT = {
  "mcp-protocol-version": VERSION,
  "mcp-method": "tools/call",
  "mcp-name": `=?base64?${Buffer.from("grüße").toString("base64")}?=`,
  "mcp-param-region": "eu west",
  "mcp-param-count": "3",
};

function check(headers: Readonly<Record<string, string | undefined>>, message: typeof CALL | object = CALL): unknown {
  const request = new IncomingMessage(new Socket());
  request.headers = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  try {
    checkStatelessHeaders(request, message as typeof CALL, argumentHeadersOf(TOOLS));
    return "fits";
  } catch (error) {
    return (error as { code: number }).code;
  }
}

describe("headers of a request without a session", () => {
  it("that match the body are accepted, even with spaces around them", () => {
    expect([check(RIGHT), check({ ...RIGHT, "mcp-method": " tools/call ", "mcp-param-region": "  eu west" })]).toEqual(["fits", "fits"]);
  });

  it.each(Object.keys(RIGHT))("without %s are refused", (name) => {
    expect(check({ ...RIGHT, [name]: undefined })).toBe(-32020);
  });

  it.each([
    ["mcp-protocol-version", "2025-11-25"],
    ["mcp-method", "tools/list"],
    ["mcp-method", "TOOLS/CALL"],
    ["mcp-name", "grüße, grüße"],
    ["mcp-name", "=?base64?AAAA?="],
    ["mcp-name", `=?base64?${Buffer.from("grüße").toString("base64").replace(/=+$/, "")}?=`],
    ["mcp-name", "=?base64?!!!!?="],
    ["mcp-param-region", "us east"],
    ["mcp-param-count", "4"],
  ])("with %s: %s are refused", (name, value) => {
    expect(check({ ...RIGHT, [name]: value })).toBe(-32020);
  });

  it("a value that only looks encoded is used as it is", () => {
    const literal = { ...CALL, params: { ...CALL.params, arguments: { region: "=?base64?SGk=", count: 3 } } };
    expect(check({ ...RIGHT, "mcp-param-region": "=?base64?SGk=" }, literal)).toBe("fits");
  });

  it("a header for a value missing in the body is refused", () => {
    const without = { ...CALL, params: { ...CALL.params, arguments: {} } };
    expect(check({ ...RIGHT, "mcp-param-count": undefined, "mcp-param-region": undefined }, without)).toBe("fits");
    expect(check({ ...RIGHT, "mcp-param-count": undefined }, without)).toBe(-32020);
  });

  it("a body without a name is left to its method", () => {
    const nameless = { method: "tasks/get", params: { _meta: META } };
    expect(check({ "mcp-protocol-version": VERSION, "mcp-method": "tasks/get" }, nameless)).toBe("fits");
    expect(check({ "mcp-protocol-version": VERSION, "mcp-method": "tasks/get", "mcp-name": "x" }, nameless)).toBe(-32020);
  });
});
