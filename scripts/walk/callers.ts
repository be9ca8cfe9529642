import { joinWithV1 } from "../../test/support/http/httpParticipants.js";
import { addressOf } from "../../test/support/http/httpServer.js";
import { type ServerStart, startServer } from "../../test/support/processes/mcpServer.js";

/** A client with its own server; it repeats the same call. */
export interface Caller extends AsyncDisposable {
  call(): Promise<void>;
}

export async function stdioCaller(start: ServerStart): Promise<Caller> {
  const server = await startServer({ ...start, args: [] });
  await server.initialize();
  return {
    call: async () => {
      await server.call("codex", { prompt: "!say hello" }).result();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Approves the command. */
export async function httpCaller(start: ServerStart): Promise<Caller> {
  const server = await startServer({ ...start, args: ["--port", "0"] });
  const client = await joinWithV1(Number(new URL(await addressOf(server)).port));
  return {
    call: async () => {
      const asked = client.questions.length;
      const args = { prompt: "!shell touch made.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" };
      const result = await client.call("codex", args);
      if (client.questions.length === asked) throw new Error(`The client was not asked: ${JSON.stringify(result)}`);
    },
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
