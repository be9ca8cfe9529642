import { describe, expect, it } from "vitest";
import { markText, markWithin, narrowest, readMark } from "./turnMark.js";

describe("a mark that is read", () => {
  it.for([
    ["1;read-only", { depth: 1, sandbox: "read-only" }],
    ["2;danger-full-access", { depth: 2, sandbox: "danger-full-access" }],
    ["12;workspace-write;/work/a;b c", { depth: 12, sandbox: "workspace-write", folder: "/work/a;b c" }],
    ["1;workspace-write;/", { depth: 1, sandbox: "workspace-write", folder: "/" }],
  ] as const)("%s", ([text, mark]) => {
    expect(readMark(text)).toEqual(mark);
    expect(markText(readMark(text))).toBe(text);
  });

  it.for([
    "",
    " ",
    "sealed",
    "0;danger-full-access",
    "-1;danger-full-access",
    "01;danger-full-access",
    "1000;danger-full-access",
    "1.5;danger-full-access",
    "1e0;danger-full-access",
    " 1;danger-full-access",
    "1;danger-full-access ",
    "1;danger-full-access\n",
    "1; danger-full-access",
    "1;DANGER-FULL-ACCESS",
    "1;read-only;/work",
    "1;danger-full-access;/work",
    "1;workspace-write",
    "1;workspace-write;",
    "1;workspace-write;relative",
    "1;workspace-write;/work/../etc",
    "1;workspace-write;/work/",
    "1",
    ";",
    "1;",
    ";danger-full-access",
    "1,danger-full-access",
    "1;danger-full-access,2;read-only",
    '{"depth":1}',
  ])("%j counts as the strictest", (text) => expect(readMark(text)).toBe("sealed"));
});

const FULL = { type: "danger-full-access" } as const;
const WRITE = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;
const READ = { type: "read-only" } as const;

it.for([
  [undefined, READ, "/w", "1;read-only"],
  [undefined, WRITE, "/w", "1;workspace-write;/w"],
  [undefined, WRITE, undefined, "sealed"],
  [undefined, FULL, "/w", "1;danger-full-access"],
  ["1;read-only", FULL, "/w", "2;read-only"],
  ["1;read-only", WRITE, "/w", "2;read-only"],
  ["1;workspace-write;/w", WRITE, "/w/below", "2;workspace-write;/w/below"],
  ["1;workspace-write;/w", FULL, "/elsewhere", "2;workspace-write;/w"],
  ["1;workspace-write;/w", WRITE, "/elsewhere", "sealed"],
  ["1;workspace-write;/w", WRITE, "/wider", "sealed"],
  ["1;workspace-write;/w", READ, "/elsewhere", "2;read-only"],
  ["1;danger-full-access", WRITE, "/w", "2;workspace-write;/w"],
  ["sealed", READ, "/w", "sealed"],
] as const)("in a turn within %s, a thread with %o in %s marks what it starts as %s", ([surrounding, policy, folder, expected]) => {
  expect(markText(markWithin(surrounding && readMark(surrounding), policy, folder))).toBe(expected);
});

it.for([
  [["1;danger-full-access", "1;read-only"], "1;read-only"],
  [["2;danger-full-access", "1;read-only"], "2;read-only"],
  [["1;read-only", "3;danger-full-access"], "3;read-only"],
  [["1;workspace-write;/a", "1;workspace-write;/b"], "sealed"],
  [["1;workspace-write;/a", "1;workspace-write;/a"], "1;workspace-write;/a"],
  [["2;workspace-write;/a/b", "1;workspace-write;/a"], "2;workspace-write;/a/b"],
  [["1;danger-full-access", "nonsense"], "sealed"],
  [["1;danger-full-access"], "1;danger-full-access"],
] as const)("of the marks %j %s holds", ([found, expected]) => {
  const holds = narrowest(found.map(readMark));
  expect(holds && markText(holds)).toBe(expected);
});

it("without a mark, there is no turn", () => expect(narrowest([])).toBeUndefined());
