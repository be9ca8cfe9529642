import type { Ground } from "../attack/ground.js";
import { addressOf } from "../support/http/httpServer.js";
import type { SeededRandom } from "../support/patch/random.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { checkWords, describeFuzz } from "./fuzz.js";
import { bentText, strangeText, strangeValue } from "./invent.js";

const SETTINGS = `model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "workspace-write"
project_doc_max_bytes = 1000
project_doc_fallback_filenames = ["CLAUDE.md"]
notify = ["true"]
[sandbox_workspace_write]
network_access = false
writable_roots = ["/var/tmp"]
[shell_environment_policy]
inherit = "core"
exclude = ["AWS_*"]
set = { A = "b" }
[features]
unified_exec = true
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
request_max_retries = 0
query_params = { a = "b" }
[mcp_servers.one]
command = "true"
args = ["x"]
env = { A = "b" }
startup_timeout_sec = 1
[mcp_servers.two]
url = "http://127.0.0.1:9/mcp"
http_headers = { a = "b" }
[profiles.other]
model = "x"
[projects."/nowhere"]
trust_level = "trusted"
[mcp_server]
idle_thread_minutes = 5
[mcp_server.http]
max_body_mib = 4
turns_per_session = 2
`;

const RULES = `prefix_rule(pattern=["git", ["status", "log"]], decision="allow", match=["git status"], not_match=["git push"])
prefix_rule(pattern=["rm"], decision="forbidden", justification="no")
# a comment
prefix_rule(
  pattern = ["touch"],
  decision = "prompt",
)
`;

/** A key of the settings with a value of another type. */
function otherValue(random: SeededRandom): string {
  const lines = SETTINGS.split("\n");
  const at = random.below(lines.length);
  const [key = ""] = (lines[at] ?? "").split(" = ");
  return lines.toSpliced(at, 1, `${key} = ${JSON.stringify(strangeValue(random)) ?? '""'}`).join("\n");
}

function furnish(ground: Ground, random: SeededRandom): string {
  const settings = random.pick([
    () => bentText(random, SETTINGS),
    () => otherValue(random),
    () => `${SETTINGS}${strangeText(random)}`,
    () => SETTINGS,
  ])();
  ground.write(ground.inHome("config.toml"), settings);
  ground.write(ground.inHome("rules/default.rules"), random.chance(0.7) ? bentText(random, RULES) : strangeText(random));
  return settings;
}

/** The server must either work, or end at once with a message and the right exit code. */
async function startAndLook(ground: Ground, listens: boolean): Promise<void> {
  await using server = await startServer({ stage: ground, args: ["--engine", "scripted", ...(listens ? ["--port", "0"] : [])] });
  await (listens ? listening(server) : talking(server));
  const { end } = server.process;
  if (end && end.code !== 1 && end.code !== 2) throw new Error(`It ended with ${JSON.stringify(end)}: ${server.errorLines.join(" | ")}`);
  if (end && server.errorLines.length === 0) throw new Error("It ended without a word.");
  checkWords(server.errorLines);
}

async function talking(server: McpServer): Promise<void> {
  await server.initialize().catch((error: unknown) => {
    if (!server.process.end) throw error;
  });
  if (server.process.end) return;
  await server.request("tools/call", { name: "codex", arguments: { prompt: "!shell git status\n!say done" } });
}

async function listening(server: McpServer): Promise<void> {
  await addressOf(server).catch((error: unknown) => {
    if (!server.process.end) throw error;
  });
}

describeFuzz("settings and rules", {
  budget: { quick: 5, all: 60 },
  play: async (ground, rounds) => {
    for (const random of rounds) {
      const settings = furnish(ground, random);
      await startAndLook(ground, random.chance(0.3)).catch((cause: unknown) => {
        throw new Error(`with ${settings}`, { cause });
      });
    }
  },
});
