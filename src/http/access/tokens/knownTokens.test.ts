import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../../test/support/eventually.js";
import { SCOPE_WORDS } from "../../../server/network.js";
import { KnownTokens } from "./knownTokens.js";

const ALICE = "alices-token-alices-token";
const BOB = "bobs-token-bobs-token-bobs";

/** A token file that the test can rewrite, and the tokens that the server knows from it. */
function stage(text: string, tokens: readonly string[] = []) {
  const folder = mkdtempSync(path.join(tmpdir(), "tokens-"));
  const tokenFile = path.join(folder, "tokens");
  const reports: string[] = [];
  const replace = (newText: string) => {
    writeFileSync(`${tokenFile}.new`, newText, { mode: 0o600 });
    renameSync(`${tokenFile}.new`, tokenFile);
  };
  replace(text);
  const secrets = new Set<string>();
  const known = KnownTokens.open({
    tokens,
    tokenFile,
    scopes: SCOPE_WORDS,
    report: (line) => reports.push(line),
    keepSecret: (token) => secrets.add(token),
  });
  onTestFinished(() => {
    known.close();
    rmSync(folder, { recursive: true });
  });
  return { known, tokenFile, reports, secrets, replace };
}

it("a named token has the identity of its name, any other one its own", () => {
  const { known } = stage(`alice ${ALICE} operator root=/usr root=/not/there`, [BOB]);
  expect(known.find(ALICE)).toEqual({ principal: "alice", scopes: ["call", "read", "manage", "operator"], roots: ["/usr"] });
  expect(known.find(BOB)).toEqual({ principal: expect.stringMatching(/^token-[0-9a-f]{16}$/), scopes: ["call", "read"] });
  expect(known.roots).toEqual(["/usr"]);
  expect(known.find(BOB.toUpperCase())).toBeUndefined();
  expect(known.find(BOB.slice(1))).toBeUndefined();
});

it("an unnamed token has the same identity after a restart", () => {
  expect(stage(ALICE).known.find(ALICE)).toEqual(stage(BOB, [ALICE]).known.find(ALICE));
});

it("the log learns every token to mask, later ones too", () => {
  const { known, secrets, replace } = stage(`alice ${ALICE}`, [BOB]);
  expect([...secrets]).toEqual([ALICE, BOB]);
  replace(`carol ${ALICE}${BOB}`);
  known.find("any-token-that-is-not-known");
  expect([...secrets]).toEqual([ALICE, BOB, `${ALICE}${BOB}`]);
});

describe("when the file changes", () => {
  it("a new token works at once, with its first use", () => {
    const { known, tokenFile, replace, reports } = stage(`alice ${ALICE}`);
    replace(`alice ${ALICE}\nbob ${BOB}`);
    expect(known.find(BOB)).toEqual({ principal: "bob", scopes: ["call", "read"] });
    expect(reports).toEqual([`read the tokens of ${tokenFile} again`]);
  });

  it("a removed token stops working, even if it is not used meanwhile", async () => {
    const { known, tokenFile, reports, replace } = stage(`alice ${ALICE}\nbob ${BOB}`);
    replace(`alice ${ALICE}`);
    await eventually("the file is read again", () => reports.find((line) => line === `read the tokens of ${tokenFile} again`));
    expect(known.find(BOB)).toBeUndefined();
  });

  it.each([
    ["a broken", "alice short"],
    ["an empty", ""],
  ])("to %s one, the previous tokens stay valid, which is reported once", (_, text) => {
    const { known, reports, replace } = stage(`alice ${ALICE}`);
    replace(text);
    expect([known.find(BOB), known.find(BOB)]).toEqual([undefined, undefined]);
    expect(known.find(ALICE)).toEqual({ principal: "alice", scopes: ["call", "read"] });
    expect(reports).toEqual([expect.stringMatching(/^the previous tokens stay in force: .*tokens/)]);
  });

  it("and is removed, the previous tokens stay valid until it exists again", () => {
    const { known, reports, replace, tokenFile } = stage(`alice ${ALICE}`);
    rmSync(tokenFile);
    expect(known.find(BOB)).toBeUndefined();
    expect(known.find(ALICE)).toEqual({ principal: "alice", scopes: ["call", "read"] });
    replace(`bob ${BOB}`);
    expect(known.find(BOB)).toEqual({ principal: "bob", scopes: ["call", "read"] });
    expect(known.find(ALICE)).toBeUndefined();
    expect(reports).toEqual([
      expect.stringMatching(/^the previous tokens stay in force: .* cannot be read: ENOENT/),
      `read the tokens of ${tokenFile} again`,
    ]);
  });
});

describe("the server does not start", () => {
  it("without the file", () => {
    const open = () => KnownTokens.open({ tokens: [], tokenFile: "/nowhere/tokens", scopes: SCOPE_WORDS, report: () => {} });
    expect(open).toThrow(/^the token file \/nowhere\/tokens cannot be read: ENOENT/);
  });

  it("with a folder in its place", () => {
    expect(() => KnownTokens.open({ tokens: [], tokenFile: tmpdir(), scopes: SCOPE_WORDS, report: () => {} })).toThrow("is not a file");
  });

  it("with a token that is too short, which the complaint does not show", () => {
    const open = () => KnownTokens.open({ tokens: ["hunter2"], scopes: SCOPE_WORDS, report: () => {} });
    expect(open).toThrow("--token or CODEX_MCP_TOKEN: the token has 7 characters and needs at least 16");
    expect(open).not.toThrow("hunter2");
  });
});

it.skipIf(process.platform === "win32")("a file that others can read is reported", () => {
  const { tokenFile, known } = stage(`alice ${ALICE}`);
  known.close();
  chmodSync(tokenFile, 0o640);
  const reports: string[] = [];
  KnownTokens.open({ tokens: [], tokenFile, scopes: SCOPE_WORDS, report: (line) => reports.push(line) }).close();
  expect(reports).toEqual([`the token file ${tokenFile} can be read by other users of this machine; \`chmod 600\` keeps it private`]);
});
