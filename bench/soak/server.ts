import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startOurs } from "../listening.js";
import { askProbe, PROBED, type ProbeAnswer } from "../probe.js";

/** Timeouts are seconds here instead of minutes, so that they end within the test. */
const IMPATIENT = `
[mcp_server]
idle_thread_minutes = 0.1

[mcp_server.http]
idle_session_minutes = 0.1
websocket_linger_seconds = 2
keep_alive_seconds = 1
slow_reader_seconds = 1
header_timeout_seconds = 2
request_timeout_seconds = 3
`;
const ANSWER_DEADLINE_MS = 30_000;

/** The resources of an idle server. */
export interface Holdings extends ProbeAnswer {
  readonly children: number;
}

export interface SoakServer extends AsyncDisposable {
  readonly url: string;
  readonly errors: string;
  holdings(): Promise<Holdings>;
  sessions(): Promise<number>;
}

/** The built server with a probe inside, in its own folders. */
export async function startSoakServer(): Promise<SoakServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "soak-"));
  const [codexHome, workspace] = [path.join(folder, "home"), path.join(folder, "workspace")];
  for (const each of [codexHome, workspace]) mkdirSync(each);
  writeFileSync(path.join(codexHome, "config.toml"), IMPATIENT);
  const server = await startOurs(
    { cwd: workspace, env: { PATH: process.env["PATH"], HOME: folder, CODEX_HOME: codexHome, LANG: "C.UTF-8" } },
    { nodeArgs: PROBED },
  );
  return {
    url: server.url,
    get errors() {
      return server.errors;
    },
    holdings: async () => ({ ...(await askProbe(server)), children: childrenOf(server.pid) }),
    sessions: () => countSessions(server.url),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

async function countSessions(url: string): Promise<number> {
  const response = await fetch(new URL("/sessions", url), {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
  });
  const { sessions }: { sessions?: readonly unknown[] } = JSON.parse(await response.text());
  return sessions?.length ?? 0;
}

function childrenOf(pid: number): number {
  if (process.platform !== "linux") return 0;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).length;
}
