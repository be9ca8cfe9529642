import { describe, expect, it } from "vitest";
import {
  afterLogin,
  commandEnvironment,
  DEFAULT_ENVIRONMENT_POLICY,
  type EnvironmentAdditions,
  keptBackVariables,
  withoutSecrets,
} from "./environment.js";
import type { ShellEnvironmentPolicy } from "./policies.js";

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

  it("excludes variables, then sets some, then keeps only the included ones; names match in any case", () => {
    expect(
      environment({ exclude: ["t*", "edito?"], set: { TOKEN: "set", EXTRA: "e", HOME: "/x" }, includeOnly: ["*to*", "ho?e", "TMP*"] }),
    ).toEqual({
      HOME: "/x",
      TOKEN: "set",
    });
  });

  it("treats other characters in a pattern literally", () => {
    expect(environment({ includeOnly: ["P.TH", "[A-Z]*", "(HOME)"] })).toEqual({});
  });

  it("never contains the provider's keys or the server's password, not even if set", () => {
    const set = { API_KEY: "again", CODEX_MCP_TOKEN: "t" };
    expect(environment({ inherit: "none", set }, { secrets: ["API_KEY"] })).toEqual({});
  });

  it("has configured secrets only if the user includes them by name", () => {
    const secrets = ["OTHER_KEY", "BEARER"];
    const server = { PATH: "/bin", OTHER_KEY: "k", BEARER: "b", GITHUB_TOKEN: "g" };
    const given = (policy: Partial<ShellEnvironmentPolicy>) =>
      commandEnvironment({ ...DEFAULT_ENVIRONMENT_POLICY, secrets, ...policy }, server, OPEN);
    expect([
      given({}),
      given({ includeOnly: ["*"] }),
      given({ includeOnly: ["PATH", "bearer"] }),
      given({ includeOnly: ["BEAR*"] }),
      given({ set: { OTHER_KEY: "set" } }),
    ]).toEqual([
      { PATH: "/bin", GITHUB_TOKEN: "g" },
      { PATH: "/bin", GITHUB_TOKEN: "g" },
      { PATH: "/bin", BEARER: "b" },
      { BEARER: "b" },
      { PATH: "/bin", GITHUB_TOKEN: "g", OTHER_KEY: "set" },
    ]);
  });

  it("contains none of the server's own variables, except the mark for programs inside a turn", () => {
    const server = {
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=x",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=x",
      OTEL_SERVICE_NAME: "mine",
      CODEX_MCP_TOKEN: "t",
      CODEX_MCP_TOOLS: "all",
      CODEX_MCP_CALLBACK_URI: "http://127.0.0.1:1/",
      CODEX_MCP_INSIDE: "1",
    };
    expect(commandEnvironment(DEFAULT_ENVIRONMENT_POLICY, server, OPEN)).toEqual({
      OTEL_SERVICE_NAME: "mine",
      CODEX_MCP_CALLBACK_URI: "http://127.0.0.1:1/",
      CODEX_MCP_INSIDE: "1",
    });
    expect(keptBackVariables(DEFAULT_ENVIRONMENT_POLICY, server)).toEqual([
      "OTEL_EXPORTER_OTLP_HEADERS",
      "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
      "CODEX_MCP_TOKEN",
      "CODEX_MCP_TOOLS",
    ]);
  });

  it("contains nothing that looks secret on a shared server, unless it is named", () => {
    const server = { PATH: "/bin", GITHUB_TOKEN: "g", PGPASSWORD: "p", DATABASE_URL: "postgres://a:b@c/d", SITE: "https://example.org" };
    const policy = { ...DEFAULT_ENVIRONMENT_POLICY, hidesLikelySecrets: true };
    expect(commandEnvironment(policy, server, OPEN)).toEqual({ PATH: "/bin", SITE: "https://example.org" });
    expect(commandEnvironment({ ...policy, includeOnly: ["GITHUB_TOKEN"] }, server, OPEN)).toEqual({ GITHUB_TOKEN: "g" });
  });

  it("gets no variable from a login profile that is withheld otherwise", () => {
    const policy = { ...DEFAULT_ENVIRONMENT_POLICY, secrets: ["OTHER_KEY"], set: { DEPLOY_TOKEN: "set" } };
    const login = { PATH: "/bin", OTHER_KEY: "k", IN_USE: "u", DEPLOY_TOKEN: "set", GITHUB_TOKEN: "g", CODEX_MCP_TOKEN: "t" };
    expect([afterLogin(policy, login, ["IN_USE"]), afterLogin({ ...policy, hidesLikelySecrets: true }, login, ["IN_USE"])]).toEqual([
      { PATH: "/bin", DEPLOY_TOKEN: "set", GITHUB_TOKEN: "g" },
      { PATH: "/bin", DEPLOY_TOKEN: "set" },
    ]);
  });

  it("has a variable that says that there is no network", () => {
    expect(environment({ inherit: "none" }, { network: false })).toEqual({ CODEX_SANDBOX_NETWORK_DISABLED: "1" });
  });

  it("has a variable that names the sandbox, on macOS only", () => {
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

it("names and values that no environment can hold are omitted", () => {
  expect(withoutSecrets({ "": "a", "A=B": "b", "C\0": "c", D: "d\0", E: "e", F: "f" }, ["F"])).toEqual({ E: "e" });
});
