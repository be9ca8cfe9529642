import { describe, expect, it } from "vitest";
import { parseCommand, UsageError } from "./command.js";

const DEFAULTS = {
  overrides: [],
  strictConfig: false,
  engine: "native",
  tools: "codex",
  approvalFallback: "auto-within-policy",
  eofGraceMs: 2_000,
};
const HTTP_NOT_YET = "This version serves MCP on stdio only; HTTP and WebSocket are not built yet.";

function complaintAbout(...argv: string[]): string {
  try {
    parseCommand(argv, {});
    return "nothing";
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

describe("what is asked for", () => {
  it.for([
    [[], "stdio"],
    [["mcp-server"], "stdio"],
    [["doctor"], "doctor"],
  ] as const)("%j is %s with the defaults", ([argv, kind]) => {
    expect(parseCommand(argv, {})).toEqual({ kind, options: DEFAULTS });
  });

  it.for([
    ["--help", "help"],
    ["-h", "help"],
    ["--version", "version"],
    ["-V", "version"],
  ] as const)("%s is %s, whatever else is said", ([flag, kind]) => {
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
  const SHORT = ["-c", "model_provider=mock", "-m", "mock-model", "-p", "fast", "-C/project", "-s=read-only", "-a", "never"];

  it("are Codex's own, in full", () => {
    expect(parseCommand(["mcp-server", ...LONG], {})).toEqual({ kind: "stdio", options: ALL });
  });

  it("have Codex's short forms, and may stand before the subcommand", () => {
    const rest = ["-c", "a.b=[1, 2]", "--enable=new", "--disable=old", "--strict-config", "mcp-server"];
    const argv = SHORT.map((word) => word.replace("-s=", "-s"));
    expect(parseCommand([...argv, ...rest], {})).toEqual({ kind: "stdio", options: ALL });
  });

  it.for([
    ["auto", "native"],
    ["native", "native"],
    ["scripted", "scripted"],
  ] as const)("--engine %s is %s", ([name, engine]) => {
    expect(parseCommand(["--engine", name], {})).toEqual({ kind: "stdio", options: { ...DEFAULTS, engine } });
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

  it("the tool set comes from the flag, else from the environment", () => {
    const env = { CODEX_MCP_TOOLS: "codex-original" };
    const tools = (argv: string[], from: NodeJS.ProcessEnv) => {
      const command = parseCommand(argv, from);
      return command.kind === "stdio" ? command.options.tools : undefined;
    };
    expect([tools([], env), tools(["--tools", "codex"], env), tools([], { CODEX_MCP_TOOLS: "" })]).toEqual([
      "codex-original",
      "codex",
      "codex",
    ]);
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
    [["nonsense"], "unrecognized subcommand 'nonsense'"],
    [["constructor"], "unrecognized subcommand 'constructor'"],
    [["mcp-server", "again"], "unexpected argument 'again' found"],
    [["-c"], "Option '-c, --config <value>' argument missing"],
    [["--strict-config=yes"], "Option '--strict-config' does not take an argument"],
    [["--sandbox", "full"], "invalid value 'full' for --sandbox: expected read-only, workspace-write, danger-full-access"],
    [["-a", "always"], "invalid value 'always' for --ask-for-approval: expected untrusted, on-failure, on-request, never"],
    [["--approval-fallback", "guess"], "invalid value 'guess' for --approval-fallback: expected auto-within-policy, deny, hold, ask"],
    [["--engine", "magic"], "invalid value 'magic' for --engine: expected auto, native, scripted"],
    [["--engine", "codex"], "--engine codex cannot be used: the codex engine is not built yet; use --engine native"],
    [["--tools", "everything"], "invalid value 'everything' for --tools: expected codex, codex-original"],
    ...["x", "", " ", "-1", "86401", "NaN", "Infinity"].map(
      (value) => [[`--eof-grace=${value}`], `invalid value '${value}' for --eof-grace: expected seconds from 0 to 86400`] as const,
    ),
  ] as const)("%j: %s", ([argv, complaint]) => {
    expect(complaintAbout(...argv)).toBe(complaint);
  });
});

describe("what is not built yet is refused with a sentence, never half accepted", () => {
  it("as a subcommand", () => {
    expect(complaintAbout("serve")).toBe(HTTP_NOT_YET);
  });

  it.for([
    ...["host", "port", "token", "token-file", "allow-root", "max-sandbox", "allow-config"].map((flag) => [flag, HTTP_NOT_YET] as const),
    ["codex-bin", "The codex engine is not built yet; use --engine native."],
  ] as const)("as --%s", ([flag, why]) => {
    expect(complaintAbout(`--${flag}`, "value")).toBe(`--${flag} cannot be used: ${why}`);
  });
});
