import { expect } from "vitest";
import { type Attack, control, describeAttacks } from "./attack.js";
import { Ground } from "./ground.js";
import { runPlainly } from "./standIn.js";
import { Victim } from "./victim.js";

/** Variables whose name looks like a secret. */
const LOOK_LIKE_SECRETS = [
  "GITHUB_TOKEN",
  "AWS_SECRET_ACCESS_KEY",
  "NPM_TOKEN",
  "DATABASE_PASSWORD",
  "STRIPE_API_KEY",
  "MY_CREDENTIAL",
] as const;
/** Variables that hold a secret of the server, or that its settings declare as secret. */
const SECRETS_OF_THE_SERVER = [
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
  "CODEX_MCP_TOKEN",
  "CODEX_API_KEY",
  "OTHER_PROVIDER",
  "HEADER_OF_PROVIDER",
  "BEARER_OF_MCP",
  "HEADER_OF_MCP",
] as const;

const NAMING_THEM = `[model_providers.other]
name = "other"
base_url = "http://127.0.0.1:9/v1"
env_key = "OTHER_PROVIDER"
env_http_headers = { "x-key" = "HEADER_OF_PROVIDER" }
[mcp_servers.far]
url = "http://127.0.0.1:9/mcp"
bearer_token_env_var = "BEARER_OF_MCP"
env_http_headers = { "x-key" = "HEADER_OF_MCP" }
enabled = false
`;

const LOOK_AROUND = "env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; set; export -p";

function secretsIn(ground: Ground, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, ground.secret(name)]));
}

function environmentAttack(names: readonly string[], { on, how }: { readonly on: "stdio" | "port"; readonly how: string }): Attack {
  const act = HOW[how];
  return {
    name: `find ${names === LOOK_LIKE_SECRETS ? "texts that look like secrets" : "the server's secrets"} in the environment by ${how}${on === "port" ? ", over the network" : ""}`,
    ...(how === "a command" && on === "port" && { quick: true }),
    on,
    victim: (ground) => ({ env: secretsIn(ground, names), config: NAMING_THEM, args: ["--enable", "unified_exec"] }),
    attempt: async (_, victim) => {
      if (on === "stdio") return act?.((tool, args) => victim.call(tool, args));
      using alice = await victim.as("alice");
      return act?.((tool, args) => alice.call(tool, args));
    },
    standIn: (ground) => runPlainly(ground, LOOK_AROUND, secretsIn(ground, names)),
  };
}

type Call = (tool: string, args: Readonly<Record<string, unknown>>) => Promise<unknown>;

const SCRIPT = Buffer.from(LOOK_AROUND).toString("base64");
const TURN = { sandbox: "workspace-write", "approval-policy": "never" };
const HOW: Readonly<Record<string, (call: Call) => Promise<unknown>>> = {
  "a command": (call) => call("codex", { ...TURN, prompt: `!shell eval "$(echo ${SCRIPT} | base64 -d)"\n!say done` }),
  "a command session": (call) =>
    call("codex", { ...TURN, prompt: `!call exec_command ${JSON.stringify({ cmd: LOOK_AROUND, tty: true })}\n!say done` }),
  "a command of the caller's": (call) => call("codex-exec", { command: ["bash", "-c", LOOK_AROUND] }),
  "a login shell": (call) => call("codex-exec", { command: ["bash", "-lc", LOOK_AROUND] }),
};

describeAttacks("a turn", [
  ...Object.keys(HOW).flatMap((how) => [
    environmentAttack(LOOK_LIKE_SECRETS, { on: "port", how }),
    environmentAttack(SECRETS_OF_THE_SERVER, { on: "port", how }),
    environmentAttack(SECRETS_OF_THE_SERVER, { on: "stdio", how }),
  ]),
  {
    name: "get the server's secrets by a policy that includes them",
    victim: (ground) => ({
      env: { ...secretsIn(ground, ["CODEX_MCP_TOKEN"]), MOCK_KEY: ground.secret("key of the provider in use") },
      wholeConfig: (url) =>
        `model = "mock-model"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\nbase_url = "${url}"\nwire_api = "responses"\nenv_key = "MOCK_KEY"\n[shell_environment_policy]\ninherit = "all"\nignore_default_excludes = true\ninclude_only = ["*"]\n`,
    }),
    attempt: (_, victim) => victim.runs(LOOK_AROUND),
    standIn: (ground) => runPlainly(ground, LOOK_AROUND, secretsIn(ground, ["CODEX_MCP_TOKEN"])),
  },
]);

control("commands still get what they need, and on stdio what the user's policy gives them", async () => {
  await using ground = await Ground.open();
  await using victim = await Victim.onStdio(ground, { env: { GITHUB_TOKEN: "the-users-own", EDITOR: "ed" } });
  await victim.runs('test -n "$PATH" -a -n "$HOME" && echo "$EDITOR:$GITHUB_TOKEN"');
  expect(JSON.stringify(victim.model.requests.at(-1)?.body)).toContain("ed:the-users-own");
});
