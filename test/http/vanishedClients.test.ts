import { expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { handshake, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

const IMPATIENT = "vanished_client_seconds = 1\nkeep_alive_seconds = 1";
const INTERRUPTED = /a turn of thread \S+ was interrupted: its client vanished in the middle of a call/;

/** The headers of a session that has shaken hands. */
async function begin(server: HttpServer): Promise<Record<string, string>> {
  const { session } = await server.ask({ headers: SPEC, message: handshake(0) });
  return { ...SPEC_LATER, "mcp-session-id": session ?? "" };
}

function interruptions({ running }: HttpServer): number {
  return running.errorLines.filter((line) => INTERRUPTED.test(line)).length;
}

it("a turn ends if its client's connection breaks and the client does not return; other turns continue", async () => {
  await using server = await startHttpServer({ http: IMPATIENT });
  const [gone, there] = [await begin(server), await begin(server)];
  const left = await server.stream({ headers: gone, message: toolCall(1, { prompt: "!shell sleep 60" }) });
  using followed = await server.stream({ headers: there, message: toolCall(1, { prompt: "!shell sleep 4\n!say whole" }) });
  await left.step("exec_command_begin");
  left.breakOff();
  await eventually("the end of the turn", () => (interruptions(server) > 0 ? true : undefined));
  expect(valueAt(await followed.answerTo(1), "result.structuredContent.content")).toBe("whole");
  expect(interruptions(server)).toBe(1);
});

it("a client that reconnects for its call gets the result", async () => {
  // On a busy machine it may take seconds to come back. The command outlasts the limit.
  await using server = await startHttpServer({ http: "vanished_client_seconds = 5\nkeep_alive_seconds = 1" });
  const headers = await begin(server);
  const broken = await server.stream({ headers, message: toolCall(1, { prompt: "!shell sleep 8\n!say whole" }) });
  await broken.step("exec_command_begin");
  const { lastEventId } = broken;
  broken.breakOff();
  using back = await server.stream({ headers: { ...headers, "last-event-id": lastEventId } });
  expect(valueAt(await back.answerTo(1), "result.structuredContent.content")).toBe("whole");
  expect(interruptions(server)).toBe(0);
});
