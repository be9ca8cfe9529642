import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callNamed, openServers, programServer, startupOf } from "../../../../test/support/processes/agentMcpServers.js";
import type { AgentServers } from "./agentServers.js";

let servers: AgentServers;

beforeAll(() => {
  const broken = {
    ...programServer("broken", []),
    transport: { kind: "program", command: "/no/such", args: [], env: {}, envVars: [] } as const,
  };
  servers = openServers([
    programServer("sources", ["mcpServerOfficial"]),
    programServer("archive", ["mcpServerOfficial"]),
    broken,
    programServer("bare", ["mcpServerUnruly"]),
  ]);
});

afterAll(() => servers.close());

const ONE = { mimeType: "text/plain", name: "one", uri: "memo://1" };
const TWO = { name: "two", uri: "memo://2" };
const TEMPLATE = { name: "memo", uriTemplate: "memo://{number}" };

/** The events and the model's result of a successful call, parsed. */
async function readCall(tool: string, args: string): Promise<{ server: string; given: unknown; answer: unknown }> {
  const { events, result } = await callNamed(servers, tool, args);
  const [begun, ended] = events;
  if (begun?.type !== "mcpToolStarted") throw new Error("the call did not begin");
  const Ok = { content: [{ text: result.output, type: "text" }], isError: false };
  expect(ended).toEqual({ ...begun, type: "mcpToolEnded", durationMs: expect.any(Number), result: { Ok } });
  return { server: begun.invocation.server, given: begun.invocation.arguments, answer: JSON.parse(result.output) };
}

describe("resources of servers", () => {
  it("is offered as three functions", () => {
    expect(servers.resources.map(({ name, declaration }) => [name, declaration?.["parameters"]])).toEqual([
      ["list_mcp_resources", { type: "object", properties: { server: TEXT, cursor: TEXT }, additionalProperties: false }],
      ["list_mcp_resource_templates", { type: "object", properties: { server: TEXT, cursor: TEXT }, additionalProperties: false }],
      [
        "read_mcp_resource",
        { type: "object", properties: { server: TEXT, uri: TEXT }, required: ["server", "uri"], additionalProperties: false },
      ],
    ]);
  });

  it.for(["", "{}", '{"server":" ","cursor":null}'])(
    "are listed for all servers, sorted by name, without those that fail: %j",
    async (args) => {
      expect(await readCall("list_mcp_resources", args)).toEqual({
        server: "codex",
        given: args === "" ? null : JSON.parse(args),
        answer: {
          resources: [
            { server: "archive", ...ONE },
            { server: "archive", ...TWO },
            { server: "sources", ...ONE },
            { server: "sources", ...TWO },
          ],
        },
      });
    },
  );

  it("are listed page by page for one server", async () => {
    expect((await readCall("list_mcp_resources", '{"server":"sources"}')).answer).toEqual({
      server: "sources",
      resources: [{ server: "sources", ...ONE }],
      nextCursor: "second",
    });
    expect(await readCall("list_mcp_resources", '{"server":"sources","cursor":"second"}')).toEqual({
      server: "sources",
      given: { server: "sources", cursor: "second" },
      answer: { server: "sources", resources: [{ server: "sources", ...TWO }] },
    });
  });

  it("are listed as URI templates", async () => {
    expect((await readCall("list_mcp_resource_templates", "{}")).answer).toEqual({
      resourceTemplates: [
        { server: "archive", ...TEMPLATE },
        { server: "sources", ...TEMPLATE },
      ],
    });
  });

  it("is read", async () => {
    expect(await readCall("read_mcp_resource", '{"server":"sources","uri":"memo://1"}')).toEqual({
      server: "sources",
      given: { server: "sources", uri: "memo://1" },
      answer: { server: "sources", uri: "memo://1", contents: [{ uri: "memo://1", text: "read memo://1" }] },
    });
  });
});

const TEXT = { type: "string", description: expect.any(String) };

describe("a call that cannot work", () => {
  it.for([
    ["list_mcp_resources", '{"cursor":"second"}', "cursor can only be used when a server is specified"],
    ["list_mcp_resources", '{"server":"nobody"}', "resources/list failed: unknown MCP server 'nobody'"],
    [
      "list_mcp_resources",
      '{"server":"broken"}',
      "resources/list failed: failed to get client: MCP startup failed: No such file or directory (os error 2)",
    ],
    [
      "read_mcp_resource",
      '{"server":"bare","uri":"memo://1"}',
      "resources/read failed: resources/read failed for `bare` (memo://1): resources/read failed: Mcp error: -32601: Method not found",
    ],
  ] as const)("is shown and answered: %s %s", async ([tool, args, Err]) => {
    const { events, result } = await callNamed(servers, tool, args);
    const { server = "codex" } = JSON.parse(args) as { server?: string };
    const begun = { type: "mcpToolStarted", callId: "call_1", invocation: { server, tool, arguments: JSON.parse(args) } };
    expect(events).toEqual([begun, { ...begun, type: "mcpToolEnded", durationMs: expect.any(Number), result: { Err } }]);
    expect(result).toEqual({ output: Err });
  });

  it.for([
    ["list_mcp_resources", "{", /^failed to parse function arguments: /],
    [
      "list_mcp_resources",
      '{"server":5}',
      /^failed to parse function arguments: invalid type: integer `5`, expected a string in `server`$/,
    ],
    ["read_mcp_resource", '{"server":"sources"}', /^failed to parse function arguments: missing field `uri`$/],
    ["read_mcp_resource", "", /^failed to parse function arguments: /],
    ["read_mcp_resource", '{"server":" ","uri":"memo://1"}', /^server must be provided$/],
    ["read_mcp_resource", '{"server":"sources","uri":" "}', /^uri must be provided$/],
  ] as const)("because of its arguments is answered, and not made: %s %s", async ([tool, args, complaint]) => {
    expect(await callNamed(servers, tool, args)).toEqual({ events: [], result: { output: expect.stringMatching(complaint) } });
  });

  it("is given up when the turn is interrupted", async () => {
    await startupOf(servers);
    const interrupted = new AbortController();
    const call = callNamed(servers, "list_mcp_resources", "{}", interrupted.signal);
    interrupted.abort(new Error("interrupted"));
    await expect(call).rejects.toThrow("interrupted");
  });
});
