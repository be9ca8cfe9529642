import { describe, expect, it } from "vitest";
import { JsonFault, lineAndColumn, placeAt, readPlaces } from "./serdeJson.js";

function faultOf(text: string): string {
  const read = readPlaces(text);
  return read instanceof JsonFault ? `${read.message} at ${lineAndColumn(text, read.offset)}` : "none";
}

describe("readPlaces", () => {
  // The answers of Codex 0.92.0 to these texts.
  it.each([
    ["not json", "expected ident at line 1 column 2"],
    ['{"command":["ls"]', "EOF while parsing an object at line 1 column 17"],
    ['{"command":["ls"],}', "trailing comma at line 1 column 19"],
    ["{command:1}", "key must be a string at line 1 column 2"],
    ['{"command":["ls"]} x', "trailing characters at line 1 column 20"],
    ['{"command":["ls" "x"]}', "expected `,` or `]` at line 1 column 18"],
    ['{"command":["a\\qb"]}', "invalid escape at line 1 column 16"],
    ['{"command":tru}', "expected ident at line 1 column 15"],
    ['{"command" 1}', "expected `:` at line 1 column 12"],
    ['{"command":["a', "EOF while parsing a string at line 1 column 14"],
  ])("complains about %s as serde_json does", (text, complaint) => {
    expect(faultOf(text)).toBe(complaint);
  });

  it.each(["", "[1,]", '["\\u12"]', "[01]", "-", '"\n"', "[".repeat(200)])("finds an error in %j", (text) => {
    expect(faultOf(text)).not.toBe("none");
  });

  it.each(['{"a":{"b":[1,-2.5e3,null,true,"\\u00e9\\n"]}}', " [ ] ", '"x"', "{}"])("finds no error in %s", (text) => {
    expect(faultOf(text)).toBe("none");
  });

  it("finds duplicate keys of an object", () => {
    const read = readPlaces('{"a":1,"b":{"a":2,"a":3}}');
    if (read instanceof JsonFault) throw new Error(read.message);
    expect(read.repeated).toEqual([{ path: ["b", "a"], keyTo: 21 }]);
  });

  it("finds the start and the end of each value", () => {
    const read = readPlaces('{"plan":[{"step":"a"}]}');
    if (read instanceof JsonFault) throw new Error(read.message);
    expect(placeAt(read, ["plan", 0, "step"])).toMatchObject({ from: 17, to: 20, keyTo: 16 });
    expect(placeAt(read, ["plan", 0])).toMatchObject({ from: 9, to: 21, keyTo: 0 });
  });

  it("counts lines, and bytes within one", () => {
    expect(lineAndColumn('{\n "é": 1', 8)).toBe("line 2 column 7");
  });
});
