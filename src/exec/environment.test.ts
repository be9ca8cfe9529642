import { describe, expect, it } from "vitest";
import type { ShellEnvironmentPolicy } from "../threads/model.js";
import { commandEnvironment, DEFAULT_ENVIRONMENT_POLICY, type EnvironmentAdditions, withoutSecrets } from "./environment.js";

const SERVER = {
  PATH: "/bin",
  HOME: "/home/me",
  TMPDIR: "/tmp",
  EDITOR: "vi",
  API_KEY: "k",
  my_secret: "s",
  Token_Count: "3",
  UNSET: undefined,
};
const OPEN: EnvironmentAdditions = { secrets: [], network: true, sandbox: "bubblewrap" };

function environment(policy: Partial<ShellEnvironmentPolicy>, additions: Partial<EnvironmentAdditions> = {}) {
  return commandEnvironment({ ...DEFAULT_ENVIRONMENT_POLICY, ...policy }, SERVER, { ...OPEN, ...additions });
}

describe("the environment of a command", () => {
  it("is the server's unless configured otherwise", () => {
    expect({ ...environment({}), UNSET: undefined }).toEqual(SERVER);
    expect("UNSET" in environment({})).toBe(false);
  });

  it("may start from the core or from nothing", () => {
    expect([environment({ inherit: "core" }), environment({ inherit: "none" })]).toEqual([
      { PATH: "/bin", HOME: "/home/me", TMPDIR: "/tmp" },
      {},
    ]);
  });

  it("may leave out what looks like a secret", () => {
    expect(Object.keys(environment({ ignoreDefaultExcludes: false }))).toEqual(["PATH", "HOME", "TMPDIR", "EDITOR"]);
  });

  it("excludes, then sets, then keeps only what is included, whatever the case", () => {
    expect(
      environment({ exclude: ["t*", "edito?"], set: { TOKEN: "set", EXTRA: "e", HOME: "/x" }, includeOnly: ["*to*", "ho?e", "TMP*"] }),
    ).toEqual({
      HOME: "/x",
      TOKEN: "set",
    });
  });

  it("takes other signs in a pattern as they are", () => {
    expect(environment({ includeOnly: ["P.TH", "[A-Z]*", "(HOME)"] })).toEqual({});
  });

  it("never holds the provider's keys or the server's password, not even when set", () => {
    const set = { API_KEY: "again", CODEX_MCP_TOKEN: "t" };
    expect(environment({ inherit: "none", set }, { secrets: ["API_KEY"] })).toEqual({});
  });

  it("says that there is no network", () => {
    expect(environment({ inherit: "none" }, { network: false })).toEqual({ CODEX_SANDBOX_NETWORK_DISABLED: "1" });
  });

  it("names the sandbox on a Mac only", () => {
    expect(environment({ inherit: "none" }, { sandbox: "seatbelt" })).toEqual({ CODEX_SANDBOX: "seatbelt" });
  });

  it("asks for plain output in exec_command", () => {
    expect(environment({ inherit: "none" }, { plainOutput: true })).toEqual({
      NO_COLOR: "1",
      TERM: "dumb",
      LANG: "C.UTF-8",
      LC_CTYPE: "C.UTF-8",
      LC_ALL: "C.UTF-8",
      COLORTERM: "",
      PAGER: "cat",
      GIT_PAGER: "cat",
      GH_PAGER: "cat",
      CODEX_CI: "1",
    });
  });
});

it("names and values that no program can be given are left out", () => {
  expect(withoutSecrets({ "": "a", "A=B": "b", "C\0": "c", D: "d\0", E: "e", F: "f" }, ["F"])).toEqual({ E: "e" });
});
