import type { BenchCase, CaseRun } from "../benchCase.js";
import { HttpClient } from "../httpClient.js";
import { type Asker, ask } from "../httpLoad.js";
import { treeCpuMs } from "../procfs.js";

export const ERAS = {
  withSessions: "tools/call with a session: server CPU, µs",
  without: "tools/call without one (2026-07-28): server CPU, µs",
} as const;

const TOOLS_CALL = "tools/call";
/** The cheapest possible call: it is refused because of a missing argument. */
const TRIVIAL = { name: "codex", arguments: {} };
const STATELESS = "2026-07-28";

const CONNECTIONS = 16;
const ROUND = { connections: CONNECTIONS, forMs: 1_000 };
const ROUNDS = 3;

export const erasCase: BenchCase = {
  name: "eras",
  title: "The same trivial call in both eras of MCP, on 16 keep-alive connections",
  over: "http",
  async run(run) {
    if (run.target.name !== "ours") return;
    await using server = await run.listen();
    const client = await HttpClient.open(server.url);
    const withSession: Asker = { url: client.url, request: (method) => client.request(method, TRIVIAL) };
    const without = statelessAsker(client.url);
    await ask(withSession, TOOLS_CALL, ROUND);
    await ask(without, TOOLS_CALL, ROUND);
    // Alternating, so that other load on the machine affects both equally.
    const cpu = { [ERAS.withSessions]: [] as number[], [ERAS.without]: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      cpu[ERAS.withSessions].push(await cpuPerCall(withSession, server.pid));
      cpu[ERAS.without].push(await cpuPerCall(without, server.pid));
    }
    for (const [metric, values] of Object.entries(cpu)) put(run, metric, values);
  },
};

function put(run: CaseRun, metric: string, values: readonly number[]): void {
  run.put(metric, values.reduce((sum, value) => sum + value, 0) / values.length);
}

async function cpuPerCall(asker: Asker, pid: number): Promise<number> {
  const before = treeCpuMs(pid);
  const times = await ask(asker, TOOLS_CALL, ROUND);
  return ((treeCpuMs(pid) - before) * 1_000) / times.length;
}

function statelessAsker(url: URL): Asker {
  let lastId = 0;
  const head = [
    `POST ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    "content-type: application/json",
    "accept: application/json, text/event-stream",
    `mcp-protocol-version: ${STATELESS}`,
    `mcp-method: ${TOOLS_CALL}`,
    `mcp-name: ${TRIVIAL.name}`,
  ].join("\r\n");
  const _meta = { "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {} };
  return {
    url,
    request(method) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params: { ...TRIVIAL, _meta } });
      return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    },
  };
}
