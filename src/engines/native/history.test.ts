import { describe, expect, it } from "vitest";
import type { RawItem } from "../../threads/items.js";
import { History, message } from "./history.js";

const IMAGE: RawItem = {
  type: "message",
  role: "user",
  content: [
    { type: "input_text", text: "what is this?" },
    { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
  ],
};

describe("a conversation as the model sees it", () => {
  it("is empty, then one item, then more, always valid inside brackets", () => {
    const history = new History([]);
    expect(history.inputText).toBe("");
    history.append([message("user", "one")]);
    history.append([]);
    history.append([message("developer", "two"), IMAGE]);
    const items = [message("user", "one"), message("developer", "two"), IMAGE];
    expect([history.inputText, history.items()]).toEqual([items.map((item) => JSON.stringify(item)).join(","), items]);
  });

  it("keeps items as they came, images, escapes and unknown kinds included", () => {
    const items: RawItem[] = [
      IMAGE,
      { type: "function_call_output", call_id: "c", output: [{ type: "input_image", image_url: "data:," }] },
      { type: "hologram", id: "h_1", layers: [null, 1.5, { deep: '\u2028"\\\n👩‍💻' }] },
      { type: "compaction", encrypted_content: "opaque" },
    ];
    expect(new History(items).items()).toEqual(items);
  });

  it.each(["message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"])(
    "leaves out the id of a %s, which names something the provider did not store",
    (type) => {
      const item = { type, id: "x_1", status: "completed", encrypted_content: "opaque" };
      expect(new History([item]).items()).toEqual([{ type, status: "completed", encrypted_content: "opaque" }]);
      expect(item.id).toBe("x_1");
    },
  );

  it("can be replaced as a whole", () => {
    const history = new History([message("user", "long ago")]);
    history.replace([message("user", "summary")]);
    history.append([message("user", "next")]);
    expect(history.items()).toEqual([message("user", "summary"), message("user", "next")]);
  });
});
