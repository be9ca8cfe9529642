import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { UsageError } from "../lib/errors.js";
import { parseCommand } from "./command.js";

const DEFAULTS = {
  overrides: [],
  strictConfig: false,
  engine: "native",
  engineIsAuto: true,
  tools: ["codex"],
  approvalFallback: "auto-within-policy",
  eofGraceMs: 1_500,
};
function complaintAbout(...argv: string[]): string {
  try {
    parseCommand(argv, {});
    return "nothing";
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

describe("the requested command", () => {
  it.for([
    [[], "stdio"],
    [["mcp-server"], "stdio"],
    [["mcp"], "stdio"],
    [["mcp", "serve"], "stdio"],
  ] as const)("%j is %s with the defaults", ([argv, kind]) => {
    expect(parseCommand(argv, {})).toEqual({ kind, options: DEFAULTS });
  });

  it.for([
    [["doctor"], false],
    [["doctor", "--json"], true],
  ] as const)("%j asks for a report, as JSON: %s", ([argv, asJson]) => {
    expect(parseCommand(argv, {})).toEqual({ kind: "doctor", options: DEFAULTS, asJson });
  });

  it("`token` shows the token, and has no options", () => {
    expect(parseCommand(["token"], {})).toEqual({ kind: "token" });
    expect(() => parseCommand(["token", "--port", "80"], {})).toThrow("--port cannot be used with 'token'");
  });

  it.for([
    ["--help", "help"],
    ["-h", "help"],
    ["--version", "version"],
    ["-V", "version"],
  ] as const)("%s is %s, whatever other arguments follow", ([flag, kind]) => {
    expect([parseCommand([flag], {}), parseCommand(["serve", "--port", "80", flag], {})]).toEqual([{ kind }, { kind }]);
  });
});

describe("options", () => {
  const ALL = {
    ...DEFAULTS,
    overrides: ["model_provider=mock", "a.b=[1, 2]", "features.new=true", "features.old=false"],
    model: "mock-model",
    profile: "fast",
    cwd: "/project",
    sandbox: "read-only",
    approvalPolicy: "never",
    strictConfig: true,
  };
  const LONG = [
    ["--config", "model_provider=mock", "--model", "mock-model", "--profile", "fast", "--cd", "/project"],
    ["--sandbox", "read-only", "--ask-for-approval", "never", "--config", "a.b=[1, 2]"],
    ["--enable", "new", "--disable", "old", "--strict-config"],
  ].flat();
  const SHORT = ["-c", "model_provider=mock", "-m", "mock-model", "-p=fast", "-C/project", "-s=read-only", "-a", "never"];

  it("are Codex's own, in full", () => {
    expect(parseCommand(["mcp-server", ...LONG], {})).toEqual({ kind: "stdio", options: ALL });
  });

  it("have Codex's short forms, and may stand before the subcommand", () => {
    const rest = ["-c", "a.b=[1, 2]", "--enable=new", "--disable=old", "--strict-config", "mcp-server"];
    expect(parseCommand([...SHORT, ...rest], {})).toEqual({ kind: "stdio", options: ALL });
  });

  it.for([
    ["--full-auto", "workspace-write", "on-request"],
    ["--dangerously-bypass-approvals-and-sandbox", "danger-full-access", "never"],
    ["--yolo", "danger-full-access", "never"],
  ] as const)("%s stands for a sandbox and a policy, and yields to both", ([flag, sandbox, approvalPolicy]) => {
    const named = { sandbox: "read-only", approvalPolicy: "untrusted" };
    const optionsOf = (...argv: string[]) => parseCommand([flag, ...argv, "mcp-server"], {});
    expect([optionsOf(), optionsOf("-s", "read-only", "-a", "untrusted")]).toEqual([
      { kind: "stdio", options: { ...DEFAULTS, sandbox, approvalPolicy } },
      { kind: "stdio", options: { ...DEFAULTS, ...named } },
    ]);
  });

  it("--search is a setting that yields to -c", () => {
    expect(parseCommand(["--search", "-c", "web_search=cached", "mcp-server"], {})).toEqual({
      kind: "stdio",
      options: { ...DEFAULTS, overrides: ['web_search="live"', "web_search=cached"] },
    });
  });

  it.for([
    ["auto", "native"],
    ["native", "native"],
    ["scripted", "scripted"],
    ["codex", "codex"],
  ] as const)("--engine %s is %s", ([name, engine]) => {
    expect(parseCommand(["--engine", name], {})).toEqual({
      kind: "stdio",
      options: { ...DEFAULTS, engine, engineIsAuto: name === "auto" },
    });
  });

  it("the default engine is codex if a Codex is found or named, and otherwise native; --engine overrides it", () => {
    const folder = mkdtempSync(path.join(homedir(), ".command-"));
    const codex = path.join(folder, "codex");
    writeFileSync(codex, "#!/bin/sh\n", { mode: 0o755 });
    const engine = (argv: string[], env: NodeJS.ProcessEnv) => {
      const command = parseCommand(argv, env);
      return command.kind === "stdio" ? command.options.engine : undefined;
    };
    const found = [engine([], { PATH: folder }), engine([], { CODEX_BIN: "/x" }), engine(["--codex-bin", "/x"], {})];
    const others = [engine([], { PATH: "/nowhere" }), engine(["--engine", "native"], { PATH: folder })];
    rmSync(folder, { recursive: true });
    expect([found, others]).toEqual([
      ["codex", "codex", "codex"],
      ["native", "native"],
    ]);
    expect(parseCommand(["--codex-bin", "/x"], {})).toEqual({ kind: "stdio", options: { ...DEFAULTS, engine: "codex", codexBin: "/x" } });
  });

  it("a codex that commands can write is skipped wherever it is on PATH, with a notice", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "command-"));
    writeFileSync(path.join(folder, "codex"), "#!/bin/sh\n", { mode: 0o755 });
    const command = parseCommand([], { PATH: folder });
    rmSync(folder, { recursive: true });
    const engineNotice = expect.stringMatching(/^engine native is used: .*codex was skipped, because commands .* --codex-bin/);
    expect(command).toEqual({ kind: "stdio", options: { ...DEFAULTS, engineNotice } });
  });

  it.for(["auto", "all", "no-deltas", "none"])("--events %s is a setting", (mode) => {
    expect(parseCommand(["--events", mode, "-c", "a=1"], {})).toEqual({
      kind: "stdio",
      options: { ...DEFAULTS, overrides: ["a=1", `mcp_server.events="${mode}"`] },
    });
  });

  it.for(["auto-within-policy", "deny", "hold", "ask"])("--approval-fallback %s", (approvalFallback) => {
    expect(parseCommand(["--approval-fallback", approvalFallback], {})).toEqual({
      kind: "stdio",
      options: { ...DEFAULTS, approvalFallback },
    });
  });

  it("--sandbox-bin names the sandbox", () => {
    expect(parseCommand(["--sandbox-bin", "/opt/bwrap"], {})).toEqual({
      kind: "stdio",
      options: { ...DEFAULTS, sandboxBin: "/opt/bwrap" },
    });
  });

  it("the tool sets come from the flag, else from the environment, each once", () => {
    const env = { CODEX_MCP_TOOLS: "codex-original" };
    const tools = (argv: string[], from: NodeJS.ProcessEnv) => {
      const command = parseCommand(argv, from);
      return command.kind === "stdio" ? command.options.tools : undefined;
    };
    expect([tools([], env), tools(["--tools", "codex, codex"], env), tools([], { CODEX_MCP_TOOLS: "" })]).toEqual([
      ["codex-original"],
      ["codex"],
      ["codex"],
    ]);
    expect(() => tools(["--tools", "codex,codex-original"], {})).toThrow("both have a tool codex: choose one of them");
    expect(() => parseCommand([], { CODEX_MCP_TOOLS: "everything" })).toThrow("invalid value 'everything' for --tools");
  });

  it.for([
    ["0", 0],
    ["0.5", 500],
    ["86400", 86_400_000],
  ] as const)("--eof-grace %s is %i ms", ([value, eofGraceMs]) => {
    expect(parseCommand(["--eof-grace", value], {})).toEqual({ kind: "stdio", options: { ...DEFAULTS, eofGraceMs } });
  });
});

describe("usage errors say what is wrong", () => {
  it.for([
    [["--bogus"], "unexpected argument '--bogus' found"],
    [["-x"], "unexpected argument '-x' found"],
    [["doctor", "--bogus"], "unexpected argument '--bogus' found"],
    [["--json"], "--json can be used with 'doctor' only"],
    [["nonsense"], "unrecognized subcommand 'nonsense'"],
    [["constructor"], "unrecognized subcommand 'constructor'"],
    [["mcp-server", "again"], "unexpected argument 'again' found"],
    [["mcp", "list"], "unexpected argument 'list' found: 'mcp' and 'mcp serve' start this server; for 'mcp list' use the Codex CLI"],
    [["mcp", "serve", "again"], "unexpected argument 'again' found"],
    [["-c"], "Option '-c, --config <value>' argument missing"],
    [
      ["--port", "-1"],
      "Option '--port' argument is ambiguous. Did you forget to specify the option argument for '--port'? To specify an option argument starting with a dash use '--port=-XYZ'.",
    ],
    [["--strict-config=yes"], "Option '--strict-config' does not take an argument"],
    [["--sandbox", "full"], "invalid value 'full' for --sandbox: expected read-only, workspace-write, danger-full-access"],
    [["-a", "always"], "invalid value 'always' for --ask-for-approval: expected untrusted, on-failure, on-request, never"],
    [["--events", "some"], "invalid value 'some' for --events: expected auto, all, no-deltas, none"],
    [["--approval-fallback", "guess"], "invalid value 'guess' for --approval-fallback: expected auto-within-policy, deny, hold, ask"],
    [["--engine", "magic"], "invalid value 'magic' for --engine: expected auto, codex, native, scripted"],
    [["--tools", "everything"], "invalid value 'everything' for --tools: expected codex, extras, codex-original, codex-cli, openoxide"],
    ...["x", "", " ", "-1", "86401", "NaN", "Infinity"].map(
      (value) => [[`--eof-grace=${value}`], `invalid value '${value}' for --eof-grace: expected seconds from 0 to 86400`] as const,
    ),
  ] as const)("%j: %s", ([argv, complaint]) => {
    expect(complaintAbout(...argv)).toBe(complaint);
  });
});

describe("a server that listens", () => {
  const LISTEN = {
    host: "127.0.0.1",
    ports: [4096, 0],
    allowedHosts: [],
    corsOrigins: [],
    tokens: [],
    showsTokens: false,
    trustedProxies: [],
    allowUnauthenticated: false,
    allowRoots: [],
    readRoots: [],
    allowConfig: [],
  };

  it.for([
    [["serve"], {}],
    [["--port", "80"], { ports: [80] }],
    [["mcp-server", "--port", "0"], { ports: [0] }],
    [["--host", "localhost"], { host: "localhost" }],
    [["serve", "--host", "::1", "--port", "81"], { host: "::1", ports: [81] }],
  ] as const)("is requested by %j", ([argv, changes]) => {
    expect(parseCommand(argv, {})).toEqual({ kind: "http", options: DEFAULTS, listen: { ...LISTEN, ...changes } });
  });

  it("and opens its console by `open`", () => {
    const listen = { ...LISTEN, ports: [80] };
    expect(parseCommand(["open", "--port", "80"], {})).toEqual({ kind: "http", options: DEFAULTS, listen, opensConsole: true });
  });

  it("accepts all options about access and ceilings", () => {
    const access =
      "--token a --token b --token-file tokens --allow-unauthenticated --allow-host h --cors-origin o --tls-cert c --tls-key k " +
      "--trusted-proxy 10.0.0.0/8 --trusted-proxy ::1";
    const oauth =
      "--oauth-issuer i --oauth-audience x --oauth-jwks j --oauth-scope s --oauth-manage-scope m --oauth-operator-scope op --oauth-resource r";
    const ceilings = "--allow-root /a --max-sandbox read-only --allow-config key";
    const argv = `serve ${access} ${oauth} ${ceilings}`.split(" ");
    const command = parseCommand(argv, { CODEX_MCP_TOKEN: "c" });
    expect(command.kind === "http" && command.listen).toEqual({
      ...LISTEN,
      tokens: ["a", "b", "c"],
      showsTokens: true,
      trustedProxies: ["10.0.0.0/8", "::1"],
      tokenFile: "tokens",
      allowUnauthenticated: true,
      allowedHosts: ["h"],
      corsOrigins: ["o"],
      tls: { cert: "c", key: "k" },
      oauth: { issuer: "i", audiences: ["x"], jwks: "j", requiredScopes: ["s"], manageScope: "m", operatorScope: "op", resource: "r" },
      allowRoots: ["/a"],
      maxSandbox: "read-only",
      allowConfig: ["key"],
    });
  });

  it.for(["token", "token-file", "allow-host", "allow-root", "max-sandbox", "allow-config", "oauth-issuer", "tls-cert"])(
    "is required by --%s",
    (flag) => {
      expect(complaintAbout(`--${flag}`, "value")).toBe(`--${flag} is for a server that listens: add --port, or use 'serve'`);
    },
  );

  it.for([
    [["--port", "65536"], "invalid value '65536' for --port: expected a number from 0 to 65535"],
    [["--port", " "], "invalid value ' ' for --port: expected a number from 0 to 65535"],
    [["--port", "1.5"], "invalid value '1.5' for --port: expected a number from 0 to 65535"],
    [["serve", "--tls-key", "k"], "--tls-cert and --tls-key go together"],
    [["serve", "--oauth-audience", "a"], "--oauth-audience needs --oauth-issuer"],
    [["serve", "--max-sandbox", "none"], "invalid value 'none' for --max-sandbox: expected read-only, workspace-write, danger-full-access"],
  ] as const)("%j makes no sense", ([argv, complaint]) => {
    expect(complaintAbout(...argv)).toBe(complaint);
  });
});
