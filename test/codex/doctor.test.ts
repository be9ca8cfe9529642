import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { NEWEST_TRIED, publishedVersions } from "../support/codex/codexPeers.js";
import { MAIN } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";

const PROVIDER = 'model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nbase_url = "http://127.0.0.1:9/v1"\n';

/** Changes in a user's home before `doctor` runs. */
interface Patient {
  readonly args?: readonly string[];
  readonly config?: string;
  readonly profile?: string;
  /** auth.json; undefined where nobody is logged in. */
  readonly login?: string | undefined;
}

const KEY = '{"OPENAI_API_KEY":"sk-of-nobody"}';

async function complaintsOf(stage: Stage, { args = [], config = "", profile, ...patient }: Patient) {
  writeFileSync(path.join(stage.codexHome, "config.toml"), config);
  const login = "login" in patient ? patient.login : KEY;
  if (login !== undefined) writeFileSync(path.join(stage.codexHome, "auth.json"), login);
  if (profile !== undefined) writeFileSync(path.join(stage.codexHome, "deep.config.toml"), profile);
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  const { code, stdout } = await runToEnd([process.execPath, MAIN, "doctor", "--engine", "codex", ...args], { cwd: stage.workspace, env });
  return { code, complaints: stdout.split("\n").flatMap((line) => /^fails\s+(.*)$/.exec(line)?.[1] ?? []) };
}

describe.each(await publishedVersions())("doctor with Codex $version", { timeout: 90_000 }, ({ program, version }) => {
  it.each<[string, Patient, readonly RegExp[]]>([
    ["reports no problem of a Codex that works", {}, []],
    [
      "a retired model",
      { args: ["-m", "gpt-5.2-codex"] },
      [/the model gpt-5\.2-codex is not among its models \(was shut down on .*\): use gpt-\S+, or name none$/],
    ],
    [
      "a retired model of config.toml",
      { config: 'model = "gpt-5.2-codex"\n' },
      [/the model gpt-5\.2-codex is not among its models .*: use gpt-\S+, or name none$/],
    ],
    [
      "a model that never existed",
      { args: ["-m", "gpt-6.1-soul"] },
      [/the model gpt-6\.1-soul is not among its models \(retired, or not for this login\): use gpt-\S+, or name none$/],
    ],
    [
      "a broken profile that is not in use",
      { profile: "model = \n" },
      [/^profile +calls with the profile deep fail: .*deep\.config\.toml:1:\d+: .*\. Fix or remove the file\.$/],
    ],
    [
      "a broken profile that is in use",
      { profile: "model = \n", args: ["-p", "deep"] },
      [/^config +error loading config: .*deep\.config\.toml:1:\d+: /],
    ],
    [
      "a value that only Codex checks",
      { config: 'model_verbosity = "extreme"\n' },
      [/can start no thread\. It does not accept config\.toml in CODEX_HOME: .*`extreme`.*Correct that, or use --engine native\.$/],
    ],
    [
      "such a value beside a provider of config.toml",
      { config: `model_verbosity = "extreme"\n${PROVIDER}` },
      [/did not start\. It does not accept config\.toml in CODEX_HOME: .*`extreme`.*Correct that, or use --engine native\.$/],
    ],
    [
      "a profile as Codex had it before 0.134",
      { config: `profile = "deep"\n${PROVIDER}\n[profiles.deep]\nmodel = "gpt-6-sol"\n` },
      [/does not accept config\.toml in CODEX_HOME: .*`profile = "deep"`.*deep\.config\.toml/],
    ],
    ["nobody logged in", { login: undefined }, [/is not logged in: run `codex login`$/]],
  ])("%s", async (_, patient, expected) => {
    await using stage = await setStage();
    const args = ["--codex-bin", program, ...(patient.args ?? [])];
    expect(await complaintsOf(stage, { ...patient, args }), version).toEqual({
      code: expected.length === 0 ? 0 : 1,
      complaints: expected.map((complaint) => expect.stringMatching(complaint)),
    });
  });
});

describe.each(await publishedVersions([NEWEST_TRIED]))("doctor with Codex $version", { timeout: 90_000 }, ({ program }) => {
  it("reports that Codex cannot reach the account of its login", async () => {
    await using stage = await setStage();
    const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
    const account = { "https://api.openai.com/auth": { chatgpt_plan_type: "plus", chatgpt_account_id: "a" }, email: "a@example.com" };
    const tokens = { id_token: token(account), access_token: token({ exp: 1 }), refresh_token: "r", account_id: "a" };
    const login = JSON.stringify({ OPENAI_API_KEY: null, tokens, last_refresh: "2025-01-01T00:00:00Z" });
    expect(await complaintsOf(stage, { args: ["--codex-bin", program], login })).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(
          /^codex .*version .*, cannot check its login: .*\. Make sure that it reaches the network, or run `codex login` again$/,
        ),
      ],
    });
  });
});

describe("doctor without a Codex that it could use", { timeout: 60_000 }, () => {
  it("reports that there is none", async () => {
    await using stage = await setStage();
    expect(await complaintsOf(stage, { args: ["--codex-bin", "/nowhere/codex"] })).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(/\/nowhere\/codex \(--codex-bin\) does not exist\. Correct --codex-bin, or use --engine native\.$/),
      ],
    });
    expect(await complaintsOf(stage, {})).toEqual({
      code: 1,
      complaints: ["codex        none is on PATH (npm install -g @openai/codex, or --codex-bin PATH)"],
    });
  });

  it.skipIf(process.platform === "win32")("reports that a part of it is missing", async () => {
    await using stage = await setStage();
    const program = path.join(stage.root, "codex");
    const words = [
      "file:///opt/codex.js:108",
      "Error: Missing optional dependency of Codex.",
      "    at codex.js:108:9",
      "",
      "Node.js v20.20.2",
    ];
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' ${words.map((line) => `'${line}'`).join(" ")} >&2\nexit 1\n`);
    chmodSync(program, 0o755);
    expect(await complaintsOf(stage, { args: ["--codex-bin", program] })).toEqual({
      code: 1,
      complaints: [
        expect.stringMatching(
          /did not start\. .*: Error: Missing optional dependency of Codex\. Install it again \(npm install -g @openai\/codex\), or use --engine native\.$/,
        ),
      ],
    });
  });

  it("reports that it is too old", async () => {
    await using stage = await setStage();
    const program = path.join(stage.root, "codex");
    writeFileSync(program, "#!/bin/sh\necho codex-cli 0.92.0\n");
    chmodSync(program, 0o755);
    expect(await complaintsOf(stage, { args: ["--codex-bin", program] })).toEqual({
      code: 1,
      complaints: [expect.stringMatching(/0\.92\.0.*npm install -g @openai\/codex/)],
    });
  });
});
