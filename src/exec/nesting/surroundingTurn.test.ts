import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ancestor, findSurroundingTurn } from "./surroundingTurn.js";
import { markText } from "./turnMark.js";

let place: string;
beforeAll(() => {
  place = realpathSync(mkdtempSync(path.join(tmpdir(), "nesting-")));
  mkdirSync(path.join(place, "codex-mcpd/dist"), { recursive: true });
  writeFileSync(path.join(place, "codex-mcpd/package.json"), '{ "name": "codex-mcpd" }');
  writeFileSync(path.join(place, "codex-mcpd/dist/main.js"), "");
  mkdirSync(path.join(place, "bin"));
  symlinkSync("../codex-mcpd/dist/main.js", path.join(place, "bin/codex-mcp-server"));
  mkdirSync(path.join(place, "other/dist"), { recursive: true });
  writeFileSync(path.join(place, "other/package.json"), '{ "name": "other" }');
  writeFileSync(path.join(place, "other/dist/main.js"), "");
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

function ancestor(commandLine: readonly string[], environment: readonly string[] = []): Ancestor {
  return { environment: () => environment, commandLine: () => commandLine, folder: () => place };
}

function found(env: Record<string, string>, ancestors: readonly Ancestor[]): string | undefined {
  const mark = findSurroundingTurn(env, ancestors);
  return mark && markText(mark);
}

const SHELL = ["/bin/bash"];
const MARKED = ["HOME=/root", "CODEX_MCP_INSIDE=1;read-only"];

describe("a server that was not started in a turn", () => {
  it("was started by a terminal, an editor or Codex", () => {
    expect(found({ HOME: "/root" }, [ancestor(["codex", "exec"]), ancestor(SHELL), ancestor(["/sbin/init"])])).toBeUndefined();
  });

  it.for(
    [
      ["npm exec codex-mcpd"],
      ["sh", "-c", "codex-mcpd --engine native"],
      ["node", "/usr/lib/node_modules/npm/bin/npx-cli.js", "-y", "codex-mcpd"],
      ["node", "inspector.js", "node", "codex-mcpd/dist/main.js"],
      ["node", "other/dist/main.js"],
      ["node", "missing/dist/main.js"],
      ["node"],
      ["vim", "bin/codex-mcp-server"],
      [],
    ].map((words) => [words] as const),
  )("has the parent process %j", ([commandLine]) => expect(found({}, [ancestor(commandLine)])).toBeUndefined());
});

describe("a server that was started in a turn", () => {
  it("recognises the turn by its own environment", () => expect(found({ CODEX_MCP_INSIDE: "1;read-only" }, [])).toBe("1;read-only"));

  it("recognises the turn by an ancestor's environment, if its own was cleaned", () => {
    expect(found({}, [ancestor(["env", "-i"]), ancestor(["codex", "app-server"], MARKED), ancestor(SHELL)])).toBe("1;read-only");
  });

  it("recognises the turn by the first process of its namespace, which outlives its parents", () => {
    expect(found({}, [ancestor(["bwrap"], MARKED)])).toBe("1;read-only");
  });

  it.for(
    [
      ["node", "codex-mcpd/dist/main.js", "--engine", "native"],
      ["/usr/bin/node", "--enable-source-maps", "bin/codex-mcp-server"],
      ["node", "-r", "hook.cjs", "bin/codex-mcp-server", "serve"],
      ["bun", "run", "codex-mcpd/dist/main.js"],
    ].map((words) => [words] as const),
  )("recognises the turn by a parent server, if nothing else is left: %j", ([commandLine]) => {
    expect(found({}, [ancestor(SHELL), ancestor(commandLine), ancestor(SHELL)])).toBe("sealed");
  });

  it("is not sealed by the server that marked it", () => {
    expect(found({ CODEX_MCP_INSIDE: "1;danger-full-access" }, [ancestor(["node", "bin/codex-mcp-server"])])).toBe("1;danger-full-access");
  });

  it("cannot widen its limits", () => {
    expect(found({ CODEX_MCP_INSIDE: "1;danger-full-access" }, [ancestor(SHELL, MARKED)])).toBe("1;read-only");
    expect(found({ CODEX_MCP_INSIDE: "0" }, [ancestor(SHELL, MARKED)])).toBe("sealed");
    expect(found({ CODEX_MCP_INSIDE: "" }, [])).toBe("sealed");
  });

  it("recognises the turn by the mark of a command alone", () => {
    expect(found({ CODEX_MCPD_EXEC_ID: "1-2-3-x" }, [])).toBe("sealed");
    expect(found({}, [ancestor(SHELL, ["CODEX_MCPD_EXEC_ID=1-2-3-x"])])).toBe("sealed");
    expect(found({ CODEX_MCPD_EXEC_ID: "1-2-3-x", CODEX_MCP_INSIDE: "1;read-only" }, [])).toBe("1;read-only");
  });
});
