import os from "node:os";
import { describe, expect, it } from "vitest";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { VERSION } from "../../lib/version.js";
import { initializeResult, readHandshake } from "./initialize.js";

const CLIENT = { name: "capture", version: "1.0.0" };

describe("a client's description of itself", () => {
  it("is read from its handshake", () => {
    const said = {
      protocolVersion: "2025-06-18",
      capabilities: { elicitation: {}, roots: {} },
      clientInfo: { ...CLIENT, title: "Capture" },
    };
    expect(readHandshake(said)).toEqual({ revision: "2025-06-18", ...CLIENT, elicitation: true, roots: true });
  });

  it.for([[undefined], [{}], [{ elicitation: true }], [{ elicitation: null }], [[]]] as const)(
    "does not support questions with the capabilities %j",
    ([capabilities]) => {
      expect(readHandshake({ protocolVersion: "2025-11-25", capabilities, clientInfo: CLIENT })).toEqual({
        revision: "2025-11-25",
        ...CLIENT,
        elicitation: false,
        roots: false,
      });
    },
  );

  it.for([
    [undefined, "initialize: `params` must be an object"],
    [[], "initialize: `params` must be an object"],
    [{}, "initialize: `protocolVersion` must be a string"],
    [{ protocolVersion: 5, clientInfo: CLIENT }, "initialize: `protocolVersion` must be a string"],
    [{ protocolVersion: "2025-06-18" }, "initialize: `clientInfo` must be an object"],
    [{ protocolVersion: "2025-06-18", clientInfo: "capture" }, "initialize: `clientInfo` must be an object"],
    [{ protocolVersion: "2025-06-18", clientInfo: { name: "capture" } }, "initialize: `clientInfo` must have a name and a version"],
    [{ protocolVersion: "2025-06-18", clientInfo: { version: "1" } }, "initialize: `clientInfo` must have a name and a version"],
  ] as const)("%j is refused: %s", ([params, why]) => {
    expect(() => readHandshake(params)).toThrow(new RpcError(RPC.invalidParams, why));
  });
});

it("the server names itself, its engine and the client it works for", () => {
  const profile = { revision: "2025-06-18", ...CLIENT, elicitation: false, roots: false } as const;
  expect(JSON.stringify(initializeResult(profile, { engine: "scripted", env: { TERM: "xterm" } }))).toBe(
    `{"capabilities":{"logging":{},"tools":{"listChanged":true}},"protocolVersion":"2025-06-18",` +
      `"serverInfo":{"name":"codex-mcp-server","title":"Codex","version":"${VERSION}",` +
      `"user_agent":"codex_mcpd/${VERSION} (${os.type()} ${os.release()}; ${os.machine()}) xterm (capture; 1.0.0)"},` +
      `"_meta":{"codex-mcpd/engine":"scripted"}}`,
  );
});
