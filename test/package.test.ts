import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completed } from "./support/callResults.js";
import { startServer } from "./support/processes/mcpServer.js";
import { installPacked, type PackedPackage, ROOT } from "./support/processes/packedPackage.js";
import { runToEnd } from "./support/processes/runToEnd.js";

const MEGABYTE = 1_000_000;
const MANIFEST = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));

let packed: PackedPackage;
beforeAll(async () => {
  packed = await installPacked();
});
afterAll(() => packed?.[Symbol.asyncDispose]());

describe("the package, installed into an empty folder without a network", () => {
  it("contains what a user needs and nothing else", () => {
    const outside = packed.tarball.files.filter((file) => !file.startsWith("dist/"));
    expect(outside.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
    const inside = packed.tarball.files.filter((file) => file.startsWith("dist/"));
    expect(inside).toEqual(expect.arrayContaining(["dist/THIRD-PARTY-LICENSES.txt", "dist/main.js"]));
    const isOfConsole = (file: string) =>
      /^dist\/console\/(?:assets\/[\w-]+\.(?:js|css)|icon(?:-waiting)?\.svg|index\.html|licenses\.md)$/.test(file);
    expect(inside.filter((file) => !isOfConsole(file) && !/\.(js|json|txt|wasm)$/.test(file))).toEqual([]);
  });

  it("is small", () => {
    // The package contains the console only if it was built before: packing runs no scripts here.
    expect(packed.tarball.size).toBeLessThan(1.6 * MEGABYTE);
  });

  it("names the licence of everything that is bundled into it", () => {
    const licences = readFileSync(path.join(packed.folder, "dist", "THIRD-PARTY-LICENSES.txt"), "utf8");
    const bundled = ["http-proxy-agent", "https-proxy-agent", "smol-toml", "zod"];
    expect(bundled.filter((name) => !new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, "m").test(licences))).toEqual([]);
  });

  it("runs nothing when it is installed, and brings no other packages", () => {
    const { scripts, dependencies, optionalDependencies, bundleDependencies } = JSON.parse(
      readFileSync(path.join(packed.folder, "package.json"), "utf8"),
    );
    const atInstall = ["preinstall", "install", "postinstall", "prepare"].filter((name) => name in scripts);
    expect({ atInstall, dependencies, optionalDependencies, bundleDependencies }).toEqual({ atInstall: [] });
    expect(readdirSync(path.join(packed.folder, "..")).filter((name) => !name.startsWith("."))).toEqual(["codex-mcpd"]);
  });

  it("does not reveal the machine on which it was built", () => {
    const telling = packed.tarball.files.filter((file) =>
      readFileSync(path.join(packed.folder, file), "utf8").includes(ROOT.replace(/\/$/, "")),
    );
    expect(telling).toEqual([]);
  });

  it.each(["server", "alias"] as const)("its command runs by itself (%s)", async (name) => {
    const version = { code: 0, stdout: `codex-mcp-server ${MANIFEST.version}\n`, stderr: "" };
    expect(await runToEnd([packed.bins[name], "--version"])).toEqual(version);
    const help = await runToEnd([packed.bins[name], "--help"]);
    expect(help).toEqual({ code: 0, stdout: expect.stringContaining("Usage:\n  codex-mcp-server [mcp-server] [OPTIONS]"), stderr: "" });
  });

  it.each(["server", "alias"] as const)("its command serves a turn and a reply (%s)", async (name) => {
    await using server = await startServer({ command: [packed.bins[name]], args: ["mcp-server", "--engine", "scripted"] });
    await server.initialize();
    const call = server.call("codex", { prompt: "!say installed" });
    const threadId = await call.threadId();
    expect(await call.result()).toEqual(completed(threadId, "installed"));
    expect(await server.call("codex-reply", { threadId, prompt: "!say and replied" }).result()).toEqual(completed(threadId, "and replied"));
    expect(await server.closeAndWait()).toEqual({ code: 0, signal: null });
  });
});
