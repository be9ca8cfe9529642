import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpServer } from "../../test/support/processes/agentMcpServers.js";
import { isOwnEntry } from "./ownEntries.js";

let place: string;
beforeAll(() => {
  place = realpathSync(mkdtempSync(path.join(tmpdir(), "entries-")));
  mkdirSync(path.join(place, "pkg/dist"), { recursive: true });
  writeFileSync(path.join(place, "pkg/package.json"), '{ "name": "codex-mcpd" }');
  writeFileSync(path.join(place, "pkg/dist/main.js"), "");
  chmodSync(path.join(place, "pkg/dist/main.js"), 0o755);
  mkdirSync(path.join(place, "bin"));
  symlinkSync("../pkg/dist/main.js", path.join(place, "bin/agent"));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

function isOwnProgramEntry([command = "", ...args]: readonly string[]): boolean {
  const transport = { kind: "program", command, args, env: {}, envVars: [] } as const;
  return isOwnEntry({ transport }, { env: { PATH: `${place}/bin:/usr/bin:/bin` }, cwd: place });
}

describe("programs that are this server", () => {
  it.for(
    [
      ["codex-mcp-server"],
      ["codex-mcpd", "--engine", "native"],
      ["/opt/anywhere/codex-mcp-server"],
      ["codex-mcp-server.cmd"],
      ["agent"],
      ["bin/agent"],
      ["pkg/dist/main.js"],
      ["node", "pkg/dist/main.js"],
      ["node", "--no-warnings", "bin/agent", "mcp-server"],
      ["npx", "codex-mcpd"],
      ["npx", "-y", "codex-mcpd@latest"],
      ["npx", "-y", "-p", "codex-mcpd@0.1.0", "codex-mcp-server"],
      ["npx", "--package=codex-mcpd", "codex-mcp-server"],
      ["npm", "exec", "--", "codex-mcpd"],
      ["pnpm", "dlx", "codex-mcpd"],
      ["bunx", "codex-mcpd"],
      ["deno", "run", "-A", "npm:codex-mcpd"],
      ["env", "X=1", "codex-mcp-server"],
      ["env", "-i", "PATH=/usr/bin", "npx", "-y", "codex-mcpd"],
      ["/usr/bin/env", "-S", "codex-mcp-server --engine native"],
      ["nohup", "setsid", "codex-mcp-server"],
      ["timeout", "60s", "codex-mcp-server"],
      ["nice", "-n", "10", "codex-mcp-server"],
      ["sh", "-c", "codex-mcp-server"],
      ["bash", "-lc", "exec env X=1 npx -y codex-mcpd"],
      ["sh", "bin/agent"],
      ["codex", "mcp-server"],
      ["codex", "mcp", "serve"],
      ["codex", "-c", "model=x", "mcp-server"],
    ].map((words) => [words] as const),
  )("%j", ([words]) => expect(isOwnProgramEntry(words)).toBe(true));

  it.for(
    [
      ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/work"],
      ["npx", "-y", "codex-mcpd-tools"],
      ["npx", "-y", "@someone/codex-mcpd"],
      ["node", "server.js"],
      ["node", "other/dist/main.js", "codex-mcp-server"],
      ["codex", "mcp", "list"],
      ["docs-server", "--topic", "codex-mcpd"],
      ["sh", "-c", "docs-server codex-mcpd"],
      ["env"],
      [""],
    ].map((words) => [words] as const),
  )("not %j", ([words]) => expect(isOwnProgramEntry(words)).toBe(false));
});

describe("addresses that are this server's", () => {
  const isOwn = (url: string, host = "127.0.0.1") =>
    isOwnEntry(httpServer("x", url), { env: {}, cwd: "/", address: { host, port: 4096, names: ["agent.example"] } });

  it.for([
    "http://127.0.0.1:4096/mcp",
    "http://localhost:4096/mcp",
    "http://LOCALHOST.:4096/",
    "http://foo.localhost:4096/sse",
    "http://[::1]:4096/mcp",
    "http://127.1:4096/mcp",
    "http://0x7f000001:4096/mcp",
    "http://2130706433:4096/mcp",
    "http://[::ffff:127.0.0.1]:4096/mcp",
    "http://0.0.0.0:4096/mcp",
    "https://agent.example:4096/mcp",
    "http://user:secret@127.0.0.1:4096/mcp?x=1",
  ])("%s", (url) => expect(isOwn(url)).toBe(true));

  it.for(["http://127.0.0.1:4097/mcp", "http://127.0.0.1/mcp", "http://agent.example/mcp", "http://10.0.0.1:4096/mcp", "nonsense", ""])(
    "not %s",
    (url) => expect(isOwn(url)).toBe(false),
  );

  it("none without a listening server", () => {
    expect(isOwnEntry(httpServer("x", "http://127.0.0.1:4096/mcp"), { env: {}, cwd: "/" })).toBe(false);
  });
});
