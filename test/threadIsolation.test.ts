import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { completed, noSuchThread, refused, refusedOn } from "./support/callResults.js";
import { endSession, type NetworkSession, sessionOf } from "./support/http/callers.js";
import { MemoryAgent } from "./support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "./support/memory/memorySession.js";

const NOBODYS = "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa";

function notFound(threadId: string): unknown {
  return refusedOn(threadId, noSuchThread(threadId));
}

async function started(client: MemorySession, prompt = "!say one"): Promise<string> {
  return threadOf(await client.call("codex", { prompt }));
}

function reply(client: MemorySession, threadId: string, prompt = "!say two"): Promise<unknown> {
  return client.call("codex-reply", { threadId, prompt });
}

/** Starts a turn that runs until it is stopped, and returns its thread. */
async function running(client: MemorySession): Promise<string> {
  client.send({ id: "running", method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
  const configured = await client.untilEvent("session_configured", "running");
  // The last event before the turn waits for the model.
  await client.untilEvent("token_count", "running");
  return String(configured["session_id"]);
}

describe("threads belong to the session that started them while it lives", () => {
  it("and that session may continue them", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    const threadId = await started(alice);
    expect(await reply(alice, threadId)).toEqual(completed(threadId, "two"));
  });

  it.for(["alice", "bob"])(
    "another session, of %s, that names one gets exactly the answer for a thread that does not exist",
    async (principal) => {
      await using agent = new MemoryAgent();
      await using alice = sessionOf("alice", agent);
      await using other = sessionOf(principal, agent);
      const threadId = await started(alice);
      const results = [await reply(other, threadId), await reply(other, NOBODYS)];
      expect(results).toEqual([notFound(threadId), notFound(NOBODYS)]);
      expect(other.notified("codex/event")).toEqual([]);
      expect(await reply(alice, threadId)).toEqual(completed(threadId, "two"));
    },
  );

  it("under every spelling of its id", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    await using bob = sessionOf("bob", agent);
    const threadId = await started(alice);
    const spellings = [threadId.toUpperCase(), threadId.replaceAll("-", ""), `{${threadId}}`, `urn:uuid:${threadId}`];
    const results = await Promise.all(spellings.map((spelling) => reply(bob, spelling)));
    expect(results).toEqual(spellings.map(() => notFound(threadId)));
    expect(await bob.call("codex-reply", { conversationId: threadId, prompt: "!say mine" })).toEqual(notFound(threadId));
  });

  it("a running turn of another session cannot be joined, and does not notice", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    await using bob = sessionOf("bob", agent);
    const threadId = await running(alice);
    const before = alice.received.length;
    expect(await reply(bob, threadId)).toEqual(notFound(threadId));
    expect(alice.received.slice(before)).toEqual([]);
  });
});

describe("a thread whose session is over", () => {
  async function leftBy(client: NetworkSession): Promise<string> {
    const threadId = await started(client);
    await endSession(client);
    return threadId;
  }

  it("may be continued by the same principal, and then belongs to that session", async () => {
    await using agent = new MemoryAgent();
    await using first = sessionOf("alice", agent);
    await using second = sessionOf("alice", agent);
    await using third = sessionOf("alice", agent);
    const threadId = await leftBy(first);
    expect(await reply(second, threadId)).toEqual(completed(threadId, "two"));
    expect(await reply(third, threadId)).toEqual(notFound(threadId));
  });

  it("may not be continued by another principal, its running turn included", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    await using bob = sessionOf("bob", agent);
    const [left, busy] = [await started(alice), await running(alice)];
    // The turn continues for a moment after its session has ended.
    agent.open.access.sessionEnded(alice.caller.sessionId);
    expect([await reply(bob, left), await reply(bob, busy)]).toEqual([notFound(left), notFound(busy)]);
  });

  it("may be continued by its principal after a restart, and by nobody else", async () => {
    await using before = new MemoryAgent();
    await using alice = sessionOf("alice", before);
    const threadId = await leftBy(alice);
    await using after = new MemoryAgent({ codexHome: before.codexHome, ceilings: { allowRoots: [before.folder] } });
    await using bob = sessionOf("bob", after);
    await using aliceAgain = sessionOf("alice", after);
    expect([await reply(bob, threadId), await reply(aliceAgain, threadId)]).toEqual([notFound(threadId), completed(threadId, "two")]);
  });
});

describe("ownership is on disk", () => {
  const ownersIn = (codexHome: string) => path.join(codexHome, "mcp-server", "owners");

  it("before the first event of the thread is visible", async () => {
    await using agent = new MemoryAgent();
    await using alice = sessionOf("alice", agent);
    const threadId = await running(alice);
    expect(readFileSync(path.join(ownersIn(agent.codexHome), `${threadId}.json`), "utf8")).toBe('{"principal":"alice"}\n');
  });

  it("and a call whose thread cannot have an owner is refused", async () => {
    await using agent = new MemoryAgent();
    writeFileSync(path.join(agent.codexHome, "mcp-server"), "in the way");
    await using alice = sessionOf("alice", agent);
    const why = expect.stringContaining("Cannot note the thread's owner in");
    expect(await alice.call("codex", { prompt: "!say one" })).toEqual(refused(why));
    expect(alice.notified("codex/event")).toEqual([]);
  });

  it("stdio clients own nothing", async () => {
    await using client = new MemorySession();
    await started(client);
    expect(readdirSync(path.join(client.codexHome, "mcp-server"))).not.toContain("owners");
  });
});

describe("a thread without an owner", () => {
  it("is reachable from stdio only", async () => {
    await using agent = new MemoryAgent();
    await using stdio = new MemorySession({ agent });
    await using alice = sessionOf("alice", agent);
    const threadId = await started(stdio);
    expect([await reply(alice, threadId), await reply(stdio, threadId)]).toEqual([notFound(threadId), completed(threadId, "two")]);
  });

  it("is reachable over the network where config.toml says so", async () => {
    await using agent = new MemoryAgent();
    await using stdio = new MemorySession({ agent });
    await using alice = sessionOf("alice", agent);
    await using bob = sessionOf("bob", agent);
    const threadId = await started(stdio);
    writeFileSync(path.join(agent.codexHome, "config.toml"), "[mcp_server]\nshare_unowned_threads = true\n");
    expect(await reply(alice, threadId)).toEqual(completed(threadId, "two"));
    expect([await reply(bob, threadId), await reply(bob, NOBODYS)]).toEqual([notFound(threadId), notFound(NOBODYS)]);
  });
});

it("stdio may continue any thread, whoever owns it", async () => {
  await using agent = new MemoryAgent();
  await using alice = sessionOf("alice", agent);
  await using stdio = new MemorySession({ agent });
  const threadId = await started(alice);
  expect(await reply(stdio, threadId)).toEqual(completed(threadId, "two"));
});
