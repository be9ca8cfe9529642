import { hasScope } from "../../agent/caller.js";
import { ScopeMissing } from "../../agent/errors.js";
import { invalidParams, RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { type Claim, missingCapability, type StatelessMethod, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import type { TaskRegistry } from "./taskRegistry.js";

/** The methods for clients that declare the extension. Its older methods, `tasks/result` and `tasks/list`, do not exist here. */
export function taskMethods(tasks: TaskRegistry): Readonly<Record<string, StatelessMethod>> {
  return {
    "tasks/get": (request) => tasks.form(taskIdOf(request), request.caller?.principal),
    "tasks/update": async (request) => {
      requireCall(request);
      const id = taskIdOf(request);
      const responses = inputResponsesOf(request);
      const work = await tasks.work(id, request.caller?.principal);
      work?.answer(responses);
      return {};
    },
    "tasks/cancel": async (request) => {
      requireCall(request);
      const work = await tasks.work(taskIdOf(request), request.caller?.principal);
      work?.cancel();
      return {};
    },
  };
}

/** Throws `-32021` for a client that does not declare the tasks extension. */
export function requireTasks({ extensions }: Claim): void {
  if (TASKS_EXTENSION in extensions) return;
  throw missingCapability("This needs a client with the tasks extension", { extensions: { [TASKS_EXTENSION]: {} } });
}

/** A read-only token may neither answer for a turn nor cancel it. */
function requireCall({ caller }: StatelessRequest): void {
  if (!hasScope(caller, "call")) throw new RpcError(RPC.invalidRequest, new ScopeMissing("call").message);
}

function taskIdOf({ method, params, claim }: StatelessRequest): string {
  requireTasks(claim);
  const { taskId } = params;
  if (typeof taskId !== "string") throw invalidParams(`${method}: \`taskId\` must be a string`);
  return taskId;
}

function inputResponsesOf({ method, params: { inputResponses } }: StatelessRequest): Fields {
  if (isFields(inputResponses)) return inputResponses;
  throw invalidParams(`${method}: \`inputResponses\` must be an object`);
}
