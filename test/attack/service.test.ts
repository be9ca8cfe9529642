import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { handshake, rpc } from "../support/http/httpClient.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Attack, describeAttacks } from "./attack.js";
import type { Ground } from "./ground.js";
import { makeRepository } from "./plants.js";
import { isStopped, runPlainly, tryNaively } from "./standIn.js";
import { type PrincipalName, patching, type Victim } from "./victim.js";

const HELPER = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));

/** Configurations of a repository on which a pattern with several consecutive repeats backtracks for hours. */
const SLOW_CONFIGURATIONS = {
  "a line with a million blanks": {
    text: `[remote "origin"]\n\turl = x${" ".repeat(2 ** 20)}"x\n`,
    naive: String.raw`/^\s*(\w+)\s*=\s*"?([^"]*?)"?\s*$/m`,
  },
  "a quarter of a million empty lines": { text: "\n".repeat(2 ** 18 - 1_000), naive: String.raw`/^\s*filemode\s*=\s*(true|false)\s*$/im` },
} as const;

describeAttacks(
  "a repository",
  Object.entries(SLOW_CONFIGURATIONS).map(([what, { text, naive }]): Attack => {
    return {
      name: `stop the server by ${what} in its configuration`,
      quick: true,
      prepare: (ground) => {
        makeRepository(ground.workspace);
        ground.write(ground.inWorkspace(".git/config"), text);
      },
      // The server examines the workspace before the first command.
      attempt: (_, victim) => victim.turn("!shell touch made\n!say done"),
      standIn: (ground) => tryNaively(ground, `${naive}.test(${JSON.stringify(text)})`),
      gained: isStopped,
    };
  }),
);

interface Sent {
  readonly to: string;
  readonly body: string;
  readonly by?: PrincipalName;
  readonly cookie?: string;
}

/** A request with any body, of a principal or of a stranger. */
async function post(ground: Ground, { url }: Victim, { to, body, by, cookie }: Sent): Promise<Response> {
  const who = { ...(by && { authorization: `Bearer ${ground.secret(`token of ${by}`)}` }), ...(cookie && { cookie, origin: url }) };
  return fetch(url + to, { method: "POST", headers: { "content-type": "application/json", ...who }, body });
}

const LONG_NUMBER = `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping","params":{"x":${"1".repeat(2 ** 20)}e5}}`;
const MANY_KEYS = 100_000;
const MANY = 600_000;
const MANY_MESSAGES = `[${Array.from({ length: MANY }, (_, id) => `{"id":${id},"method":"ping"}`).join(",")}]`;
/** A path of many steps that leads back to its beginning. */
const wanderingFrom = (folder: string): string => folder + "/a/..".repeat(MANY_STEPS);
const MANY_STEPS = 150_000;
const DEEP = "/a".repeat(MANY_STEPS);
/** Resolves a path step by step, because the last names of a path need not exist. */
const LOOKS_UP_EACH = `const steps = file.split("/"); let at = ""; const { readlinkSync } = require("node:fs");
for (let step = steps.shift(); step !== undefined; step = steps.shift()) try { at = readlinkSync(at + "/" + step); } catch { at += step === ".." ? "" : "/" + step; }`;
const MANY_CLIENTS = 50;
/** Only its first bytes are those of a JPEG. */
const IMAGE = Buffer.concat([Buffer.from("ffd8ff", "hex"), Buffer.alloc(15 * 2 ** 20)]);
const MANY_IMAGES = 60;

describeAttacks("a caller", [
  {
    name: "stop the server by a number of a million digits",
    quick: true,
    on: "port",
    attempt: (ground, victim) => post(ground, victim, { by: "alice", to: "/mcp", body: LONG_NUMBER }),
    standIn: (ground) => tryNaively(ground, String.raw`/-?\d{16,}(?![\d.eE])/g[Symbol.replace](${JSON.stringify(LONG_NUMBER)}, "")`),
    gained: isStopped,
  },
  {
    name: "stop the server by many dotted keys of one table",
    quick: true,
    on: "port",
    attempt: async (_, victim) => {
      using alice = await victim.as("alice");
      const config = Object.fromEntries(Array.from({ length: MANY_KEYS }, (_key, at) => [`a.k${at}`, 0]));
      // The server may close the connection before everything was sent.
      await alice.turn("!say done", { config }).catch(() => {});
    },
    standIn: (ground) => tryNaively(ground, `let tree = {}; for (let at = 0; at < ${MANY_KEYS}; at++) tree = { ...tree, ["k" + at]: 0 };`),
    gained: isStopped,
  },
  {
    name: "stop the server by a batch of many messages",
    quick: true,
    on: "port",
    attempt: async (ground, victim) => {
      const by = { authorization: `Bearer ${ground.secret("token of alice")}`, "content-type": "application/json" };
      const message = handshake(0, { version: "2025-03-26" });
      const { headers } = await fetch(`${victim.url}/mcp`, { method: "POST", headers: by, body: JSON.stringify(message) });
      const session = { "mcp-session-id": headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-03-26" };
      await fetch(`${victim.url}/mcp`, { method: "POST", headers: { ...by, ...session }, body: MANY_MESSAGES });
    },
    standIn: (ground) =>
      tryNaively(ground, `const ids = Array.from({ length: ${MANY} }, (_, at) => at); ids.find((id, at) => ids.indexOf(id) !== at);`),
    gained: isStopped,
  },
  {
    name: "stop the server by a path of many steps",
    quick: true,
    on: "port",
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      const { workspace } = ground;
      await alice.turn("!say done", { cwd: wanderingFrom(workspace) });
      await alice.ask("execOneOffCommand", { command: ["true"], cwd: wanderingFrom(workspace) });
      const sandboxPolicy = { mode: "workspace-write", writable_roots: [workspace + DEEP] };
      await alice.ask("execOneOffCommand", { command: ["true"], cwd: workspace, sandboxPolicy });
      const opened = await alice.ask("newConversation", { cwd: workspace });
      const items = [{ type: "localImage", data: { path: workspace + DEEP } }];
      await alice.ask("sendUserMessage", { conversationId: valueAt(opened, "result.conversationId"), items });
    },
    standIn: (ground) =>
      tryNaively(ground, `const file = ${JSON.stringify(ground.workspace + "/a/..".repeat(4 * MANY_STEPS))}; ${LOOKS_UP_EACH}`),
    gained: isStopped,
  },
  {
    name: "take the server's memory by the names of clients",
    on: "port",
    attempt: async (ground, victim) => {
      for (let at = 0; at < MANY_CLIENTS; at++) {
        const clientInfo = { name: "x".repeat(20 * 2 ** 20), version: "1" };
        await post(ground, victim, {
          by: "alice",
          to: "/mcp",
          body: JSON.stringify(rpc(at, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo })),
        });
      }
    },
    standIn: (ground) => runPlainly(ground, `[ $((${MANY_CLIENTS} * 20)) -gt 700 ] && echo ENDLESS`),
    gained: isStopped,
  },
  {
    name: "take the server's memory by the names of models",
    on: "port",
    attempt: async (_, victim) => {
      using alice = await victim.as("alice");
      for (let at = 0; at < MANY_CLIENTS; at++) await alice.ask("newConversation", { model: `${"x".repeat(20 * 2 ** 20)}${at}` });
    },
    standIn: (ground) => runPlainly(ground, `[ $((${MANY_CLIENTS} * 20)) -gt 700 ] && echo ENDLESS`),
    gained: isStopped,
  },
  {
    name: "take the server's memory by naming one image many times",
    quick: true,
    on: "port",
    prepare: (ground) => writeFileSync(ground.inWorkspace("p.jpg"), IMAGE),
    attempt: async (ground, victim) => {
      using alice = await victim.as("alice");
      const opened = await alice.ask("newConversation", { cwd: ground.workspace });
      const items = Array.from({ length: MANY_IMAGES }, () => ({ type: "localImage", data: { path: "p.jpg" } }));
      await alice.ask("sendUserMessage", { conversationId: valueAt(opened, "result.conversationId"), items });
    },
    standIn: (ground) => runPlainly(ground, `[ $((${MANY_IMAGES} * $(base64 p.jpg | wc -c))) -gt 1000000000 ] && echo ENDLESS`),
    gained: isStopped,
  },
]);

describeAttacks("a model", [
  {
    name: "stop the server by a path of many steps",
    quick: true,
    attempt: async (_, victim) => {
      const longest = `${DEEP.slice(1, 40_000)}/x`;
      await victim.turn(`!call view_image ${JSON.stringify({ path: longest })}\n!say done`);
      await victim.turn(patching(`*** Add File: ${longest}`, "+x"));
      const lost = await victim.turn(`!call shell ${JSON.stringify({ command: ["true"], workdir: longest })}\n!say went on`);
      if (!JSON.stringify(lost).includes("went on")) throw new Error("The turn failed.");
    },
    standIn: (ground) => tryNaively(ground, `const file = ${JSON.stringify("/a/..".repeat(4 * MANY_STEPS))}; ${LOOKS_UP_EACH}`),
    gained: isStopped,
  },
]);

const STRANGERS = 40;
const STRANGERS_BODY = `{"x":[${"1,".repeat(7 * 2 ** 20)}1]}`;

describeAttacks("a stranger", [
  {
    name: "take the server's memory and time by what is sent to log in",
    quick: true,
    on: "port",
    attempt: async (ground, victim) => {
      const sent = { to: "/api/v1/login", body: STRANGERS_BODY };
      // The server may close the connection before everything was sent.
      await Promise.allSettled(Array.from({ length: STRANGERS }, () => post(ground, victim, sent)));
    },
    standIn: (ground) =>
      tryNaively(
        ground,
        `const body = ${JSON.stringify(STRANGERS_BODY)}; const taken = []; while (taken.length < ${STRANGERS}) taken.push(JSON.parse(body)); for (;;);`,
      ),
    gained: isStopped,
  },
]);

/** More than a server remembers of browsers' logins. */
const MANY_LOGINS = 5_000;
const AT_ONCE = 50;

/** A folder on PATH that is neither temporary nor in the home folder or a workspace. */
function placeHelper(ground: Ground): void {
  // Programs in the temporary folders are not trusted, and the project may lie in one.
  const folder = mkdtempSync(path.join(homedir(), ".attack-helper-"));
  ground.atTheEnd(() => rmSync(folder, { recursive: true }));
  chmodSync(ground.write(path.join(folder, "helper"), `#!/bin/sh\nexec '${process.execPath}' '${HELPER}'\n`), 0o755);
  ground.notes["PATH"] = `${folder}:/usr/local/bin:/usr/bin:/bin`;
}

/** Requests that the server refuses. If they were granted, commands could write every folder. */
const REFUSED = [{ sandbox: "danger-full-access" }, { cwd: "/" }] as const;

describeAttacks("a principal", [
  {
    name: "end the logins of others by many of its own",
    quick: true,
    on: "port",
    attempt: async (ground, victim) => {
      const { headers } = await post(ground, victim, { by: "root", to: "/api/v1/login", body: "{}" });
      const cookie = headers.get("set-cookie")?.split(";")[0] ?? "";
      const logIn = () => post(ground, victim, { by: "alice", to: "/api/v1/login", body: "{}" });
      for (let at = 0; at < MANY_LOGINS; at += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, logIn));
      const me: unknown = await (await fetch(`${victim.url}/api/v1/me`, { headers: { cookie } })).json();
      ground.notes["root"] = String(valueAt(me, "principal"));
    },
    standIn: (ground) => {
      const logins = new Map([["root", true]]);
      for (let at = 0; at < MANY_LOGINS; at++) {
        logins.set(`alice ${at}`, true);
        const [oldest = ""] = logins.keys();
        if (logins.size > 1_024) logins.delete(oldest);
      }
      ground.notes["root"] = logins.has("root") ? "root" : "nobody";
    },
    gained: ({ notes }) => (notes["root"] === "root" ? [] : [`the login of root now belongs to ${notes["root"]}`]),
  },
  ...REFUSED.map((refused): Attack => {
    return {
      name: `make the threads of others lose programs by a request that is refused: ${JSON.stringify(refused)}`,
      quick: true,
      on: "port",
      prepare: placeHelper,
      victim: (ground) => ({ env: { PATH: ground.notes["PATH"] ?? "" }, config: '[mcp_servers.helper]\ncommand = "helper"\n' }),
      attempt: async (_, victim) => {
        using alice = await victim.as("alice");
        await alice.turn("!say done", refused);
        await alice.call("codex-threads", "cwd" in refused ? refused : {});
        using bob = await victim.as("bob");
        await bob.turn('!call mcp__helper__greet {"name":"bob"}\n!say done');
      },
      gained: (ground) => (ground.saw("hello bob") ? [] : ["a program that is not found any more"]),
      standIn: (ground) => runPlainly(ground, "helper"),
    };
  }),
]);
