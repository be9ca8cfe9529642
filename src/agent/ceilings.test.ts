import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { settingsIn, tempHome } from "../../test/support/threads/rollouts.js";
import { createSettingsResolver } from "../config/resolve.js";
import { objectionTo } from "../exec/sandbox/fileView.js";
import { UsageError } from "../lib/errors.js";
import type { Caller, Principal } from "./caller.js";
import { type CeilingFlags, checkCeilings, openCeilings } from "./ceilings.js";
import { AboveCeiling } from "./errors.js";

const BOB: Caller = { principal: "bob" as Principal, scopes: ["call", "read"] };

/** The ceilings of a server that was started in `serverCwd`. */
function ceilingsIn(serverCwd: string, flags: CeilingFlags, cliNamed: { readonly cwd?: string } = {}) {
  const codexHome = path.join(serverCwd, ".codex");
  const settings = createSettingsResolver({ codexHome, cliOverrides: [], cliNamed, strict: false, env: {}, serverCwd });
  return openCeilings(flags, { serverCwd, codexHome, settings });
}

const WORKSPACE_WRITE = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: false,
  exclude_slash_tmp: false,
} as const;

function isAllowed(ceilings: ReturnType<typeof openCeilings>, cwd: string): boolean {
  return passes(() => ceilings.limitsOf(BOB).check(settingsIn(cwd)));
}

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(AboveCeiling);
    return false;
  }
}

describe("a server starts", () => {
  const complaint = (flags: CeilingFlags, { loopback = true, serverCwd = "/" } = {}): string | undefined => {
    try {
      checkCeilings(flags, { serverCwd, loopback });
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(UsageError);
      return error instanceof Error ? error.message : undefined;
    }
  };

  it("on loopback without any ceiling given", () => expect(complaint({})).toBeUndefined());

  it("beyond loopback only with allowed folders", () => {
    expect([complaint({}, { loopback: false }), complaint({ allowRoots: ["/"] }, { loopback: false })]).toEqual([
      "--allow-root is needed to listen beyond loopback: name the folders that callers may work in",
      undefined,
    ]);
  });

  it("not with tokens or keys right in a folder that callers work in", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "secrets"));
    symlinkSync("../tokens", path.join(home.path, "secrets/linked"));
    const complaintsAbout = (secretFile: string) => {
      try {
        checkCeilings({}, { serverCwd: home.path, loopback: true, secretFiles: [secretFile] });
        return "";
      } catch (error) {
        return error instanceof UsageError ? error.message : String(error);
      }
    };
    expect(
      ["tokens", "secrets/linked", "secrets/tokens", "../tokens"].map((file) => complaintsAbout(file).includes("a folder of its own")),
    ).toEqual([true, true, false, false]);
  });

  it("not if an allowed folder is not a folder", () => {
    using home = tempHome();
    writeFileSync(path.join(home.path, "file"), "");
    const complaints = ["missing", "file"].map((root) => complaint({ allowRoots: [root] }, { serverCwd: home.path }));
    expect(complaints).toEqual(["--allow-root missing: there is no such folder", "--allow-root file: there is no such folder"]);
  });

  it.for(["mcp_servers", "mcp_servers.mine.command", "'notify'", "model_providers.p", "model_instructions_file", "profiles.p.model"])(
    "not with --allow-config %s",
    (key) => expect(complaint({ allowConfig: [key] })).toMatch(/^--allow-config .* cannot be used: callers never name programs/),
  );

  it("not with --allow-config and no key", () => expect(complaint({ allowConfig: [" "] })).toContain("needs a key of config.toml"));

  it("with keys that name nothing but themselves", () => {
    expect(complaint({ allowConfig: ["web_search", "features.unified_exec", "model_provider"] })).toBeUndefined();
  });
});

describe("threads may work", () => {
  it("in the server's own folder and below, when no other is given", () => {
    using home = tempHome();
    const ceilings = ceilingsIn(home.path, {});
    expect([home.path, path.join(home.path, "sub"), path.dirname(home.path)].map((cwd) => isAllowed(ceilings, cwd))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("in the folder that -C names, when no other is given", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "sub"));
    const ceilings = ceilingsIn(home.path, {}, { cwd: "sub" });
    expect([isAllowed(ceilings, path.join(home.path, "sub")), isAllowed(ceilings, home.path)]).toEqual([true, false]);
  });

  it("in each folder that is given, and then no longer in the server's own", () => {
    using home = tempHome();
    for (const name of ["one", "two"]) mkdirSync(path.join(home.path, name));
    const ceilings = ceilingsIn(home.path, { allowRoots: ["one", path.join(home.path, "two")] });
    expect(["one", "two/deep", "three", "."].map((cwd) => isAllowed(ceilings, path.join(home.path, cwd)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("in the folder that the given link leads to", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "real"));
    symlinkSync("real", path.join(home.path, "link"));
    const ceilings = ceilingsIn(home.path, { allowRoots: ["link"] });
    const real = path.join(realpathSync(home.path), "real");
    expect([isAllowed(ceilings, path.join(home.path, "link")), isAllowed(ceilings, real)]).toEqual([true, true]);
  });
});

describe("callers that were given folders of their own", () => {
  const opensElsewhere: unknown = expect.any(Function);

  it("work only in these, and do not see the folders of others", () => {
    using home = tempHome();
    const place = realpathSync(home.path);
    const [mine, other, shared, docs] = ["mine", "other", "shared", "docs"].map((name) => path.join(place, name)) as [
      string,
      string,
      string,
      string,
    ];
    for (const folder of [mine, other, shared, docs]) mkdirSync(folder);
    const ceilings = ceilingsIn(home.path, { allowRoots: ["shared"], readRoots: ["docs"], givenRoots: () => [mine, other] });
    const limits = ceilings.limitsOf({ ...BOB, roots: [mine] });
    expect(() => limits.check(settingsIn(mine))).not.toThrow();
    expect(() => limits.check(settingsIn(shared))).toThrow(AboveCeiling);
    expect(limits.reach).toEqual({ folders: [mine, docs], workRoots: [mine], opensElsewhere, foreign: [shared, other] });
    expect(ceilings.limitsOf(BOB).reach).toEqual({ folders: [shared, docs], workRoots: [shared], opensElsewhere, foreign: [mine, other] });
  });

  it.for([
    ["workspace-write", [false, true]],
    ["danger-full-access", [true, true]],
  ] as const)(
    "may have commands write, under %s, the same folders when a turn begins and when its sandbox is set up",
    ([maxSandbox, allowed]) => {
      using home = tempHome();
      const place = realpathSync(home.path);
      const [mine, other, configured] = ["mine", "other", "configured"].map((name) => path.join(place, name)) as [string, string, string];
      for (const folder of [mine, other, configured, path.join(place, ".codex")]) mkdirSync(folder);
      writeFileSync(path.join(place, ".codex/config.toml"), `sandbox_workspace_write.writable_roots = ["${configured}/"]\n`);
      const limits = ceilingsIn(place, { maxSandbox }).limitsOf({ ...BOB, roots: [mine] });
      const further = [other, configured];
      const policyWith = (root: string) => ({ ...WORKSPACE_WRITE, writable_roots: [root] });
      const begins = further.map((root) => passes(() => limits.check(settingsIn(mine, { sandboxPolicy: policyWith(root) }))));
      const opens = further.map((root) => objectionTo({ given: root, root }, limits.reach) === undefined);
      expect({ begins, opens }).toEqual({ begins: allowed, opens: allowed });
    },
  );

  it("the server's own user and operators read what the user may", () => {
    using home = tempHome();
    const ceilings = ceilingsIn(home.path, {});
    const reaches = [
      { ...BOB, scopes: ["operator"] as const },
      { principal: "local" as Principal, scopes: ["call", "read", "manage"] as const },
    ].map((caller) => ceilings.limitsOf(caller).reach);
    const everything = { folders: undefined, workRoots: [realpathSync(home.path)], opensElsewhere };
    expect(reaches).toEqual([everything, everything]);
  });
});

describe("a call's config", () => {
  const complaint = (config: Readonly<Record<string, unknown>>, flags: CeilingFlags = {}): string | undefined => {
    using home = tempHome();
    try {
      ceilingsIn(home.path, flags).checkConfig(config);
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(AboveCeiling);
      return error instanceof Error ? error.message : undefined;
    }
  };

  it("that is refused says which setting would let it pass, where there is one", () => {
    expect(complaint({ web_search: "live", "features.undo": true })).toBe(
      "This server does not take `web_search`, `features.undo` from the `config` of a call. " +
        "Leave it out, or restart the server with --allow-config web_search --allow-config features.undo.",
    );
    expect(complaint({ web_search: "live", notify: ["x"] })).toBe(
      "This server does not take `web_search`, `notify` from the `config` of a call. Leave it out, or set it in the server's config.toml.",
    );
  });

  it("may name an added entry", () => {
    expect(complaint({ "'web_search'": "live" }, { allowConfig: ["web_search"] })).toBeUndefined();
  });
});
