import { describe, expect, it } from "vitest";
import { ReplayBuffer, type SentMessage } from "./replayBuffer.js";

/** With its overhead, each message weighs 1,000. */
const TEXT = "x".repeat(850);
/** The eleventh message makes the buffer drop messages until half of the limit is free. */
const LIMITS = { total: 10_000, answered: 2_000 };
const ALL_SENT = 1_000;

type Kind = Partial<Omit<SentMessage, "seq" | "text">>;

const STATE: Kind = {};
const WHOLE: Kind = { whole: "finished" };
const FINISHED_DELTA: Kind = { deltaOf: "finished" };
const UNFINISHED_DELTA: Kind = { deltaOf: "unfinished" };
const OF_REQUEST: Kind = { request: 1 };
const RESPONSE: Kind = { request: 1, answer: true };
const PASSING: Kind = { route: undefined, carried: false, passing: true };
const UNSENT: Kind = { request: 1, route: undefined, carried: false };

class Scene {
  readonly buffer = new ReplayBuffer(LIMITS);
  #dropped = 0;

  /** `delivered` is the last number that every stream has sent. */
  add(count: number, kind: Kind, { delivered = ALL_SENT } = {}): this {
    for (let at = 0; at < count; at++) {
      const sent = {
        keptAt: 0,
        route: "a",
        carried: true,
        request: undefined,
        answer: false,
        deltaOf: undefined,
        whole: undefined,
        passing: false,
      };
      this.#dropped += this.buffer.add({ ...sent, ...kind, seq: this.buffer.nextSeq(), text: TEXT }, delivered);
    }
    return this;
  }

  /** The numbers of the messages that are left, and how many were dropped before every stream had sent them. */
  get result(): { readonly left: readonly number[]; readonly dropped: number } {
    expect(this.buffer.weight).toBe(this.left.length * 1_000);
    return { left: this.left, dropped: this.#dropped };
  }

  get left(): number[] {
    return [...this.buffer.after(0)].map(({ seq }) => seq);
  }
}

it("numbers messages, and returns those after a number, even when earlier ones are gone", () => {
  const { buffer } = new Scene().add(3, STATE);
  buffer.forgetBefore(1);
  expect([buffer.lastSeq, [...buffer.after(0)]]).toEqual([3, []]);
  const { buffer: full } = new Scene().add(6, FINISHED_DELTA).add(5, WHOLE);
  expect([...full.after(8)].map(({ seq }) => seq)).toEqual([9, 10, 11]);
});

describe("above its limit the buffer drops", () => {
  it("first the deltas of finished texts, and nothing else if that is enough", () => {
    const scene = new Scene().add(1, RESPONSE).add(2, UNFINISHED_DELTA).add(1, OF_REQUEST).add(6, FINISHED_DELTA).add(1, WHOLE);
    expect(scene.result).toEqual({ left: [1, 2, 3, 4, 11], dropped: 0 });
  });

  it("then the sent messages of completed requests", () => {
    const scene = new Scene().add(5, OF_REQUEST).add(1, RESPONSE).add(3, UNFINISHED_DELTA).add(2, STATE);
    expect(scene.result).toEqual({ left: [7, 8, 9, 10, 11], dropped: 0 });
  });

  it("then the deltas of unfinished texts, and counts those that a stream has not sent", () => {
    const scene = new Scene().add(2, UNSENT).add(1, RESPONSE, { delivered: 0 }).add(6, UNFINISHED_DELTA);
    expect(scene.add(2, STATE, { delivered: 5 }).result).toEqual({ left: [1, 2, 10, 11], dropped: 4 });
  });

  it("last the messages of completed requests that no stream took, and counts them", () => {
    const scene = new Scene().add(6, UNSENT);
    scene.buffer.finish(1);
    expect(scene.add(5, STATE).result).toEqual({ left: [7, 8, 9, 10, 11], dropped: 6 });
  });

  it("at the very end the oldest of those that clients can do without, and counts those that no stream took", () => {
    const scene = new Scene()
      .add(2, { ...PASSING, carried: true })
      .add(1, STATE)
      .add(6, PASSING);
    expect(scene.add(2, STATE).result).toEqual({ left: [3, 8, 9, 10, 11], dropped: 4 });
  });

  it("nothing that a stream still has to send", () => {
    expect(new Scene().add(11, PASSING, { delivered: 0 }).result.left).toHaveLength(11);
  });

  it("no state, and nothing of an open request", () => {
    expect(new Scene().add(6, STATE).add(6, OF_REQUEST).result.left).toHaveLength(12);
  });

  it("nothing more until it has twice the size of what it could not drop", () => {
    const scene = new Scene().add(11, OF_REQUEST);
    scene.buffer.finish(1);
    expect(scene.add(11, STATE).result.left).toHaveLength(22);
    expect(scene.add(1, STATE).result.left).toHaveLength(12);
  });
});

describe("after the response to a request", () => {
  it("a part of its sent messages is kept, without deltas first", () => {
    const scene = new Scene()
      .add(1, OF_REQUEST)
      .add(3, { ...OF_REQUEST, deltaOf: "text" })
      .add(1, RESPONSE);
    scene.buffer.settle(ALL_SENT);
    expect(scene.left).toEqual([1, 5]);
  });

  it("the oldest go if deltas are not enough", () => {
    const scene = new Scene()
      .add(3, OF_REQUEST)
      .add(1, { ...OF_REQUEST, deltaOf: "text" })
      .add(1, RESPONSE);
    scene.buffer.settle(ALL_SENT);
    expect(scene.left).toEqual([3, 5]);
  });

  it("messages that no stream took, or that a stream still has to send, are kept", () => {
    const scene = new Scene().add(3, UNSENT).add(3, OF_REQUEST).add(1, RESPONSE);
    scene.buffer.settle(3);
    expect(scene.left).toHaveLength(7);
  });

  it("a new request with the same id is open again", () => {
    const scene = new Scene().add(4, OF_REQUEST).add(1, RESPONSE);
    scene.buffer.begin(1);
    scene.buffer.settle(ALL_SENT);
    scene.buffer.forgetBefore(1);
    expect(scene.left).toHaveLength(5);
  });
});

it("forgets old messages, except of open requests and those that no stream took", () => {
  const sent = { route: undefined, carried: true };
  const scene = new Scene()
    .add(1, sent)
    .add(1, { route: undefined, carried: false })
    .add(1, OF_REQUEST)
    .add(1, { request: 2, answer: true });
  scene.add(1, { keptAt: 5 });
  scene.buffer.forgetBefore(5);
  expect(scene.left).toEqual([2, 3, 5]);
});
