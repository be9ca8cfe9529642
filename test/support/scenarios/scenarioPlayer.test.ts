import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type Scenario, valueAt } from "./scenario.js";
import { playScenario } from "./scenarioPlayer.js";

/** Answers every message with its own text and its surroundings, starts a child that stays, and writes noise on the way out. */
const TALKATIVE = `
  const { spawn } = require("node:child_process");
  const { readFileSync } = require("node:fs");
  spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "left-behind"], { detached: true, stdio: "ignore" }).unref();
  require("node:readline").createInterface({ input: process.stdin })
    .on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const config = readFileSync(process.env.CODEX_HOME + "/config.toml", "utf8");
      console.log(JSON.stringify({ id, result: { method, cwd: process.cwd(), lines: config.split("\\n"), args: process.argv.slice(1) } }));
    })
    .on("close", () => { console.log("bye"); console.error("ending in " + process.env.HOME); });
`;

const scenario: Scenario = {
  name: "talk",
  about: "a short talk",
  config: `note = "\${WS}"`,
  files: { "sub/a.txt": "content" },
  args: ["--here", `\${WS}`],
  steps: [
    { send: { id: 1, method: "hello" } },
    { wait: { response: 1 }, save: { place: "result.cwd" } },
    { raw: `{"id":2,"method":"\${place}"}\n` },
    { wait: { response: 2, where: { "result.method": "nobody says this" } } },
    { send: { id: 3, method: `\${never}` } },
    { list: true },
  ],
};

describe("the scenario player", () => {
  it("writes down what went in and came out, with everything that varies masked", async () => {
    const config = [
      'model = "mock-model"',
      'model_provider = "mock"',
      'note = "<WS>"',
      "[model_providers.mock]",
      'name = "mock"',
      'base_url = "<MODEL_URL>"',
      'wire_api = "responses"',
      "request_max_retries = 0",
      "stream_max_retries = 0",
      "",
    ];
    const answer = { cwd: "<WS>", lines: config, args: ["--here", "<WS>"] };
    const silences = [{ response: 2, where: { "result.method": "nobody says this" } }];
    const transcript = await playScenario(scenario, { command: [process.execPath, "-e", TALKATIVE, "--"], silences });
    expect(transcript.filter(({ dir }) => dir === "err")).toEqual([{ dir: "err", raw: "ending in <HOME>" }]);
    expect(transcript.filter(({ dir }) => dir !== "err")).toEqual([
      { dir: "in", msg: { id: 1, method: "hello" } },
      { dir: "out", msg: { id: 1, result: { method: "hello", ...answer } } },
      { dir: "in", raw: '{"id":2,"method":"<WS>"}\n' },
      { dir: "out", msg: { id: 2, result: { method: "<WS>", ...answer } } },
      { dir: "meta", meta: { noSuchMessage: silences[0] } },
      { dir: "meta", meta: { notSent: { id: 3, method: `\${never}` } } },
      { dir: "meta", meta: { files: { "sub/a.txt": "content" } } },
      { dir: "meta", meta: { eof: true } },
      { dir: "out", raw: "bye" },
      { dir: "meta", meta: { exit: { code: 0, signal: null } } },
      { dir: "meta", meta: { processesLeft: [expect.stringContaining("left-behind")] } },
    ]);
  });

  it("waits no longer for a message once another one says that it will not come", { timeout: 20_000 }, async () => {
    const steps: Scenario["steps"] = [
      { send: { id: 1, method: "hello" } },
      { wait: { request: "question" }, save: { asked: "id" }, unless: { response: 1 } },
      { send: { id: `\${asked}`, result: {} } },
    ];
    const transcript = await playScenario(
      { name: "unasked", about: "a server that asks nothing", steps },
      { command: [process.execPath, "-e", TALKATIVE, "--"] },
    );
    expect(transcript.filter((entry) => entry.dir === "meta").slice(0, 2)).toEqual([
      { dir: "meta", meta: { noSuchMessage: { request: "question" } } },
      { dir: "meta", meta: { notSent: { id: `\${asked}`, result: {} } } },
    ]);
  });

  it("leaves neither processes nor folders behind", async () => {
    const program = `
      const folder = Buffer.from(process.cwd()).toString("hex");
      console.log(JSON.stringify({ id: 1, result: { pid: process.pid, folder } }));
      setInterval(() => {}, 1000);
    `;
    const steps: Scenario["steps"] = [{ wait: { response: 1 } }, { eof: true }, { exit: 50 }];
    const transcript = await playScenario(
      { name: "stay", about: "a server that stays", steps },
      { command: [process.execPath, "-e", program] },
    );
    const [pid, folder] = ["pid", "folder"].map((name) => valueAt(transcript, `0.msg.result.${name}`));
    expect(transcript.slice(1)).toEqual([
      { dir: "meta", meta: { eof: true } },
      { dir: "meta", meta: { stillRunningAfterMs: 50 } },
      { dir: "meta", meta: { processesLeft: [expect.stringContaining("setInterval")] } },
    ]);
    expect(existsSync(Buffer.from(String(folder), "hex").toString())).toBe(false);
    await expect.poll(() => existsSync(`/proc/${String(pid)}`)).toBe(false);
  });
});
