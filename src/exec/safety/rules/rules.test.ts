import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { PrefixRule } from "./ruleFile.js";
import { loadRules, matchRules, ThreadRules } from "./rules.js";

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "rules-"));
  mkdirSync(path.join(home, "rules"));
});
afterEach(() => rmSync(home, { recursive: true }));

function put(name: string, text: string): string {
  const file = path.join(home, "rules", name);
  writeFileSync(file, text);
  return file;
}

it("the rules of all files are taken in order of their names", () => {
  put("b.rules", `prefix_rule(pattern=["b"], decision="prompt")`);
  put("a.rules", `prefix_rule(pattern=["a"], decision="allow")`);
  put("notes.txt", "nonsense");
  expect(loadRules(home)).toEqual({
    rules: [
      { pattern: [["a"]], decision: "allow" },
      { pattern: [["b"]], decision: "prompt" },
    ],
    warnings: [],
  });
});

it("a home without rules has none", () => {
  rmSync(path.join(home, "rules"), { recursive: true });
  expect(loadRules(home)).toEqual({ rules: [], warnings: [] });
});

it("an unreadable file disables all rules that allow something, and the error names the place", () => {
  put(
    "good.rules",
    `prefix_rule(pattern=["a"])\nprefix_rule(pattern=["b"], decision="forbidden")\nprefix_rule(pattern=["c"], decision="prompt")`,
  );
  const bad = put("bad.rules", `prefix_rule(pattern=["a"])\nallow("b")\n`);
  const folder = path.join(home, "rules", "folder.rules");
  mkdirSync(folder);
  expect(loadRules(home)).toEqual({
    rules: [
      { pattern: [["b"]], decision: "forbidden" },
      { pattern: [["c"]], decision: "prompt" },
    ],
    warnings: [
      `${bad}:2: expected prefix_rule, found allow. Until this is fixed, its rules are not applied, and no rule allows a command.`,
      `${folder}: EISDIR: illegal operation on a directory, read. Until this is fixed, its rules are not applied, and no rule allows a command.`,
    ],
  });
});

it("files are read again only when they change", () => {
  const file = put("a.rules", `prefix_rule(pattern=["a"])`);
  const first = loadRules(home);
  expect(loadRules(home)).toBe(first);
  writeFileSync(file, `prefix_rule(pattern=["b"])`);
  utimesSync(file, 1, 1);
  expect(loadRules(home).rules).toEqual([{ pattern: [["b"]], decision: "allow" }]);
  put("c.rules", `prefix_rule(pattern=["c"])`);
  expect(loadRules(home).rules.length).toBe(2);
});

it("the strictest rule counts, then the most specific", () => {
  const rules: PrefixRule[] = [
    { pattern: [["git"]], decision: "prompt" },
    { pattern: [["git"], ["push"]], decision: "prompt", justification: "remote" },
    { pattern: [["git"], ["push"], ["-f"]], decision: "allow" },
    { pattern: [["rm"], ["x"]], decision: "allow" },
    { pattern: [["rm"]], decision: "forbidden" },
  ];
  expect([["git", "push", "-f"], ["git"], ["rm", "x"], ["ls"]].map((argv) => matchRules(rules, argv))).toEqual([
    { decision: "prompt", prefix: ["git", "push"], justification: "remote" },
    { decision: "prompt", prefix: ["git"] },
    { decision: "forbidden", prefix: ["rm"] },
    undefined,
  ]);
});

it("a prefix that was allowed on a thread is added to the user's rules, which take precedence", () => {
  let userRules: PrefixRule[] = [];
  const rules = new ThreadRules(() => userRules);
  rules.allow(["touch", "a"]);
  rules.allow(["touch", "a"]);
  rules.allow([]);
  expect(rules.inForce()).toEqual([{ pattern: [["touch"], ["a"]], decision: "allow" }]);
  userRules = [{ pattern: [["touch"]], decision: "forbidden" }];
  expect(matchRules(rules.inForce(), ["touch", "a"])).toEqual({ decision: "forbidden", prefix: ["touch"] });
});
