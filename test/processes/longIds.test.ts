import { expect, it } from "vitest";
import { startServer } from "../support/processes/mcpServer.js";

/** Adjacent integers that become the same number as doubles. */
const [FIRST, SECOND] = ["9007199254740993", "9007199254740992"] as const;

function call(id: string, prompt: string): string {
  const params = `{"name":"codex","arguments":{"prompt":"${prompt}"},"_meta":{"progressToken":${id}}}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`;
}

it("a request whose id exceeds a number's precision is tracked, cancelled and answered under that id", async () => {
  const lines: string[] = [];
  await using server = await startServer({ onLine: (line) => lines.push(line) });
  await server.initialize();
  server.write(call(FIRST, "!hang") + call(SECOND, "!say hello"));
  await server.answer(Number(SECOND));
  server.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${FIRST}}}\n`);
  const said = (what: RegExp) => server.waitFor(String(what), () => lines.find((line) => what.test(line)));
  await said(new RegExp(`"_meta":\\{"requestId":${FIRST},.*"turn_aborted"`));
  await said(new RegExp(`"method":"notifications/progress".*"progressToken":${FIRST}\\b`));
  expect(lines.filter((line) => line.includes('"result"')).map((line) => /^\{"id":(\d+),/.exec(line)?.[1])).toEqual(["1", SECOND]);
});
