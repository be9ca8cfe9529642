import { invalidParams } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { TASKS_EXTENSION } from "./claim.js";
import type { StatelessMethod } from "./request.js";
import type { News, Subscriptions } from "./subscriptions.js";
import type { TaskBoard } from "./tasks/taskBoard.js";

/** The lists that a client can ask to be told about. */
export type ListFilter = "toolsListChanged" | "promptsListChanged" | "resourcesListChanged";

/** Tasks that one stream may be about. */
const MAX_TASKS = 1_024;

export interface ListenParts {
  readonly subscriptions: Subscriptions;
  /** The lists of this server. */
  readonly lists: readonly ListFilter[];
  readonly tasks: TaskBoard;
}

/** `subscriptions/listen`: what a client wants to hear of, and of that what this server will tell it. */
export function listen({ subscriptions, lists, tasks }: ListenParts): StatelessMethod {
  return async (request) => {
    const { notifications: wanted } = request.params;
    if (!isFields(wanted)) throw invalidParams("subscriptions/listen: `notifications` must be an object");
    const wantedLists = lists.filter((list) => wanted[list] === true);
    const ids = TASKS_EXTENSION in request.claim.extensions ? taskIdsIn(wanted) : [];
    // Before anything is looked up, so that nothing is missed between how a task is now and what comes.
    using subscription = subscriptions.open(request, [...wantedLists, ...ids.map(taskTopic)]);
    const own = await ownTasks(ids, { board: tasks, principal: request.caller?.principal });
    return await subscription.run({
      filter: {
        ...Object.fromEntries(wantedLists.map((list) => [list, true])),
        ...(own.length > 0 ? { taskIds: own.map(({ id }) => id) } : {}),
      },
      topics: [...wantedLists, ...own.map(({ id }) => taskTopic(id))],
      first: own.map(({ id, form }) => taskNews(id, form)),
    });
  };
}

export function taskNews(id: string, form: Fields): News {
  return { topic: taskTopic(id), method: "notifications/tasks", params: form };
}

function taskTopic(id: string): string {
  return `task ${id}`;
}

function taskIdsIn({ taskIds = [] }: Fields): readonly string[] {
  if (Array.isArray(taskIds) && taskIds.length <= MAX_TASKS && taskIds.every((id) => typeof id === "string"))
    return [...new Set<string>(taskIds)];
  throw invalidParams(`subscriptions/listen: \`taskIds\` must be a list of at most ${MAX_TASKS} strings`);
}

/** Those of the caller. One that it has not is left out, as one that nobody has. */
async function ownTasks(
  ids: readonly string[],
  { board, principal }: { readonly board: TaskBoard; readonly principal: string | undefined },
): Promise<{ readonly id: string; readonly form: Fields }[]> {
  const forms = await Promise.allSettled(ids.map(async (id) => ({ id, form: await board.form(id, principal) })));
  return forms.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}
