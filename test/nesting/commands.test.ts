import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { MAIN, startServer } from "../support/mcpServer.js";

const INNER = `printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n' | ${process.execPath} ${MAIN} --engine scripted > listed`;
const CLEAN = 'env -i PATH="$PATH" HOME="$HOME"';
/** Its process is nobody's child any more when it begins. */
const ORPHAN = `while kill -0 $1 2>/dev/null; do :; done\n${INNER}\n`;

it.for([
  ["as it is", "sh inner.sh"],
  ["with a clean environment", `${CLEAN} sh inner.sh`],
  ["after whoever started it has left", `${CLEAN} sh -c 'setsid sh orphan.sh $$ & exit 0'`],
] as const)("a server that a command with full access starts, %s, knows that it is inside a turn", async ([, command]) => {
  // Not the usual path of a stage: whoever runs the tests decides what holds such commands together.
  await using server = await startServer({ env: { PATH: process.env["PATH"] ?? "" } });
  const { workspace } = server.stage;
  await writeFile(path.join(workspace, "inner.sh"), `${INNER}\n`);
  await writeFile(path.join(workspace, "orphan.sh"), ORPHAN);
  await server.initialize();
  const waiting = "until test -s listed; do sleep 0.05; done";
  server.call("codex", { prompt: `!shell ${command}; ${waiting}`, sandbox: "danger-full-access", "approval-policy": "never" });
  const listed = await eventually("the list of the server inside", () =>
    /.*\n/.exec(readFileSync(path.join(workspace, "listed"), "utf8"))?.at(0),
  );
  expect(listed.match(/"name":"[^"]*"/g)).toEqual(['"name":"codex-models"']);
});
