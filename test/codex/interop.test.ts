import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { cacheFolder } from "../../bench/peers.js";
import { type IncomingRequest, JsonRpcPeer } from "../../src/jsonrpc/peer.js";
import { StreamWire } from "../../src/jsonrpc/streamWire.js";
import { deferred } from "../../src/lib/promises.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { configNaming } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";

const CASES = await publishedCases();

describe.each(CASES)("with the real Codex $version and $family", { timeout: 240_000 }, ({ program, model: named }) => {
  it("each continues the other's threads with the whole history", async () => {
    await using model = await startResponsesServer();
    const place = makePlace(model.url, named);

    const ours = startOurs(place);
    const first = await ours.call("codex", { prompt: "!think **Why**\n!plan one|two\n!say first, ours", cwd: place.ws });
    await ours.stop();

    const codex = await startAppServer(program, place);
    const resumed = await codex.request("thread/resume", { threadId: first.threadId });
    const theirs = await codex.turn(first.threadId, "!say second, Codex");
    const started = await codex.startThread(place.ws);
    await codex.turn(started, "!say begun by Codex");
    await codex.stop();

    const again = startOurs(place);
    const third = await again.call("codex-reply", { threadId: first.threadId, prompt: "!say third, ours" });
    const fourth = await again.call("codex-reply", { threadId: started, prompt: "!say continued by us" });
    await again.stop();
    rmSync(place.root, { recursive: true, force: true });

    expect(turnsOf(resumed)).toBe(1);
    expect([first.content, theirs, third.content, fourth.content]).toEqual([
      "first, ours",
      "second, Codex",
      "third, ours",
      "continued by us",
    ]);
    const [beforeCodex, , beforeThird, beforeFourth] = model.requests.slice(-4).map(({ body }) => said(body.input));
    expect(beforeCodex).toEqual(["!think **Why**\n!plan one|two\n!say first, ours", "first, ours", "!say second, Codex"]);
    expect(beforeThird).toEqual([...(beforeCodex ?? []), "second, Codex", "!say third, ours"]);
    expect(beforeFourth).toEqual(["!say begun by Codex", "begun by Codex", "!say continued by us"]);
  });

  it("each continues the forks that the other made of any thread", async () => {
    await using model = await startResponsesServer();
    const place = makePlace(model.url, named);

    const codex = await startAppServer(program, place);
    const theirs = await codex.startThread(place.ws);
    await codex.turn(theirs, "!say theirs");
    const forkedByThem = await codex.fork(theirs);
    await codex.stop();

    const ours = startOurs(place);
    const fork = async (threadId: string) => (await ours.call("codex-manage", { action: "fork", threadId })).threadId;
    const { threadId: own } = await ours.call("codex", { prompt: "!say ours", cwd: place.ws });
    const forkedByUs = [await fork(own), await fork(theirs), await fork(forkedByThem)];
    await ours.call("codex-reply", { threadId: forkedByThem, prompt: "!say continued by us" });
    await ours.stop();

    const again = await startAppServer(program, place);
    for (const threadId of forkedByUs) {
      await again.request("thread/resume", { threadId });
      await again.turn(threadId, "!say continued by Codex");
    }
    await again.stop();
    rmSync(place.root, { recursive: true, force: true });

    const heard = model.requests.slice(-4).map(({ body }) => said(body.input));
    expect(heard).toEqual([
      ["!say theirs", "theirs", "!say continued by us"],
      ["!say ours", "ours", "!say continued by Codex"],
      ["!say theirs", "theirs", "!say continued by Codex"],
      ["!say theirs", "theirs", "!say continued by Codex"],
    ]);
  });
});

interface Place {
  readonly root: string;
  readonly ws: string;
  readonly env: Readonly<Record<string, string>>;
}

function makePlace(modelUrl: string, model: string | undefined): Place {
  // Outside the system's temporary folder, which a real Codex refuses as its home.
  mkdirSync(cacheFolder(), { recursive: true });
  const root = mkdtempSync(path.join(cacheFolder(), "interop-"));
  const [ws, home, codexHome] = ["ws", "home", "codex-home"].map((name) => path.join(root, name)) as [string, string, string];
  for (const folder of [ws, home, codexHome]) mkdirSync(folder);
  writeFileSync(path.join(codexHome, "config.toml"), configNaming(model, modelUrl));
  const nowhere = "http://127.0.0.1:9";
  return {
    root,
    ws,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, CODEX_HOME: codexHome, HTTPS_PROXY: nowhere, NO_PROXY: "127.0.0.1" },
  };
}

function connect(program: string, args: readonly string[], place: Place, notified: (method: string, params: unknown) => void) {
  const child = spawn(program, args, { cwd: place.ws, env: place.env, stdio: ["pipe", "pipe", "ignore"] });
  const wire = new StreamWire(child.stdout, { stream: child.stdin, write: child.stdin.write.bind(child.stdin) });
  const answer = async ({ method }: IncomingRequest) => Promise.reject(new Error(`unexpected request ${method}`));
  const peer = new JsonRpcPeer(wire, { answer, notified, unreadable: () => {}, failed: () => "it failed" });
  const running = peer.run(wire.incoming);
  return {
    peer,
    stop: async () => {
      child.stdin.end();
      await running;
      peer.close(new Error("stopped"));
    },
  };
}

function startOurs(place: Place) {
  const { peer, stop } = connect(process.execPath, [path.resolve("dist/main.js"), "mcp-server", "--engine", "native"], place, () => {});
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = (await peer.request("tools/call", { name, arguments: args })) as {
      structuredContent: { threadId: string; content: string };
    };
    return result.structuredContent;
  };
  return { call, stop };
}

async function startAppServer(program: string, place: Place) {
  let completed = deferred<string>();
  let text = "";
  const { peer, stop } = connect(program, ["app-server"], place, (method, params) => {
    const { item } = params as { item?: { type: string; text?: string } };
    if (method === "item/completed" && item?.type === "agentMessage") text = item.text ?? "";
    if (method === "turn/completed") completed.resolve(text);
  });
  await peer.request("initialize", { clientInfo: { name: "interop", title: "interop", version: "1" } });
  peer.notify("initialized", undefined);
  return {
    request: (method: string, params: unknown) => peer.request(method, params),
    async startThread(cwd: string): Promise<string> {
      const { thread } = (await peer.request("thread/start", { cwd })) as { thread: { id: string } };
      return thread.id;
    },
    async fork(threadId: string): Promise<string> {
      const { thread } = (await peer.request("thread/fork", { threadId })) as { thread: { id: string } };
      return thread.id;
    },
    async turn(threadId: string, prompt: string): Promise<string> {
      completed = deferred<string>();
      await peer.request("turn/start", { threadId, input: [{ type: "text", text: prompt }] });
      return completed.promise;
    },
    stop,
  };
}

function turnsOf(resumed: unknown): number | undefined {
  return (resumed as { thread?: { turns?: unknown[] } }).thread?.turns?.length;
}

/** The messages of the user and the model, without the context that the servers add. */
function said(input: readonly { role?: string; content?: unknown }[]): string[] {
  return input
    .filter(({ role }) => role === "user" || role === "assistant")
    .map(({ content }) => (content as { text: string }[]).map(({ text }) => text).join(""))
    .filter((text) => !/^(<|# AGENTS)/.test(text));
}
