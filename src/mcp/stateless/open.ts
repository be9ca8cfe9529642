import type { TaskStore } from "../../tasks/taskStore.js";
import { callersInside } from "../inside.js";
import { AgentCalls } from "./agentCalls.js";
import type { ToolParts } from "./beginCall.js";
import { listen, taskNews } from "./listen.js";
import { discover, listTools } from "./listing.js";
import { StatelessDoor } from "./server.js";
import { Subscriptions } from "./subscriptions.js";
import { TaskBoard } from "./tasks/taskBoard.js";
import { taskMethods } from "./tasks/taskMethods.js";

export interface StatelessParts extends ToolParts {
  readonly engine: string;
  readonly taskStore: TaskStore;
  /** For people who look at the server's own output. */
  readonly report: (line: string) => void;
}

const INSTRUCTIONS = "`codex` starts a coding agent on a task and returns its answer with a threadId; `codex-reply` continues that thread.";

/** The era without sessions. `ping`, `logging/setLevel` and the like do not exist in it, and are answered as unknown. */
export function openStatelessDoor(parts: StatelessParts): StatelessDoor {
  const { objection = callersInside } = parts;
  const subscriptions = new Subscriptions();
  const changed = (id: string, form: Readonly<Record<string, unknown>>) => subscriptions.tell(taskNews(id, form));
  const tasks = new TaskBoard({ store: parts.taskStore, changed, report: parts.report });
  const calls = new AgentCalls({ ...parts, tasks });
  return new StatelessDoor({
    methods: {
      "server/discover": discover({ engine: parts.engine, instructions: INSTRUCTIONS, objection }),
      "tools/list": listTools(parts.tools, objection),
      "tools/call": (request) => calls.call(request),
      "subscriptions/listen": listen({ subscriptions, lists: ["toolsListChanged"], tasks }),
      ...taskMethods(tasks),
    },
    leaving: () => subscriptions.close(),
    settled: () => tasks.settle(),
  });
}
