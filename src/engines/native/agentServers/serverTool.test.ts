import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../../test/support/eventually.js";
import { callNamed, newMark, openServers, programServer, structuredAnswer } from "../../../../test/support/processes/agentMcpServers.js";
import { stragglers } from "../../../../test/support/processes/markedProcesses.js";
import { launchPlainly } from "../../../exec/sandbox/fullAccess.js";
import { deferred } from "../../../lib/promises.js";
import type { AgentServers } from "./agentServers.js";
import type { ServerHost } from "./openLink.js";
import type { McpAnswer, McpElicitation } from "./questions.js";

const OFFICIAL = ["mcpServerOfficial"];
let servers: AgentServers;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "mcp-tool-"));
  servers = openServers([programServer("desk", OFFICIAL)]);
});

afterAll(async () => {
  await servers.close();
  rmSync(folder, { recursive: true });
});

function begun(tool: string, args: unknown) {
  return { type: "mcpToolStarted", callId: "call_1", invocation: { server: "desk", tool, arguments: args } };
}

function ended(tool: string, args: unknown, result: unknown) {
  return { ...begun(tool, args), type: "mcpToolEnded", durationMs: expect.any(Number), result };
}

describe("a call of a server's tool", () => {
  it("shows its beginning and its end, and gives the model the content", async () => {
    expect(await callNamed(servers, "mcp__desk__greet", '{"name":"you"}')).toEqual({
      events: [
        begun("greet", { name: "you" }),
        ended("greet", { name: "you" }, { Ok: { content: [{ type: "text", text: "hello you" }] } }),
      ],
      result: { output: '[{"text":"hello you","type":"text"}]' },
    });
  });

  it("needs no arguments", async () => {
    expect(await callNamed(servers, "mcp__desk__complain", "")).toMatchObject({ events: [begun("complain", null), {}] });
  });

  it("prefers structured content, as the server wrote it", async () => {
    const { result } = await callNamed(servers, "mcp__desk__structured");
    expect(result).toEqual({ output: '{"zebra":1,"ape":[2]}' });
  });

  it("shows the model images as images", async () => {
    const { result, events } = await callNamed(servers, "mcp__desk__picture");
    expect(result).toEqual({
      output: '[{"text":"look","type":"text"},{"data":"(the image follows)","mimeType":"image/png","type":"image"}]',
      after: [{ type: "message", role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" }] }],
    });
    expect(events[1]).toMatchObject({ result: { Ok: { content: [{}, { data: "iVBORw0KGgo=" }] } } });
  });

  it("that fails by the tool's own report is an ordinary result", async () => {
    expect(await callNamed(servers, "mcp__desk__complain")).toEqual({
      events: [begun("complain", {}), ended("complain", {}, { Ok: { content: [{ type: "text", text: "out of paper" }], isError: true } })],
      result: { output: '[{"text":"out of paper","type":"text"}]' },
    });
  });

  it("that the server refuses is an error for the model", async () => {
    const Err =
      "tool call error: tool call failed for `desk/refuse`\n\nCaused by:\n    tools/call failed: Mcp error: -32602: no such drawer";
    expect(await callNamed(servers, "mcp__desk__refuse")).toEqual({
      events: [begun("refuse", {}), ended("refuse", {}, { Err })],
      result: { output: `err: ${JSON.stringify(Err)}` },
    });
  });

  it("with arguments that are not JSON is answered, and not made", async () => {
    expect(await callNamed(servers, "mcp__desk__greet", "{")).toEqual({
      events: [],
      result: { output: expect.stringMatching(/^err: .+JSON/) },
    });
  });

  it("with arguments that are not an object fails", async () => {
    const Err = "tool call error: tool call failed for `desk/greet`\n\nCaused by:\n    invalid type: sequence, expected a map";
    expect(await callNamed(servers, "mcp__desk__greet", "[1]")).toMatchObject({ events: [begun("greet", [1]), { result: { Err } }] });
  });

  it("that is interrupted is cancelled at the server, and shows no end", async () => {
    const note = path.join(folder, "interrupted");
    const turn = new AbortController();
    const call = callNamed(servers, "mcp__desk__wait", JSON.stringify({ note }), turn.signal);
    const reason = new Error("the client cancelled");
    // The answer to this call shows that the server received the earlier one.
    await callNamed(servers, "mcp__desk__greet");
    turn.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(await eventually("the server's note", () => readFileSync(note, "utf8") || undefined)).toBe("Error: the client cancelled");
    expect((await callNamed(servers, "mcp__desk__greet", '{"name":"again"}')).result.output).toContain("hello again");
  });
});

describe("a call that takes too long", () => {
  it("fails after the tool's timeout, and is cancelled at the server", async () => {
    const note = path.join(folder, "late");
    await using hasty = openServers([programServer("desk", OFFICIAL, { toolTimeoutMs: 300 })]);
    const Err =
      "tool call error: tool call failed for `desk/wait`\n\nCaused by:\n    0: timed out awaiting tools/call after 300ms\n    1: deadline has elapsed";
    const { events, result } = await callNamed(hasty, "mcp__desk__wait", JSON.stringify({ note }));
    expect(events).toEqual([begun("wait", { note }), ended("wait", { note }, { Err })]);
    expect(result).toEqual({ output: `err: ${JSON.stringify(Err)}` });
    expect(await eventually("the server's note", () => readFileSync(note, "utf8") || undefined)).toBe("timed out");
  });
});

describe("a server that dies", () => {
  it("during a call fails the call with how it ended, and is started again by the next, once for all that wait", async () => {
    const before = await structuredAnswer(servers, "mcp__desk__place");
    const Err =
      "tool call error: tool call failed for `desk/die`\n\nCaused by:\n    tools/call failed: connection closed: it exited with code 7";
    expect(await callNamed(servers, "mcp__desk__die")).toMatchObject({ events: [{}, { result: { Err } }] });
    const [one, other] = await Promise.all([structuredAnswer(servers, "mcp__desk__place"), structuredAnswer(servers, "mcp__desk__place")]);
    expect(one).toEqual(other);
    expect(one["born"]).not.toBe(before["born"]);
  });

  it("and cannot be started again reports that for each call", async () => {
    const cwd = mkdtempSync(path.join(folder, "cwd-"));
    await using fragile = openServers([programServer("desk", OFFICIAL, { cwd })]);
    await callNamed(fragile, "mcp__desk__greet");
    rmSync(cwd, { recursive: true });
    await callNamed(fragile, "mcp__desk__die");
    const reason = `The command was not run: its working folder ${cwd} does not exist or is not a folder.`;
    const Err = `tool call error: failed to get client\n\nCaused by:\n    MCP startup failed: ${reason}`;
    expect((await callNamed(fragile, "mcp__desk__greet")).result.output).toBe(`err: ${JSON.stringify(Err)}`);
    expect((await callNamed(fragile, "mcp__desk__greet")).result.output).toBe(`err: ${JSON.stringify(Err)}`);
  });
});

describe("a server that breaks off", () => {
  it.for([
    ["brittle", "it was ended by SIGKILL"],
    ["forsaking", "it exited with code 5"],
  ] as const)("because it is %s fails the call at once, and nothing of it is left", async ([behaviour, because]) => {
    const { mark, env } = newMark();
    const broken = openServers([programServer("s", ["mcpServerUnruly", behaviour], { env })]);
    const Err = `tool call error: tool call failed for \`s/pid\`\n\nCaused by:\n    tools/call failed: connection closed: ${because}`;
    expect((await callNamed(broken, "mcp__s__pid")).result).toEqual({ output: `err: ${JSON.stringify(Err)}` });
    expect(await stragglers(mark, { graceMs: 5000 })).toEqual([]);
    await broken.close();
  });

  it("by closing its output fails the call at once if nothing else keeps the output open", async () => {
    const contain: ServerHost["contain"] = async (command) => launchPlainly(command);
    await using hoarse = openServers([programServer("s", ["mcpServerUnruly", "hoarse"])], { contain });
    expect((await callNamed(hoarse, "mcp__s__pid")).result.output).toContain("connection closed: it closed its output");
  });
});

describe("large output", () => {
  it("is complete in events and shortened for the model", async () => {
    await using brief = openServers([programServer("desk", OFFICIAL)], { shorten: (text) => `${text.slice(0, 12)}… ${text.length}` });
    const { events, result } = await callNamed(brief, "mcp__desk__large", '{"characters":3000000}');
    expect(result).toEqual({ output: '[{"text":"xx… 3000027' });
    expect(events[1]).toMatchObject({ result: { Ok: { content: [{ text: "x".repeat(3_000_000) }] } } });
  });

  it("beyond all bounds ends the connection, and the server is started again by the next call", async () => {
    const { result } = await callNamed(servers, "mcp__desk__large", '{"characters":20000000}');
    expect(result.output).toMatch(/connection closed: it sent a message of 200000\d\d characters; 16777216 are the limit/);
    expect((await callNamed(servers, "mcp__desk__greet", '{"name":"again"}')).result.output).toContain("hello again");
  });
});

describe("a question of a server", () => {
  it("is sent to the turn's follower", async () => {
    const questions: McpElicitation[] = [];
    await using asking = openServers([programServer("desk", OFFICIAL)], {
      ask: async (question) => {
        questions.push(question);
        return { action: "accept", content: { colour: "blue" } };
      },
    });
    expect(await structuredAnswer(asking, "mcp__desk__ask")).toEqual({ action: "accept", content: { colour: "blue" } });
    const requestedSchema = { type: "object", properties: { colour: { type: "string" } } };
    expect(questions).toEqual([{ server: "desk", message: "Which colour?", requestedSchema }]);
  });

  it("is declined without a follower", async () => {
    expect(await structuredAnswer(servers, "mcp__desk__ask")).toEqual({ action: "decline" });
  });

  it("is cancelled when asking fails", async () => {
    await using asking = openServers([programServer("desk", OFFICIAL)], { ask: () => Promise.reject(new Error("no desk")) });
    expect(await structuredAnswer(asking, "mcp__desk__ask")).toEqual({ action: "cancel" });
  });

  it("is withdrawn when the call it belongs to is interrupted", async () => {
    const turn = new AbortController();
    const withdrawn = deferred<void>();
    await using asking = openServers([programServer("desk", OFFICIAL)], {
      ask: (_, { signal }) => {
        signal.addEventListener("abort", () => withdrawn.resolve(), { once: true });
        turn.abort(new Error("interrupted"));
        return new Promise<McpAnswer>((resolve) => signal.addEventListener("abort", () => resolve({ action: "cancel" })));
      },
    });
    await expect(callNamed(asking, "mcp__desk__ask", "{}", turn.signal)).rejects.toThrow("interrupted");
    await withdrawn.promise;
  });
});
