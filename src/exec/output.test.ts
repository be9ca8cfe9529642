import { describe, expect, it } from "vitest";
import { aggregate, HeadAndTail } from "./output.js";

function keep(limitBytes: number, ...chunks: readonly (string | Buffer)[]): { text: string; omitted: number } {
  const kept = new HeadAndTail(limitBytes);
  for (const chunk of chunks) kept.push(Buffer.from(chunk));
  return { text: kept.bytes().toString(), omitted: kept.omittedBytes };
}

describe("the beginning and the end of output", () => {
  it("are all of it when it fits", () => {
    expect(keep(10, "01234", "56789")).toEqual({ text: "0123456789", omitted: 0 });
  });

  it("are half of what may be kept each", () => {
    expect(keep(10, "0123456789abcdefghij")).toEqual({ text: "01234fghij", omitted: 10 });
  });

  it("are the same whatever the pieces it came in", () => {
    const text = Array.from({ length: 1000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join("");
    for (const size of [1, 2, 3, 7, 50, 99, 100, 101, 1000]) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
      expect(keep(100, ...chunks)).toEqual({ text: text.slice(0, 50) + text.slice(-50), omitted: 900 });
    }
  });

  it("hold no half characters where something is missing between them", () => {
    expect(keep(8, "a€€€€€b")).toEqual({ text: "a€€b", omitted: 9 });
    expect(keep(6, "€é𝄞é€")).toEqual({ text: "€€", omitted: 8 });
  });

  it("hold bytes that are no text as they came", () => {
    expect(keep(4, Buffer.from([0xff, 0xfe, 0x80, 0x80])).text).toBe("\ufffd\ufffd\ufffd\ufffd");
  });
});

describe("both streams together", () => {
  const together = (out: number, err: number, limit: number) => {
    const text = aggregate(Buffer.alloc(out, "o"), Buffer.alloc(err, "e"), limit).toString();
    return [text.lastIndexOf("o") + 1, text.length];
  };

  it("come one after the other when they fit", () => {
    expect(aggregate(Buffer.from("out"), Buffer.from("err"), 6).toString()).toBe("outerr");
  });

  it("share what there is: a third for stdout, two for stderr", () => {
    expect(together(900, 900, 300)).toEqual([100, 300]);
  });

  it("may use what the other one leaves", () => {
    expect([together(900, 20, 300), together(50, 900, 300)]).toEqual([
      [280, 300],
      [50, 300],
    ]);
  });
});
