import { accessSync, constants } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Launch } from "../../../exec/launch.js";
import type { OutsidePrograms } from "../../../exec/outside/outsidePrograms.js";
import { isExecutableFile } from "../../../exec/outside/systemPrograms.js";
import type { ConfinedCommand } from "../../../exec/sandbox/confinement.js";
import type { McpServerTransport } from "../../../threads/settings.js";
import { type Environment, programEnvironment } from "./environment.js";
import { McpProgramDistrusted } from "./failures.js";
import { startFolder } from "./startFolder.js";

/** What the programs of servers are started with. They run outside the sandbox, so nothing a command could write decides what runs. */
export interface ProgramSurroundings {
  readonly env: Environment;
  readonly codexHome: string;
  readonly outside: Pick<OutsidePrograms, "find" | "distrusted" | "searchPath">;
  /** Holds a program together, so that nothing of it outlives us. */
  contain(command: ConfinedCommand): Promise<Launch>;
}

type Program = Extract<McpServerTransport, { kind: "program" }>;

/** A server's program as it is to be started. Throws the system's error when there is no such program. */
export function serverProgram(transport: Program, { env, codexHome, outside }: ProgramSurroundings): ConfinedCommand {
  return {
    argv: [findProgram(transport, { codexHome, outside }), ...transport.args],
    cwd: transport.cwd ?? startFolder(codexHome),
    env: programEnvironment(transport, { ...env, PATH: outside.searchPath }),
  };
}

/** A path is taken as it was configured; a name is looked for where no command can have planted a program. */
function findProgram({ command, cwd, env }: Program, { codexHome, outside }: Pick<ProgramSurroundings, "codexHome" | "outside">): string {
  if (command.includes(path.sep)) return executable(path.resolve(cwd ?? codexHome, command));
  const own = env["PATH"];
  const found = own === undefined ? outside.find(command) : onPath(command, own);
  if (found !== undefined) return found;
  const [planted] = own === undefined ? outside.distrusted(command) : [];
  throw planted === undefined ? notThere(command) : new McpProgramDistrusted(command, planted);
}

function executable(file: string): string {
  accessSync(file, constants.X_OK);
  return file;
}

/** A search path that the configuration writes for a server stands as it is. */
function onPath(name: string, searchPath: string): string | undefined {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return folders.map((folder) => path.join(folder, name)).find(isExecutableFile);
}

function notThere(command: string): Error {
  return Object.assign(new Error(`${command}: No such file or directory`), { code: "ENOENT", errno: -os.constants.errno.ENOENT });
}
