import { renameSync } from "node:fs";
import path from "node:path";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import { type PortClient, tokenLines, until, type Victim } from "./victim.js";

/** A file that appears, or is replaced, while a command is already running. */
interface Later {
  readonly what: string;
  /** The folder that the command searches. */
  readonly look: (ground: Ground) => string;
  readonly happen: (ground: Ground) => unknown;
}

const tokenFolder = (ground: Ground) => path.join(ground.root, "keys");

const LATER: readonly Later[] = [
  {
    what: "a token file that is replaced",
    look: tokenFolder,
    happen: (ground) =>
      replace(ground, path.join(tokenFolder(ground), "tokens"), `${tokenLines(ground)}new ${ground.secret("new token")}\n`),
  },
  {
    what: "a token file that is replaced as secrets of a cluster are",
    look: tokenFolder,
    happen: (ground) => {
      const folder = tokenFolder(ground);
      ground.hold(path.join(folder, "..2026_02", "tokens"), `${tokenLines(ground)}new ${ground.secret("new token")}\n`);
      renameSync(path.join(folder, "..2026_02"), path.join(folder, "..data"));
    },
  },
  {
    what: "a key that appears beside the token file",
    look: tokenFolder,
    happen: (ground) => ground.hold(path.join(tokenFolder(ground), "tls.pem"), ground.secret("key of the certificate")),
  },
  {
    what: "the first login",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("auth.json"), `{"OPENAI_API_KEY":"${ground.secret("login")}"}`),
  },
  {
    what: "a login that is renewed",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => replace(ground, ground.inHome("auth.json"), `{"OPENAI_API_KEY":"${ground.secret("login")}"}`),
  },
  {
    what: "logins of MCP servers",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome(".credentials.json"), ground.secret("login of an MCP server")),
  },
  {
    what: "the first archived thread",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("archived_sessions/rollout-1.jsonl"), ground.secret("archived thread")),
  },
  {
    what: "another caller's new thread",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("sessions/2031/01/01/rollout-1.jsonl"), ground.secret("thread")),
  },
  {
    what: "a log that begins",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("log/codex-mcp-server.log"), ground.secret("log")),
  },
  {
    what: "keys that are added to the settings",
    look: ({ codexHome }) => codexHome,
    happen: (ground) =>
      replace(ground, ground.inHome("config.toml"), `experimental_bearer_token = "${ground.secret("key in the settings")}"`),
  },
  {
    what: "any new file of the server",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("state_9.sqlite"), ground.secret("state")),
  },
];

function replace(ground: Ground, file: string, text: string): void {
  ground.hold(`${file}.new`, text);
  renameSync(`${file}.new`, ground.hold(file, ""));
}

/** Reports that it is running, waits for the sign, and then reads the folder. */
function waitAndLook(folder: string): string {
  return `touch there; n=0; until [ -e go ] || [ $n = 200 ]; do sleep 0.1; n=$((n+1)); done; find '${folder}' -type f -exec cat {} + 2>/dev/null`;
}

async function playLater({ look, happen }: Later, ground: Ground, victim: Victim): Promise<void> {
  using alice = await victim.as("alice");
  const looking = alice.runs(waitAndLook(look(ground)), { cwd: ground.workspace });
  if (!(await until(() => ground.has("there")))) throw new Error("the command did not begin");
  await happen(ground);
  ground.write(ground.inWorkspace("go"), "");
  await looking;
}

/** Files that exist before the command starts. */
const ALWAYS: readonly Later[] = [
  {
    what: "keys in the settings",
    look: ({ codexHome }) => codexHome,
    happen: (ground) => ground.hold(ground.inHome("extra.config.toml"), ground.secret("key in other settings")),
  },
];

describeAttacks("a caller's command", [
  ...LATER.map((later, at): Attack => {
    return {
      name: `read ${later.what} while it runs`,
      ...((at === 0 || later.what === "the first login") && { quick: true }),
      on: "port",
      attempt: (ground, victim) => playLater(later, ground, victim),
      standIn: async (ground) => {
        ground.hold(path.join(tokenFolder(ground), "tokens"), tokenLines(ground));
        const running = runPlainly(ground, waitAndLook(later.look(ground)));
        await until(() => ground.has("there"));
        await later.happen(ground);
        ground.write(ground.inWorkspace("go"), "");
        await running;
      },
    };
  }),
  ...ALWAYS.map(({ what, look, happen }): Attack => {
    return {
      name: `read ${what}`,
      on: "port",
      quick: true,
      prepare: (ground) => happen(ground),
      victim: (ground) => ({
        config: `[mcp_servers.x]\nurl = "http://127.0.0.1:9/"\nhttp_headers = { key = "${ground.secret("header of an MCP server")}" }\nenabled = false\n`,
      }),
      attempt: (ground, victim) =>
        asAlice(victim, (alice) => alice.runs(`cat '${look(ground)}'/*.toml; find '${look(ground)}' -type f -exec cat {} +`)),
      standIn: (ground) => runPlainly(ground, `cat '${look(ground)}'/*.toml`),
    };
  }),
  {
    name: "find out which files the server has",
    on: "port",
    attempt: (ground, victim) => {
      ground.hold(ground.inHome("auth.json"), "{}");
      return asAlice(victim, (alice) => alice.runs(`find '${ground.codexHome}' -type f -size +0 | sed s/^/SEES-/`));
    },
    gained: (ground) => (ground.saw("SEES-/") ? ["the names of the server's files"] : []),
    standIn: (ground) => {
      ground.hold(ground.inHome("auth.json"), "{}");
      return runPlainly(ground, `find '${ground.codexHome}' -type f | sed s/^/SEES-/`);
    },
  },
]);

async function asAlice(victim: Victim, act: (alice: PortClient) => Promise<unknown>): Promise<void> {
  using alice = await victim.as("alice");
  await act(alice);
}
