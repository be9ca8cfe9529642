import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { VERSION } from "../../src/lib/version.js";
import { startLoopback } from "../support/http/loopback.js";
import { mockProvider, NOBODY_LISTENS } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN } from "../support/processes/mcpServer.js";
import { type Finished, runToEnd } from "../support/processes/runToEnd.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";

interface Patient {
  readonly stage: Stage;
  readonly args?: readonly string[];
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
}

async function doctor({ stage, args = [], config, env = {} }: Patient): Promise<Finished> {
  if (config !== undefined) await writeFile(path.join(stage.codexHome, "config.toml"), config);
  const surroundings = { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), HTTPS_PROXY: "", ...env };
  return runToEnd([process.execPath, MAIN, "doctor", ...args], { cwd: stage.workspace, env: surroundings });
}

/** The lines that report a failed check, without the verdict. */
function complaintsIn({ stdout }: Finished): string[] {
  return stdout.split("\n").flatMap((line) => /^fails\s+(.*)$/.exec(line)?.[1] ?? []);
}

it("doctor shows the name of a folder without characters that a terminal interprets", async () => {
  await using stage = await setStage();
  const workspace = path.join(stage.workspace, "x\u001b[2K\nok     engine");
  await mkdir(workspace);
  const { stdout } = await doctor({ stage: { ...stage, workspace }, args: ["--engine", "scripted"] });
  expect(stdout).toContain(`cwd ${stage.workspace}/x\\u{1b}[2K\n  | ok     engine, approval`);
});

describe.concurrent("doctor finds nothing wrong", () => {
  it("with the scripted engine, and says that this is not a real model", async () => {
    await using stage = await setStage();
    expect(await doctor({ stage, args: ["--engine", "scripted"] })).toEqual({
      code: 0,
      stderr: "",
      stdout: `codex-mcp-server ${VERSION}, Node ${process.version}

ok     CODEX_HOME   ${stage.codexHome}
ok     config       ${stage.codexHome}/config.toml does not exist; built-in defaults are used
ok     threads      kept in ${stage.codexHome}/sessions
ok     defaults     cwd ${stage.workspace}, approval on-request, sandbox read-only
ok     sandbox      bubblewrap was tested and works (/usr/bin/bwrap)
ok     shell        /bin/bash logs in within a second
note   engine       scripted: offline, plays the \`!\` lines of prompts; needs no key and is not a real model

Ready: a call can work.
`,
    });
  });

  it("with a provider that answers, and shows the effective settings of flags and config.toml", async () => {
    await using stage = await setStage();
    await using model = await startResponsesServer();
    const { code, stdout } = await doctor({
      stage,
      args: ["-s", "workspace-write"],
      config: `nonsense = 1\n${mockProvider(model.url, ['env_key = "MOCK_KEY"'])}`,
      env: { MOCK_KEY: "sk-secret" },
    });
    expect({ code, findings: stdout.split("\n").slice(2) }).toEqual({
      code: 0,
      findings: [
        `ok     CODEX_HOME   ${stage.codexHome}`,
        `ok     config       ${stage.codexHome}/config.toml`,
        "note   config       unknown configuration key `nonsense`",
        `ok     threads      kept in ${stage.codexHome}/sessions`,
        `ok     defaults     cwd ${stage.workspace}, approval on-request, sandbox workspace-write`,
        "ok     sandbox      bubblewrap was tested and works (/usr/bin/bwrap)",
        "ok     shell        /bin/bash logs in within a second",
        "ok     engine       native, model mock-model, provider mock",
        "ok     credentials  found",
        `ok     provider     ${model.url}/models answered with 1 models`,
        "ok     model        mock-model is offered",
        "note   codex        none is on PATH (npm install -g @openai/codex, or --codex-bin PATH)",
        "",
        "Ready: a call can work.",
        "",
      ],
    });
  });

  it("without a sandbox, but explains the consequences", async () => {
    await using stage = await setStage();
    const { code, stdout } = await doctor({ stage, args: ["--engine", "scripted", "--sandbox-bin", "/bin/false"] });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^note {3}sandbox {6}none works here, so every command needs an approval: .+$/m);
  });

  it("in the home folder, but says that calls must name another one to write", async () => {
    await using stage = await setStage();
    const { code, stdout } = await doctor({
      stage,
      args: ["--engine", "scripted", "-s", "workspace-write"],
      env: { HOME: stage.workspace },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^note {3}defaults {5}cwd .*: calls that name no `cwd` are refused; start the server with --cd DIR$/m);
  });

  it("without any configuration, and creates no folders", async () => {
    await using stage = await setStage();
    const { code } = await doctor({ stage, args: ["--engine", "scripted"], env: { CODEX_HOME: "" } });
    expect({ code, made: existsSync(path.join(stage.home, ".codex")) }).toEqual({ code: 0, made: false });
  });
});

describe.concurrent("doctor measures the login shell", () => {
  it.for([
    ["sleep 1.2", "takes \\d\\.\\d s to log in, once for each server: check its profile"],
    ["sleep 60", "cannot be logged in to, so commands run without its profile: it takes longer than 5 seconds\\. Fix .*"],
    ["exit 3", "cannot be logged in to, so commands run without its profile: it ends with exit code 3\\. Fix .*"],
  ] as const)("whose profile says `%s`", async ([line, finding]) => {
    await using stage = await setStage();
    await writeFile(path.join(stage.home, ".bash_profile"), `${line}\n`);
    const { code, stdout } = await doctor({ stage, args: ["--engine", "scripted"], env: { SHELL: "/bin/bash" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^note {3}shell {8}/bin/bash ${finding}$`, "m"));
  });
});

it("doctor reports to programs as JSON", async () => {
  await using stage = await setStage();
  const report = async (...args: string[]) => {
    const { code, stdout } = await doctor({ stage, args: ["--json", ...args] });
    return { code, report: JSON.parse(stdout) as unknown };
  };
  expect(await report("--engine", "scripted")).toEqual({
    code: 0,
    report: {
      version: VERSION,
      node: process.version,
      ready: true,
      findings: expect.arrayContaining([{ verdict: "ok", subject: "CODEX_HOME", text: stage.codexHome }]),
    },
  });
  expect(await report("-p", "gone")).toMatchObject({
    code: 1,
    report: { ready: false, findings: [{ verdict: "fails", subject: "config" }] },
  });
});

describe.concurrent("doctor names the problem and the remedy", () => {
  it("when the file of a profile is broken, in use or not", async () => {
    await using stage = await setStage();
    const file = path.join(stage.codexHome, "deep.config.toml");
    await writeFile(file, "model = \n");
    const unused = await doctor({ stage, args: ["--engine", "scripted"] });
    const used = await doctor({ stage, args: ["--engine", "scripted", "-p", "deep"] });
    expect([unused, used].map((finished) => [finished.code, complaintsIn(finished)])).toEqual([
      [
        1,
        [expect.stringMatching(/^profile {6}calls with the profile deep fail: .*deep\.config\.toml:1:\d+: .*\. Fix or remove the file\.$/)],
      ],
      [1, [expect.stringMatching(/^config {7}error loading config: .*deep\.config\.toml:1:\d+: /)]],
    ]);
  });

  it("when there is no key", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage });
    expect(finished.code).toEqual(1);
    expect(complaintsIn(finished)).toEqual([
      expect.stringMatching(/^credentials {2}No API key for the OpenAI provider: set OPENAI_API_KEY/),
    ]);
    expect(finished.stdout).toMatch(/\nOne problem: calls will fail until this is fixed\.\n$/);
  });

  it("when the provider's key is in a variable that is not set", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage, config: mockProvider(NOBODY_LISTENS, ['env_key = "MOCK_KEY"']) });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: ["credentials  Missing environment variable: `MOCK_KEY`."],
    });
  });

  it("when the default folder is not there", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage, args: ["--engine", "scripted", "-C", "/nowhere"] });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: [
        "defaults     The working directory /nowhere does not exist. Name an existing directory as `cwd`. Or start the server with --cd DIR.",
      ],
    });
  });

  it("when the provider refuses the key", async () => {
    await using stage = await setStage();
    await using provider = await startLoopback((_, response) => {
      response.writeHead(401).end();
    });
    const finished = await doctor({
      stage,
      config: mockProvider(`${provider.origin}/v1`, ['env_key = "MOCK_KEY"']),
      env: { MOCK_KEY: "k" },
    });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(
          `^provider     ${provider.origin}/v1/models refused the key \\(status 401\\)\\. Provider \`mock\` refused the key from .*MOCK_KEY.*\\. Replace it there, then start this server again\\.$`,
        ),
      ],
    });
  });

  it("but not when a key may do everything but read the list of models", async () => {
    await using stage = await setStage();
    await using provider = await startLoopback((_, response) => {
      response.writeHead(403).end();
    });
    const { code, stdout } = await doctor({ stage, config: mockProvider(`${provider.origin}/v1`) });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        `note   provider     ${provider.origin}/v1/models returned status 403: the key may not read the list of models`,
      ),
    ]);
  });

  it.each([
    [
      "is retired",
      ["-m", "gpt-5.2-codex"],
      ["gpt-6-sol", "gpt-6.1-sol"],
      /^model {8}Provider `mock` does not offer the model `gpt-5\.2-codex`: use `gpt-6\.1-sol` instead/,
    ],
    [
      "does not exist",
      ["-m", "gpt-6.1-soul"],
      ["gpt-6-sol"],
      /^model {8}Provider `mock` does not offer the model `gpt-6\.1-soul`: use `gpt-6-sol` instead/,
    ],
    [
      "offers other efforts",
      ["-m", "gpt-6.1-sol", "-c", "model_reasoning_effort=minimal"],
      ["gpt-6.1-sol"],
      /^effort {7}Model `gpt-6\.1-sol` does not offer the effort `minimal`.*low, medium, high, xhigh, max, ultra/,
    ],
  ])("when the model %s", async (_what, args, models, why) => {
    await using stage = await setStage();
    await using provider = await startResponsesServer({ models: () => models });
    const finished = await doctor({ stage, args, config: mockProvider(provider.url) });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({ code: 1, complaints: [expect.stringMatching(why)] });
  });

  it("when the model was shut down, and thirty days before that", async () => {
    await using stage = await setStage();
    const day = (days: number) => new Date(Date.now() + days * 24 * 60 * 60_000).toISOString().slice(0, 10);
    await using provider = await startLoopback((_, response) => {
      const data = [{ id: "old", shutdown_date: day(-1) }, { id: "ageing", shutdown_date: day(10) }, { id: "gpt-6.1-sol" }];
      response.end(JSON.stringify({ data }));
    });
    const config = mockProvider(`${provider.origin}/v1`);
    const old = await doctor({ stage, config, args: ["-m", "old"] });
    expect(complaintsIn(old)).toEqual([
      expect.stringMatching(new RegExp(`^model {8}old was shut down on ${day(-1)}\\..*use \`gpt-6\\.1-sol\``)),
    ]);
    const ageing = await doctor({ stage, config, args: ["-m", "ageing"] });
    expect([ageing.code, ageing.stdout]).toEqual([
      0,
      expect.stringContaining(`note   model        ageing will be shut down on ${day(10)}`),
    ]);
  });

  it("when OpenAI's list cannot be read and the model is known to be shut down", async () => {
    await using stage = await setStage();
    await using provider = await startLoopback((_, response) => void response.writeHead(404).end());
    const config = `openai_base_url = "${provider.origin}/v1"\nmodel = "gpt-5.2-codex"\n`;
    const finished = await doctor({ stage, config, env: { OPENAI_API_KEY: "sk-1" } });
    expect(complaintsIn(finished)).toEqual(["model        gpt-5.2-codex was shut down on 2026-07-23: use gpt-6.1-sol, or name none"]);
  });

  it("but uses another model if the missing one was not named explicitly", async () => {
    await using stage = await setStage();
    await using provider = await startResponsesServer({ models: () => ["gpt-5.5"] });
    const config = `openai_base_url = "${provider.url}"\n`;
    const { code, stdout } = await doctor({ stage, config, env: { OPENAI_API_KEY: "sk-1" } });
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining("note   model        Provider `openai` does not offer the model `gpt-6.1-sol`: use `gpt-5.5`"),
    ]);
  });

  it("when the provider cannot be reached", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage, config: mockProvider(NOBODY_LISTENS) });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: [expect.stringMatching(`^provider     ${NOBODY_LISTENS}/models cannot be reached: .*ECONNREFUSED`)],
    });
  });

  it("when the provider's address is invalid", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage, config: mockProvider("nonsense") });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: ["provider     The base_url of provider `mock` must begin with http:// or https://. Correct it in config.toml."],
    });
  });

  it("when config.toml does not parse, or CODEX_HOME is not there", async () => {
    await using stage = await setStage();
    const broken = await doctor({ stage, config: "model = = 1\n" });
    await rm(stage.codexHome, { recursive: true });
    const missing = await doctor({ stage });
    expect([broken.code, missing.code]).toEqual([1, 1]);
    expect([...complaintsIn(broken), ...complaintsIn(missing)]).toEqual([
      expect.stringContaining(`${stage.codexHome}/config.toml:1:9: `),
      expect.stringMatching(`^config       CODEX_HOME is set to ${stage.codexHome}, .* Create that folder`),
    ]);
  });

  it("when threads could not be written", async () => {
    await using stage = await setStage();
    await writeFile(path.join(stage.codexHome, "sessions"), "");
    const finished = await doctor({ stage, args: ["--engine", "scripted"] });
    const folder = path.join(stage.codexHome, "sessions");
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: [`threads      ${folder} cannot be written (${folder} is not a folder): set CODEX_HOME to a folder that can`],
    });
  });

  it("when the home folder is the kernel's", async () => {
    await using stage = await setStage();
    const finished = await doctor({ stage, args: ["--engine", "scripted"], env: { CODEX_HOME: "", HOME: "/proc" } });
    expect({ code: finished.code, complaints: complaintsIn(finished) }).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(/^threads {6}\/proc\/\.codex\/sessions cannot be written \(.+\): set CODEX_HOME to a folder that can$/),
      ],
    });
  });
});

describe.concurrent("doctor never prints a secret", () => {
  const SECRETS = ["secret-of-env", "secret-of-header", "secret-of-query", "secret-of-url", "secret-of-auth-json"];

  it.each([
    ["that is accepted", 200],
    ["that is refused", 401],
  ])("%s", async (_, status) => {
    await using stage = await setStage();
    await using provider = await startLoopback(({ headers, url }, response) => {
      response.writeHead(status).end(JSON.stringify([headers, url]));
    });
    await writeFile(path.join(stage.codexHome, "auth.json"), '{"OPENAI_API_KEY":"secret-of-auth-json"}');
    const base = provider.origin.replace("http://", "http://me:secret-of-url@");
    const settings = [
      'env_key = "MOCK_KEY"',
      'http_headers = { "x-key" = "secret-of-header" }',
      'query_params = { key = "secret-of-query" }',
    ];
    const { stdout, stderr } = await doctor({ stage, config: mockProvider(`${base}/v1`, settings), env: { MOCK_KEY: "secret-of-env" } });
    expect(stdout).toContain(`${provider.origin}/v1/models`);
    expect(SECRETS.filter((secret) => `${stdout}${stderr}`.includes(secret))).toEqual([]);
  });

  it("of a header that cannot be sent", async () => {
    await using stage = await setStage();
    const { stdout, stderr } = await doctor({
      stage,
      config: mockProvider(NOBODY_LISTENS, ['env_http_headers = { "x-key" = "MOCK_KEY" }']),
      env: { MOCK_KEY: "secret-of\nenv" },
    });
    expect(stdout).toMatch(/^fails /m);
    expect(`${stdout}${stderr}`).not.toContain("secret-of");
  });
});
