import { spawn } from "node:child_process";
import { once } from "node:events";
import { type BenchCase, SHORT_TURN, timedMs } from "../benchCase.js";
import { treeCpuMs } from "../procfs.js";

export const COMMAND = {
  fullAccess: "reply with `true`, full access, ms",
  fullAccessCpu: "CPU per such reply, ms",
  sandboxed: "reply with `true`, workspace-write, ms",
  limit: "bare bubblewrap spawn + two short replies, ms",
} as const;

const REPLIES = 10;
const COMMAND_TURN = { prompt: "!shell true\n!say ok", expect: "ok", commands: 1 };
/** Roughly the minimum of a sandbox; the real one adds binds and a system call filter. */
const BARE_SANDBOX = [
  ..."--die-with-parent --ro-bind / / --dev /dev --proc /proc --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net".split(
    " ",
  ),
  ..."--cap-drop ALL -- bash -c true".split(" "),
];

/** A turn with one command: two model requests and a process in between. */
export const commandCase: BenchCase = {
  name: "command",
  title: "A command in the turn",
  async run(run) {
    await using server = await run.start();
    const { session, pid } = server;
    const threadId = await session.turn(COMMAND_TURN);
    const cpu = treeCpuMs(pid);
    for (let n = 0; n < REPLIES; n++) run.put(COMMAND.fullAccess, await timedMs(() => session.turn({ ...COMMAND_TURN, threadId })));
    run.put(COMMAND.fullAccessCpu, (treeCpuMs(pid) - cpu) / REPLIES);
    if (run.target.name !== "ours") return;

    const confined = await session.turn({ ...COMMAND_TURN, sandbox: "workspace-write" });
    const plain = await session.turn(SHORT_TURN);
    for (let n = 0; n < REPLIES; n++) {
      run.put(COMMAND.sandboxed, await timedMs(() => session.turn({ ...COMMAND_TURN, threadId: confined })));
      const model = await timedMs(() => session.turn({ ...SHORT_TURN, threadId: plain }));
      run.put(COMMAND.limit, (await timedMs(bareSandbox)) + 2 * model);
    }
  },
};

async function bareSandbox(): Promise<void> {
  const child = spawn("bwrap", BARE_SANDBOX, { stdio: ["ignore", "pipe", "pipe"] });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`bwrap ended with ${code}: is bubblewrap installed?`);
}
