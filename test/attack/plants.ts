import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import type { Ground } from "./ground.js";

/** The programs that a server may start by name for its own purposes. */
export const PROGRAMS = [
  ..."mkfifo git bwrap setpriv unshare script codex node npx sh env rg".split(" "),
  ..."prlimit ps kill pkill mount umount nsenter setsid timeout uname xdg-open ssh newuidmap newgidmap".split(" "),
] as const;

const USUAL_PATH = [path.dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(":");

/** A program that records its name and its rights outside the sandbox if it can, and then acts like the real program. */
export function plantProgram(ground: Ground, folder: string, name: string): void {
  const script = [
    "#!/bin/bash",
    `/bin/grep Seccomp: /proc/self/status 2>/dev/null > '${ground.mark(name)}'`,
    `PATH='${USUAL_PATH}' exec ${name} "$@"`,
  ];
  chmodSync(ground.write(path.join(folder, name), `${script.join("\n")}\n`), 0o755);
}

/** Plants all of them where `npx` looks first. */
export function plantPrograms(ground: Ground, folder = ground.inWorkspace("node_modules/.bin")): void {
  for (const name of PROGRAMS) plantProgram(ground, folder, name);
}

/** A command for bash that plants a program as `plantProgram` does. */
export function plantingCommand(ground: Ground, folder: string, name: string): string {
  const mark = `/bin/grep Seccomp: /proc/self/status > '${ground.mark(name)}'`;
  return `mkdir -p '${folder}' && printf '%s\\n' '#!/bin/bash' "${mark}" "PATH=/usr/bin:/bin exec ${name} \\"\\$@\\"" > '${folder}/${name}' && chmod +x '${folder}/${name}'`;
}

/** A repository with one commit. The machine's git configuration is not used. */
export function makeRepository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "-q", "-b", "main");
  git(folder, "commit", "-q", "--allow-empty", "-m", "first");
}

export function git(folder: string, ...args: readonly string[]): void {
  const identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"];
  const env = { PATH: USUAL_PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" };
  execFileSync("git", ["-C", folder, ...identity, ...args], { env, stdio: "ignore" });
}

/** A package that `npx NAME` takes from its working folder. */
export function plantPackage(ground: Ground, name: string): void {
  const folder = ground.inWorkspace("node_modules", name);
  ground.write(path.join(folder, "package.json"), JSON.stringify({ name, version: "9.9.9", bin: { [name]: "run.sh" } }));
  chmodSync(
    ground.write(path.join(folder, "run.sh"), `#!/bin/bash\n/bin/grep Seccomp: /proc/self/status > '${ground.mark(name)}'\n`),
    0o755,
  );
  mkdirSync(ground.inWorkspace("node_modules/.bin"), { recursive: true });
  symlinkSync(`../${name}/run.sh`, ground.inWorkspace("node_modules/.bin", name));
}
