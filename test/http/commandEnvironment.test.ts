import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { toolCall } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { ALICE, threePrincipals } from "../support/http/threePrincipals.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";

const UNKNOWN_USER = fileURLToPath(new URL("../programs/unknownUser.cjs", import.meta.url));
const PLAIN = { PLAIN: "seen", OTEL_SERVICE_NAME: "mine" };
const LIKELY = { GITHUB_TOKEN: "secret-1", PGPASSWORD: "secret-2", DATABASE_URL: "postgres://me:secret-3@db/app" };
const NAMED = { WEB_BEARER: "secret-4", OTHER_PROVIDER: "secret-5", OTEL_EXPORTER_OTLP_HEADERS: "x=secret-6" };
const CONFIG = `
[mcp_servers.web]
enabled = false
url = "http://127.0.0.1:9/mcp"
bearer_token_env_var = "WEB_BEARER"
[model_providers.other]
name = "Other"
env_key = "OTHER_PROVIDER"
`;
const TURN = { prompt: "!shell env > seen.txt", sandbox: "workspace-write", "approval-policy": "never" };
const env = { ...PLAIN, ...LIKELY, ...NAMED, PATH: process.env["PATH"] ?? "" };

function seenOf(workspace: string, names: Readonly<Record<string, string>>): string[] {
  const lines = readFileSync(path.join(workspace, "seen.txt"), "utf8").split("\n");
  return Object.entries(names).flatMap(([name, value]) => (lines.includes(`${name}=${value}`) ? [name] : []));
}

it.skipIf(isMissing).for([
  ["nothing that looks secret", "", []],
  ["what the operator lets through", "[shell_environment_policy]\nignore_default_excludes = true\n", Object.keys(LIKELY)],
] as const)("on a listening server commands see %s, and no configured secrets", async ([, more, likely]) => {
  await using server = await startHttpServer({ env, config: CONFIG + more });
  const { workspace, home } = server.running.stage;
  writeFileSync(path.join(home, ".bash_profile"), "export PROFILE_TOKEN=secret-7 WEB_BEARER=secret-4\n");
  await server.ask({ message: toolCall(1, TURN) });
  expect(seenOf(workspace, PLAIN)).toEqual(Object.keys(PLAIN));
  expect(seenOf(workspace, { ...LIKELY, ...NAMED })).toEqual(likely);
  if (likely.length === 0) expect(readFileSync(path.join(workspace, "seen.txt"), "utf8")).not.toMatch(/secret-\d/);
});

it.skipIf(isMissing)("on stdio commands see what the user's own commands see, except configured secrets", async () => {
  await using server = await startServer({ env, config: CONFIG });
  await server.initialize();
  await server.call("codex", TURN).result();
  const { workspace } = server.stage;
  expect([seenOf(workspace, { ...PLAIN, ...LIKELY }), seenOf(workspace, NAMED)]).toEqual([Object.keys({ ...PLAIN, ...LIKELY }), []]);
});

it.skipIf(isMissing)("commands of a caller with a token run under a user that the system does not know", async () => {
  await using stage = await setStage();
  const command = [process.execPath, "--require", UNKNOWN_USER, MAIN] as const;
  await using server = await startHttpServer({ stage, command, args: await threePrincipals(stage) });
  const { body } = await server.ask({ headers: ALICE, message: toolCall(1, { prompt: "!shell true\n!say done" }) });
  expect(body).toMatchObject({ result: { structuredContent: { content: "done", commands: { run: 1, failed: 0 } } } });
});
