import { describe, expect, it, vi } from "vitest";
import { ERA_CLIENTS, type Place } from "../support/clients/eraClients.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage, workspaceFiles } from "../support/stage.js";

const APPROVE = { action: "accept", content: { decision: "approved" } } as const;
const DENY = { action: "accept", content: { decision: "denied", reason: "not today" } } as const;
const ASKING = { "approval-policy": "untrusted", sandbox: "workspace-write" };

interface Surroundings extends AsyncDisposable {
  readonly place: Place;
  readonly stage: Stage;
}

/** The transports. A session without a client ends soon, so that the next one can use its threads. */
const TRANSPORTS: Readonly<Record<string, () => Promise<Surroundings>>> = {
  stdio: async () => {
    const stage = await setStage();
    return { place: { stage }, stage, [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose]() };
  },
  HTTP: () => listening("http"),
  WebSocket: () => listening("websocket"),
};

async function listening(over: "http" | "websocket"): Promise<Surroundings> {
  const server = await startHttpServer({ http: "websocket_linger_seconds = 0.05" });
  const place = { origin: server.origin, over } as const;
  return { place, stage: server.running.stage, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe.each(Object.entries(TRANSPORTS))("over %s", (_, surround) => {
  it.each(ERA_CLIENTS)(
    "$name completes a turn with an approval, accepts a denial, cancels, and continues after a reconnect",
    async ({ revision, connect }) => {
      await using surroundings = await surround();
      const { place, stage } = surroundings;
      let threadId = "";
      {
        await using client = await connect(place, APPROVE);
        expect(client.revision).toBe(revision);
        const progress: number[] = [];
        const onprogress = (told: { progress: number }) => progress.push(told.progress);
        const approved = await client.call("codex", { ...ASKING, prompt: "!shell touch approved.txt" }, { onprogress });
        expect(approved).toMatchObject({ structuredContent: { content: "done" } });
        expect(client.questions).toEqual([expect.stringContaining("touch approved.txt")]);
        expect(progress.length).toBeGreaterThan(1);
        threadId = String(valueAt(approved, "structuredContent.threadId"));

        const abort = new AbortController();
        const started = new Promise<void>((resolve) => {
          const hanging = client.call("codex", { prompt: "!hang" }, { signal: abort.signal, onprogress: () => resolve() });
          hanging.catch(() => undefined);
        });
        await started;
        abort.abort("no longer wanted");
        expect(await client.call("codex-reply", { threadId, prompt: "!say on" })).toMatchObject({ structuredContent: { content: "on" } });
      }
      {
        await using client = await connect(place, DENY);
        const denied = await client.call("codex", { ...ASKING, prompt: "!shell touch denied.txt" });
        expect(denied).toMatchObject({ structuredContent: { content: "done" } });
        expect(await untilFound(() => client.call("codex-reply", { threadId, prompt: "!say again" }))).toMatchObject({
          structuredContent: { threadId, content: "again" },
        });
      }
      expect(Object.keys(await workspaceFiles(stage))).toEqual(["approved.txt"]);
    },
    60_000,
  );
});

/** A thread belongs to its session until the session ends. Without a DELETE, the server needs a moment to end it. */
async function untilFound(reply: () => Promise<unknown>): Promise<unknown> {
  return vi.waitFor(
    async () => {
      const result = await reply();
      if (valueAt(result, "isError") === true) throw new Error("the thread is still in use");
      return result;
    },
    { timeout: 45_000 },
  );
}
