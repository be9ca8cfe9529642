import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { handshake, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";

/** The names of the stderr lines that concern the call. */
function saidBy({ running }: HttpServer): Set<string> {
  return new Set(
    running.errorLines.flatMap((line) => /^codex-mcp-server: ((?:session|request|turn|call|model call) \w+)/.exec(line)?.[1] ?? []),
  );
}

async function callOnce(server: HttpServer): Promise<void> {
  const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
  using stream = await server.stream({
    headers: { ...SPEC_LATER, "mcp-session-id": session },
    message: toolCall(1, { prompt: "!say hi" }),
  });
  await stream.answerTo(1);
  await stream.end();
  await server.ask({ method: "DELETE", headers: { ...SPEC_LATER, "mcp-session-id": session } });
}

describe.concurrent("a filter by part of the server", () => {
  it.for([
    ["warn,http=debug", ["session opened", "request ended", "session ended"]],
    ["warn,codex_mcp_server::http=trace", ["session opened", "request ended", "session ended"]],
    ["warn,http=info", ["session opened", "session ended"]],
    ["error,agent=info", ["turn started", "turn ended"]],
    ["off,mcp=debug", ["call ended"]],
    ["off,codex-mcp-server::model=debug", ["model call ended"]],
  ] as const)("%s lets its lines pass, and no others", async ([filter, lines]) => {
    await using server = await startHttpServer({ env: { LOG_LEVEL: filter } });
    await callOnce(server);
    await eventually("the last line", () => lines.every((line) => saidBy(server).has(line)) || undefined);
    expect(saidBy(server)).toEqual(new Set(lines));
  });

  it("uses the `target` of the lines in the file", async () => {
    await using server = await startHttpServer({ env: { LOG_LEVEL: "debug" } });
    await callOnce(server);
    const file = path.join(server.running.stage.codexHome, "log/codex-mcp-server.log");
    const targets = await eventually("all lines", () => {
      const lines = readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "");
      const found = new Set(lines.map((line) => (JSON.parse(line) as { target?: string }).target));
      return found.size >= 5 ? found : undefined;
    });
    expect(targets).toEqual(new Set([undefined, "http", "mcp", "agent", "model"]));
  });
});
