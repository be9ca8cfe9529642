import { expect, it } from "vitest";
import { appServerEnvironment } from "./appServerEnvironment.js";

const NEEDED = {
  HOME: "/home/u",
  OPENAI_API_KEY: "sk-1",
  CODEX_HOME: "/home/u/.codex",
  CODEX_MCP_CALLBACK_URI: "http://127.0.0.1/",
  CODEX_MCP_INSIDE: "1",
  OTEL_SERVICE_NAME: "s",
};
const OURS = {
  PATH: "/ws/node_modules/.bin:/usr/bin",
  CODEX_MCP_TOKEN: "t",
  CODEX_MCP_TOOLS: "codex",
  OTEL_EXPORTER_OTLP_HEADERS: "authorization=x",
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: "authorization=x",
};

it("Codex gets what it needs, without our own secrets and without folders that commands can write", () => {
  const env = appServerEnvironment({ ...NEEDED, ...OURS }, { withoutGit: false, programs: { searchPath: "/usr/bin" } });
  expect(env).toEqual({ ...NEEDED, PATH: "/usr/bin" });
});

it("where repositories are strangers' its own calls of git fail", () => {
  expect(appServerEnvironment({ PATH: "/usr/bin", GIT_DIR: "/x" }, { withoutGit: true })).toEqual({
    PATH: "/usr/bin",
    GIT_DIR: "/dev/null",
  });
});
