import { beforeAll, expect, it } from "vitest";
import { type BashParser, openBashParser } from "./parser.js";
import { type PatchCall, patchCall } from "./patchCall.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
const SCRIPT = `apply_patch <<'EOF'\n${PATCH}\nEOF`;
const FOUND: PatchCall = { kind: "patch", patch: PATCH };
const BARE: PatchCall = { kind: "bare" };

it.each<[string, string[], PatchCall | undefined]>([
  ["the program itself", ["apply_patch", PATCH], FOUND],
  ["its other name", ["applypatch", PATCH], FOUND],
  ["a broken patch is still one", ["apply_patch", "x"], { kind: "patch", patch: "x" }],
  ["bash", ["bash", "-lc", SCRIPT], FOUND],
  ["sh by path, without login", ["/bin/SH", "-c", SCRIPT], FOUND],
  ["zsh on Windows", ["zsh.exe", "-lc", SCRIPT], FOUND],
  ["PowerShell", ["pwsh", "-NoProfile", "-Command", SCRIPT], FOUND],
  ["PowerShell by path", ["C:\\x\\powershell.exe", "-Command", SCRIPT], FOUND],
  ["cmd", ["cmd", "/c", SCRIPT], FOUND],
  ["a folder", ["bash", "-lc", `cd "a b" && ${SCRIPT}`], { ...FOUND, workdir: "a b" }],
  ["a patch for a command", [PATCH], BARE],
  ["a patch for a script", ["bash", "-lc", `\n${PATCH}\n`], BARE],
  ["a second argument", ["apply_patch", PATCH, "x"], undefined],
  ["no argument", ["apply_patch"], undefined],
  ["other flags", ["bash", "-ec", SCRIPT], undefined],
  ["flags apart", ["bash", "-l", "-c", SCRIPT], undefined],
  ["words behind the script", ["bash", "-lc", SCRIPT, "x"], undefined],
  ["another shell", ["fish", "-c", SCRIPT], undefined],
  ["an ordinary command", ["bash", "-lc", "ls"], undefined],
  ["a word", ["ls"], undefined],
  ["nothing", [], undefined],
])("%s", (_, argv, call) => expect(patchCall(argv, parser)).toEqual(call));
