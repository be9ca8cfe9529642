import { expect, it } from "vitest";
import { hidesSecrets, homeInTemporaryFolder, readVersion, requireSupported } from "./handshake.js";

it.each([
  ["codex-cli 0.166.0\n", "0.166.0"],
  ["codex_mcpd/0.166.0 (Debian 12.0.0; x86_64) xterm (codex_mcpd; 1.0.0)", "0.166.0"],
  ["codex-cli 0.170.0-alpha.3", "0.170.0-alpha.3"],
  ["v1.2.3", "1.2.3"],
  ["0.150.0", "0.150.0"],
  ["hello", undefined],
  ["", undefined],
  ["codex 0.166", undefined],
])("the version in %j is %s", (text, version) => {
  expect(readVersion(text)).toBe(version);
});

it.each([
  ["0.92.0", false],
  ["0.149.9", false],
  ["0.150.0", true],
  ["0.150.0-alpha.1", true],
  ["0.166.0", true],
  ["1.0.0", true],
  ["1.0.0-rc.1", true],
])("version %s is one we work with: %s", (version, supported) => {
  const check = () => requireSupported(version, "/usr/bin/codex");
  if (supported) expect(check).not.toThrow();
  else expect(check).toThrow(`The Codex CLI at /usr/bin/codex is version ${version}; at least 0.150.0 is needed.`);
});

it.each([
  ["0.152.1", "linux", false],
  ["0.160.0", "linux", false],
  ["0.160.1", "linux", true],
  ["0.166.0", "linux", true],
  ["0.166.0", "darwin", false],
])("version %s on %s can keep commands from secrets: %s", (version, platform, hides) => {
  expect(hidesSecrets(version, platform)).toBe(hides);
});

it.each([
  ["/tmp/home", {}, true],
  ["/tmp", {}, true],
  ["/tmpfoo/home", {}, false],
  ["/srv/home", { TMPDIR: "/srv" }, true],
  ["/tmp/home", { TMPDIR: "/srv" }, false],
])("a home %s where the environment says %j keeps Codex from confining commands: %s", (codexHome, env, keeps) => {
  const complaint = homeInTemporaryFolder({ codexHome, env }, "linux");
  if (keeps) expect(complaint).toMatch(/^CODEX_HOME is .* Set CODEX_HOME to a folder elsewhere, or use --engine native\.$/);
  else expect(complaint).toBeUndefined();
});
