import { expect, it } from "vitest";
import { slowItems, withOthers } from "../../test/support/threads/slowItems.js";
import type { RawItem } from "./items.js";
import { pairStoredCalls, pairToolCalls } from "./items.js";

const call = (id: string): RawItem => ({ type: "function_call", name: "shell", arguments: "{}", call_id: id });
const output = (id: string, text = "done"): RawItem => ({ type: "function_call_output", call_id: id, output: text });
const patch = (id: string): RawItem => ({ type: "custom_tool_call", name: "apply_patch", input: "", call_id: id });
const patchOutput = (id: string, text = "done"): RawItem => ({ type: "custom_tool_call_output", call_id: id, output: text });
const localShell = (id: string | null): RawItem => ({
  type: "local_shell_call",
  call_id: id,
  status: "completed",
  action: { type: "exec" },
});

it("a history in which every call has its output is not changed", () => {
  const items = [call("1"), call("2"), output("2"), output("1"), patch("3"), patchOutput("3"), localShell("4"), output("4")];
  expect(pairToolCalls(items)).toBe(items);
});

it("calls that were cut off are answered with aborted, each in its own form", () => {
  expect(pairToolCalls([call("1"), call("2"), output("1"), patch("3"), localShell("4")])).toEqual([
    call("1"),
    call("2"),
    output("2", "aborted"),
    output("1"),
    patch("3"),
    patchOutput("3", "aborted"),
    localShell("4"),
    output("4", "aborted"),
  ]);
});

it("outputs without a call of the same kind are dropped", () => {
  expect(pairToolCalls([output("1"), patch("2"), output("2"), patchOutput("2")])).toEqual([patch("2"), patchOutput("2")]);
});

it("a local shell call without a call id cannot be answered and is left alone", () => {
  expect(pairToolCalls([localShell(null), output("9")])).toEqual([localShell(null)]);
});

it("a call that is repeated after its output has one", () => {
  const items = [call("1"), output("1"), call("1")];
  expect(pairToolCalls(items)).toBe(items);
});

it("the calls of a stored history are paired in the same way", async () => {
  const items = [call("1"), call("2"), output("2"), output("3"), patch("4")];
  expect(await pairStoredCalls(items)).toEqual(pairToolCalls(items));
  expect(await pairStoredCalls([])).toEqual([]);
});

it("others are served while a long stored history is paired", async () => {
  const items = [...slowItems(), call("1")];
  const { value, others } = await withOthers(() => pairStoredCalls(items));
  expect([value.length, others]).toEqual([items.length + 1, true]);
});
