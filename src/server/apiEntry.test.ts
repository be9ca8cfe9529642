import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Caller, Principal } from "../agent/caller.js";
import { ConsoleFiles } from "./apiEntry.js";

const PAGE = `<!doctype html>${"<p>The same words.</p>".repeat(200)}`;
const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };

const folder = mkdtempSync(path.join(tmpdir(), "console-files-"));
const server = createServer((incoming, response) => {
  const caller: Caller = { principal: "local" as Principal, scopes: [] };
  const [mount] = new ConsoleFiles(folder).mounts;
  void mount?.methods["GET"]?.({ incoming, response, caller, headers: {} });
});

beforeAll(async () => {
  mkdirSync(path.join(folder, "assets"));
  writeFileSync(path.join(folder, "index.html"), PAGE);
  writeFileSync(path.join(folder, "assets", "icon.svg"), "<svg/>");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

async function ask(name: string, accepted: string) {
  const { port } = server.address() as AddressInfo;
  const options = { port, path: `/console/${name}`, headers: { "accept-encoding": accepted }, agent: false };
  const answer = await new Promise<IncomingMessage>((resolve) => get(options, resolve));
  return { headers: answer.headers, bytes: await buffer(answer) };
}

it.each([
  ["gzip, deflate, br", "br"],
  ["gzip, deflate", "gzip"],
  ["br;q=0, GZIP;q=0.5", "gzip"],
  ["gzip;q=0.0, identity", undefined],
  ["", undefined],
])("a browser that accepts %j gets the console's files as %s", async (accepted, encoding) => {
  const { headers, bytes } = await ask("", accepted);
  expect([headers["content-encoding"], headers.vary, headers["content-length"]]).toEqual([
    encoding,
    "Accept-Encoding",
    String(bytes.length),
  ]);
  expect((DECODERS[encoding ?? ""]?.(bytes) ?? bytes).toString()).toBe(PAGE);
  if (encoding) expect(bytes.length).toBeLessThan(PAGE.length / 4);
});

it("small files are not compressed", async () => {
  const { headers, bytes } = await ask("assets/icon.svg", "br, gzip");
  expect([headers["content-encoding"], headers.vary, bytes.toString()]).toEqual([undefined, undefined, "<svg/>"]);
});
