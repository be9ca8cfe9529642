import { createParser } from "eventsource-parser";
import { describe, expect, it } from "vitest";
import { EventStreamReader } from "./eventStream.js";

function dataOf(pieces: readonly string[]): string[] {
  const data: string[] = [];
  const reader = new EventStreamReader((one) => data.push(one));
  for (const piece of pieces) reader.feed(piece);
  return data;
}

function dataByLibrary(text: string): string[] {
  const data: string[] = [];
  createParser({ onEvent: (event) => data.push(event.data) }).feed(text);
  return data;
}

/** Cuts the text into pieces of up to `most` characters, the same for the same seed. */
function cut(text: string, most: number, seed: number): string[] {
  const pieces: string[] = [];
  let state = seed;
  for (let at = 0; at < text.length; ) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const length = 1 + (state % most);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

describe("the data of a stream's events", () => {
  it.each([
    ["one event", "data: one\n\n", ["one"]],
    ["with its name and its id", "event: name\nid: 1\nretry: 5\ndata: one\n\ndata: two\n\n", ["one", "two"]],
    ["no space behind the colon", "data:one\n\ndata:  two\n\n", ["one", " two"]],
    ["several lines", "data: one\ndata: two\ndata:\ndata\n\n", ["one\ntwo\n\n"]],
    ["empty data", "data\n\ndata:\n\n", ["", ""]],
    ["comments and unknown fields", ": comment\nother: x\ndatas: y\ndat\n\ndata: one\n\n", ["one"]],
    ["empty lines", "\n\n\ndata: one\n\n\n\n", ["one"]],
    ["carriage returns", "data: one\r\n\r\ndata: two\r\rdata: three\n\r\n", ["one", "two", "three"]],
    ["a mark at the beginning", "\uFEFFdata: one\n\ndata: \uFEFFtwo\n\n", ["one", "\uFEFFtwo"]],
    ["an unfinished event", "data: one\n\ndata: two\n", ["one"]],
    ["an unfinished line", "data: one\n\ndata: tw", ["one"]],
  ])("%s, in one piece or in many", (_, text, data) => {
    expect(dataOf([text])).toEqual(data);
    expect(dataOf([...text])).toEqual(data);
  });

  it("is what eventsource-parser finds, wherever the pieces end", () => {
    const lines = ["data: {}", "data:x", "data", "event: a", ": c", "id: 7", "", "", "data: ä€😀", "other"];
    for (let seed = 1; seed < 200; seed++) {
      let state = seed;
      const next = (below: number) => {
        state = (state * 48_271) % 2_147_483_647;
        return state % below;
      };
      const ends = seed % 2 === 0 ? ["\n"] : ["\n", "\r\n"];
      const text = Array.from({ length: 60 }, () => `${lines[next(lines.length)]}${ends[next(ends.length)]}`).join("");
      expect(dataOf(cut(text, 7, seed)), text).toEqual(dataByLibrary(text));
    }
  });

  it("comes in time when a line of many megabytes arrives in small pieces", () => {
    const piece = "x".repeat(1_000);
    const data: string[] = [];
    const reader = new EventStreamReader((one) => data.push(one));
    reader.feed("data: ");
    for (let count = 0; count < 20_000; count++) reader.feed(piece);
    reader.feed("\n\n");
    expect(data.map(({ length }) => length)).toEqual([20_000_000]);
  });
});
