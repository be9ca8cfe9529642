import { expect, it } from "vitest";
import type { Principal } from "../../agent/caller.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { deferred } from "../../lib/promises.js";
import type { StatelessRequest } from "./request.js";
import { META, readClaim } from "./request.js";
import { Subscriptions } from "./subscriptions.js";

const ALL = { filter: {}, topics: ["a", "b"], first: [] };

/** A client that reads when the test says so. */
function reader(id: number) {
  const heard: string[] = [];
  const abort = new AbortController();
  let congestion: Promise<void> | undefined;
  const meta = { [META.protocolVersion]: "2026-07-28", [META.clientCapabilities]: {} };
  const request: StatelessRequest = {
    id,
    method: "subscriptions/listen",
    params: {},
    claim: readClaim({ _meta: meta }),
    signal: abort.signal,
    caller: undefined,
    peer: {
      notify: (method, params) => heard.push(`${method} ${JSON.stringify(params)}`),
      notifyText: () => {},
      congested: () => congestion,
    },
  };
  const stopReading = () => {
    const relieved = deferred<void>();
    congestion = relieved.promise;
    return () => {
      congestion = undefined;
      relieved.resolve();
    };
  };
  return { heard, request, abort, stopReading };
}

const news = (topic: string, state: number) => ({ topic, method: "changed", params: { topic, state } });
const told = (topic: string, state: number) => `changed {"topic":"${topic}","state":${state},"_meta":{"${META.subscriptionId}":1}}`;

it("a slow reader gets one notification for each topic, with the latest state", async () => {
  const subscriptions = new Subscriptions();
  const { heard, request, stopReading } = reader(1);
  using subscription = subscriptions.open(request, ["a", "b"]);
  const running = subscription.run(ALL);
  const readAgain = stopReading();
  for (let state = 0; state < 1_000; state++) subscriptions.tell(news("a", state));
  subscriptions.tell(news("b", 7));
  subscriptions.tell(news("c", 8));
  readAgain();
  subscriptions.close();
  expect(await running).toEqual({ _meta: { [META.subscriptionId]: 1 } });
  expect(heard.slice(1)).toEqual([told("a", 999), told("b", 7)]);
});

it("a notification before the acknowledgement is sent after it, and replaces older ones", async () => {
  const subscriptions = new Subscriptions();
  const { heard, request } = reader(1);
  using subscription = subscriptions.open(request, ["a", "b", "not mine"]);
  subscriptions.tell(news("a", 2));
  subscriptions.tell(news("not mine", 2));
  subscriptions.close();
  await subscription.run({ ...ALL, first: [news("a", 1), news("b", 1)] });
  expect(heard).toEqual([expect.stringContaining("notifications/subscriptions/acknowledged"), told("a", 2), told("b", 1)]);
});

it("a cancelled request gets nothing more, and is forgotten", async () => {
  const subscriptions = new Subscriptions();
  const { heard, request, abort } = reader(1);
  {
    using subscription = subscriptions.open(request, ["a"]);
    const running = subscription.run(ALL);
    abort.abort();
    subscriptions.tell(news("a", 1));
    await running;
  }
  subscriptions.tell(news("a", 2));
  expect(heard).toHaveLength(1);
});

it("the number of subscriptions is limited", () => {
  const subscriptions = new Subscriptions();
  for (let at = 0; at < 1_024; at++) subscriptions.open(reader(at).request, []);
  expect(() => subscriptions.open(reader(0).request, [])).toThrow("1024 subscriptions are open already");
});

it("a principal that arrives when another one has used its whole share is served at once", () => {
  const subscriptions = new Subscriptions();
  const of = (principal: string) => ({ ...reader(0).request, caller: { principal: principal as Principal, scopes: [] } });
  const openAll = () => {
    for (let count = 0; ; count++)
      try {
        subscriptions.open(of("ada"), []);
      } catch (error) {
        return { count, error };
      }
  };
  expect(openAll()).toEqual({ count: 1_024, error: expect.any(RpcError) });
  const first = subscriptions.open(of("bob"), []);
  first[Symbol.dispose]();
  subscriptions.open(of("bob"), []);
  expect(() => subscriptions.open(of("ada"), [])).toThrow("subscriptions are open already");
});
