import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { rpc } from "../support/http/httpClient.js";
import { addressOf, startHttpServer } from "../support/http/httpServer.js";
import { startServer } from "../support/processes/mcpServer.js";
import { setStage } from "../support/stage.js";

/** The exit code and the output of a server that cannot start. */
async function failure(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; said: string }> {
  await using server = await startServer({ args: ["--engine", "scripted", ...args], env });
  const { code } = await server.exit();
  return { code, said: server.errorLines.join("\n") };
}

describe.concurrent("a server that listens", () => {
  it("on port 0 uses a free port and names it", async () => {
    await using server = await startHttpServer();
    expect(server.port).toBeGreaterThan(0);
    expect(server.running.errorLines.filter((line) => line.includes("listening on"))).toEqual([
      `codex-mcp-server: listening on http://127.0.0.1:${server.port}/mcp`,
    ]);
    expect((await server.ask({ message: rpc(1, "ping") })).status).toBe(200);
  });

  it.for(["warn", "error", "off"])("names its address once, whatever the log level: LOG_LEVEL=%s", async (level) => {
    await using server = await startServer({ args: ["--engine", "scripted", "--port", "0"], env: { LOG_LEVEL: level } });
    const origin = await addressOf(server);
    expect(server.errorLines.filter((line) => line.includes("listening on"))).toEqual([`codex-mcp-server: listening on ${origin}/mcp`]);
  });

  it("is started by `serve` on port 4096 or, if that is in use, on any other port", async () => {
    await using first = await startServer({ args: ["serve", "--engine", "scripted"] });
    await using second = await startServer({ args: ["serve", "--engine", "scripted"] });
    const ports = [await addressOf(first), await addressOf(second)].map((origin) => Number(new URL(origin).port));
    expect(new Set(ports).size).toBe(2);
    expect(ports.filter((port) => port !== 4096).length).toBeGreaterThan(0);
  });

  it("on a used port fails with what to do", async () => {
    const occupant = createServer().listen(0, "127.0.0.1");
    await once(occupant, "listening");
    const address = occupant.address();
    const port = typeof address === "object" ? address?.port : 0;
    expect(await failure(["--port", String(port)])).toEqual({
      code: 1,
      said: expect.stringContaining(`cannot listen on 127.0.0.1:${port}: the port is in use; choose another with --port, or 0 for any`),
    });
    occupant.close();
  });

  it("on an address that this machine does not have fails with an error that says so", async () => {
    expect(await failure(["--host", "192.0.2.1", "--port", "0", "--token", "0123456789abcdef", "--allow-root", "."])).toEqual({
      code: 1,
      said: expect.stringContaining("this machine has no such address"),
    });
  });

  it("that other machines can reach needs a token", async () => {
    expect(await failure(["--host", "0.0.0.0", "--port", "0", "--allow-root", "."])).toEqual({
      code: 1,
      said: expect.stringContaining("without a token; set CODEX_MCP_TOKEN"),
    });
  });

  it("that other machines can reach requires the folders in which callers may work", async () => {
    expect(await failure(["--host", "0.0.0.0", "--port", "0", "--token", "0123456789abcdef"])).toEqual({
      code: 2,
      said: expect.stringContaining("--allow-root is needed to listen beyond loopback"),
    });
  });

  it("can be configured so that clients do not choose the ids of their sessions", async () => {
    await using server = await startHttpServer({ http: "clients_choose_ids = false" });
    const ping = (headers: Readonly<Record<string, string>>) => server.ask({ headers, message: rpc(1, "ping") });
    expect((await ping({ "mcp-session-id": "planted" })).status).toBe(404);
    const { session = "" } = await ping({});
    expect((await ping({ "mcp-session-id": session })).status).toBe(200);
  });

  it("ignores a closed stdin", async () => {
    await using server = await startHttpServer();
    server.running.process.closeStdin();
    expect((await server.ask({ message: rpc(1, "ping") })).status).toBe(200);
  });
});

describe.concurrent("an invalid command line", () => {
  it.each([
    [["--port", "70000"], "invalid value '70000' for --port"],
    [["--port", "x"], "invalid value 'x' for --port"],
    [["--token", "0123456789abcdef"], "--token is for a server that listens"],
    [["--port", "0", "--tls-cert", "x"], "--tls-cert and --tls-key go together"],
    [["--port", "0", "--oauth-audience", "x"], "--oauth-audience needs --oauth-issuer"],
    [["--port", "0", "--allow-root", "/no/such/folder"], "--allow-root /no/such/folder: there is no such folder"],
    [["--port", "0", "--allow-config", "mcp_servers.x"], "--allow-config mcp_servers.x cannot be used"],
    [["--port", "0", "--max-sandbox", "none"], "--max-sandbox"],
    [["serve", "extra"], "unexpected argument 'extra' found"],
  ])("%j is refused", async (args, complaint) => {
    expect(await failure(args)).toEqual({ code: 2, said: expect.stringContaining(complaint) });
  });

  it("a token that could be guessed is refused, and not shown", async () => {
    const { code, said } = await failure(["--port", "0", "--token", "tooshort"]);
    expect(code).toBeGreaterThan(0);
    expect(said).toContain("needs at least 16");
    expect(said).not.toContain("tooshort");
  });
});

describe.concurrent("a log that cannot be written", () => {
  it.each([
    ["the folder for it is a file", (home: string) => writeFile(path.join(home, "log"), "no folder")],
    ["the disk is full", (home: string) => fullLog(home)],
  ])("because %s does not stop the server", async (_, spoil) => {
    await using stage = await setStage();
    await spoil(stage.codexHome);
    await using server = await startHttpServer({ stage });
    for (const id of [1, 2, 3]) expect((await server.ask({ message: rpc(id, "ping") })).status).toBe(200);
    await eventually("a line about it", () =>
      server.running.errorLines.find((line) => /log.*(ENOTDIR|EEXIST|ENOSPC|not a directory|no space)/i.test(line)),
    );
  });
});

async function fullLog(home: string): Promise<void> {
  await mkdir(path.join(home, "log"));
  await symlink("/dev/full", path.join(home, "log", "codex-mcp-server.log"));
}
