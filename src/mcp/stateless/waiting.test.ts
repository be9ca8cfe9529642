import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { StatelessClient } from "../../../test/support/clients/statelessClient.js";
import { eventually } from "../../../test/support/eventually.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { CallerTimedOut } from "../../agent/errors.js";

/** A turn that runs until the file exists. */
const HELD = "!shell until [ -e go ]; do sleep 0.05; done\n!say made";
const PLAIN = { capabilities: {}, meta: { progressToken: 1 } };

function letGo({ agent }: StatelessClient): Promise<void> {
  return writeFile(`${agent.folder}/go`, "");
}

async function untilRunning(client: StatelessClient, calls = 1): Promise<void> {
  await eventually("the command", () => {
    const running = client.heard("notifications/progress").filter(({ message }) => String(message).startsWith("Running"));
    return running.length >= calls ? true : undefined;
  });
}

const saidIn = (answer: unknown) => valueAt(answer, "result.structuredContent.content");
const statusIn = (answer: unknown) => valueAt(answer, "result.structuredContent.status");
const threadIn = (answer: unknown) => String(valueAt(answer, "result.structuredContent.threadId"));

describe("a call without a session", () => {
  it("that waited long enough is answered while its turn goes on; codex-wait gets the answer", async () => {
    await using client = new StatelessClient();
    const running = await client.call({ prompt: HELD, wait: 0 }, PLAIN);
    expect(statusIn(running)).toBe("running");
    const threadId = threadIn(running);
    expect(statusIn(await client.call({ threadId, wait: 0 }, { ...PLAIN, tool: "codex-wait" }))).toBe("running");
    await letGo(client);
    expect(saidIn(await client.call({ threadId }, { ...PLAIN, tool: "codex-wait" }))).toBe("made");
  });

  it("that timed out detaches, and the same prompt joins its turn", async () => {
    await using client = new StatelessClient();
    const abort = new AbortController();
    const lost = client.call({ prompt: HELD }, { ...PLAIN, signal: abort.signal });
    await untilRunning(client);
    abort.abort(new CallerTimedOut("the client stopped waiting"));
    await lost;
    const joined = await client.call({ prompt: HELD, wait: 0 }, PLAIN);
    expect(valueAt(joined, "result.structuredContent.notices")).toEqual([
      expect.stringMatching(/^This turn was started .* not started again\./),
    ]);
    await letGo(client);
    expect(saidIn(await client.call({ threadId: threadIn(joined) }, { ...PLAIN, tool: "codex-wait" }))).toBe("made");
    const threads = await client.call({ action: "list" }, { ...PLAIN, tool: "codex-threads" });
    expect(valueAt(threads, "result.structuredContent.threads.length")).toBe(1);
  });

  it("whose connection closes interrupts its turn", async () => {
    await using client = new StatelessClient();
    const abort = new AbortController();
    const lost = client.call({ prompt: HELD }, { ...PLAIN, signal: abort.signal });
    await untilRunning(client);
    abort.abort(new Error("the client closed the connection"));
    expect(valueAt(await lost, "result.isError")).toBe(true);
    expect(valueAt(await lost, "result.structuredContent.status")).not.toBe("running");
  });

  it("of another principal neither joins the turn nor learns of it", async () => {
    await using client = new StatelessClient();
    const abort = new AbortController();
    const lost = client.call({ prompt: HELD }, { ...PLAIN, principal: "ann", signal: abort.signal });
    await untilRunning(client);
    abort.abort(new CallerTimedOut("the client stopped waiting"));
    await lost;
    const other = await client.call({ prompt: HELD, wait: 0 }, { ...PLAIN, principal: "bob" });
    expect([statusIn(other), valueAt(other, "result.structuredContent.alsoRunning")]).toEqual(["running", undefined]);
    const own = await client.call({ prompt: "!say other" }, { ...PLAIN, principal: "ann" });
    expect(valueAt(own, "result.structuredContent.alsoRunning.length")).toBe(1);
    expect(valueAt(own, "result.structuredContent.alsoRunning.0.threadId")).not.toBe(threadIn(other));
    await letGo(client);
  });
});
