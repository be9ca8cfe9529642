import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import { until } from "./victim.js";

const UNRULY = fileURLToPath(new URL("../programs/mcpServerUnruly.mjs", import.meta.url));
const GONE_WITHIN_MS = 2_000;

/** A text on the command line that only the processes of this attack have. */
function markOf(ground: Ground): string {
  ground.notes["mark"] ??= randomUUID();
  return ground.notes["mark"];
}

function alive(ground: Ground): string[] {
  const mark = markOf(ground);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return words.includes(mark) ? [pid] : [];
      } catch {
        return [];
      }
    });
}

const HOSTAGE = "bash -c 'trap : TERM HUP INT; while :; do sleep 1; done' \"$1\"";
const SERVER = `exec '${process.execPath}' '${UNRULY}' named a "$1"`;

/** What the program of an MCP server does before it serves. */
const SERVERS: Readonly<Record<string, string>> = {
  "that ignores polite signals": `exec '${process.execPath}' '${UNRULY}' stubborn "$1"`,
  "with a child that ignores them": `${HOSTAGE} & ${SERVER}`,
  "with a child in a session of its own": `setsid ${HOSTAGE} > /dev/null 2>&1 < /dev/null & ${SERVER}`,
};

const ENDINGS: Readonly<Record<string, NodeJS.Signals>> = { killed: "SIGKILL", "ended with SIGTERM": "SIGTERM" };

for (const [what, script] of Object.entries(SERVERS)) {
  describeAttacks(
    `an MCP server ${what}`,
    Object.entries(ENDINGS).map(([how, signal]): Attack => {
      return {
        name: `outlive a server that is ${how}`,
        ...(what === "that ignores polite signals" && { quick: true }),
        prepare: (ground) => ground.write(`${ground.root}/server.sh`, script),
        victim: (ground) => ({
          config: `[mcp_servers.x]\ncommand = "/bin/bash"\nargs = ["${ground.root}/server.sh", "${markOf(ground)}"]\n`,
        }),
        endsTheServer: true,
        attempt: async (ground, victim) => {
          await victim.turn("!say done");
          if (!(await until(() => alive(ground).length > 0))) throw new Error("the MCP server was not started");
          victim.server.process.kill(signal);
          await victim.server.exit();
          await until(() => alive(ground).length === 0, GONE_WITHIN_MS);
          endAll(ground);
        },
        gained: ({ notes }) => (notes["left"] ? [`processes ${notes["left"]}`] : []),
        standIn: async (ground) => {
          await runPlainly(ground, `set -- ${markOf(ground)}; setsid ${HOSTAGE} > /dev/null 2>&1 &`);
          await until(() => alive(ground).length > 0);
          endAll(ground);
        },
      };
    }),
  );
}

/** Records the processes that are left, and ends them. */
function endAll(ground: Ground): void {
  ground.notes["left"] = alive(ground).join(" ");
  for (const pid of alive(ground)) process.kill(Number(pid), "SIGKILL");
}
