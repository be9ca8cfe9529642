import { createContext, useContext, useState } from "react";
import type { TimelineItem as Item } from "../../../src/api/schemas/items.js";
import { count, duration, plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { FileChange } from "./diff.js";
import { Markdown } from "./markdown.js";
import { Terminal } from "./terminal.js";

type Of<Type extends Item["type"]> = Extract<Item, { type: Type }>;

/** The ids of the items that wait for an answer. */
export const AskedItems = createContext<ReadonlySet<string>>(new Set());

/** A message of the user. Only the beginning of a long text, such as a pasted log, is shown at first. */
export function Said({ text, images = 0 }: { readonly text: string; readonly images?: number }) {
  const [isWhole, setWhole] = useState(false);
  const beginning = text.split("\n", MOST_LINES).join("\n").slice(0, MOST_CHARACTERS);
  const isLong = text.length - beginning.length > SMALL_REST;
  return (
    <>
      <div className="said">{visibleText(isLong && !isWhole ? `${beginning}…` : text)}</div>
      {images > 0 && <p className="quiet">with {plural(images, "image")}</p>}
      {isLong && (
        <button type="button" className="link" onClick={() => setWhole(!isWhole)} aria-expanded={isWhole}>
          {isWhole ? "Show less" : `Show all ${count(text.length)} characters`}
        </button>
      )}
    </>
  );
}

const MOST_LINES = 20;
const MOST_CHARACTERS = 2_000;
const SMALL_REST = 200;

export function Reasoning({ item: { summary, content, status } }: { readonly item: Of<"reasoning"> }) {
  const texts = [...summary, ...content].filter((text) => text !== "");
  const first = texts[0]?.split("\n")[0]?.replaceAll("*", "") ?? "";
  if (texts.length === 0) return <p className="quiet">{status === "running" ? "Thinking…" : "Thought about it"}</p>;
  return (
    <details className="act">
      <summary>
        <span>{status === "running" ? "Thinking" : "Thought"}</span>
        <span className="gist">{visibleLine(first).slice(0, LONGEST_GIST)}</span>
      </summary>
      <div className="act-content">
        <Markdown text={texts.join("\n\n")} />
      </div>
    </details>
  );
}

const LONGEST_GIST = 200;

export function Command({ item }: { readonly item: Of<"command"> }) {
  const { commandText, cwd, exitCode, output, durationMs, status } = item;
  const lines = output === "" ? 0 : output.trimEnd().split("\n").length;
  const isAsked = useContext(AskedItems).has(item.id);
  const result =
    status === "running"
      ? isAsked
        ? "waits for an answer"
        : "running"
      : status === "declined"
        ? "not run"
        : exitCode === null
          ? "ended"
          : `exit ${exitCode}`;
  return (
    <details className="act" open={status === "running" || status === "failed" || lines <= FEW_LINES}>
      <summary title={cwd ?? ""}>
        <span className="prompt-sign" aria-hidden="true">
          $
        </span>
        <code className="command-line">{visibleText(commandText)}</code>
        <span className={stateClass(status)}>{result}</span>
        {durationMs !== null && <span className="quiet">{duration(durationMs)}</span>}
        {lines > 0 && <span className="quiet">{plural(lines, "line")}</span>}
      </summary>
      {output !== "" && <Terminal output={output} label="Output" isEndShown={status !== "completed"} />}
    </details>
  );
}

/** The class that colours a status. Success has no colour. */
function stateClass(status: Item["status"]): string {
  return status === "completed" ? "quiet" : status === "running" ? "busy" : "bad";
}

const FEW_LINES = 12;

export function Patch({ item: { id, changes, status }, folder }: { readonly item: Of<"patch">; readonly folder: string | null }) {
  const isAsked = useContext(AskedItems).has(id);
  const words = {
    running: isAsked ? "Wants to change" : "Changing",
    completed: "Changed",
    failed: "Could not change",
    declined: "Was not allowed to change",
  } as const;
  return (
    <>
      <p className={stateClass(status)}>
        {words[status]} {plural(changes.length, "file")}
      </p>
      {changes.map((change) => (
        <FileChange
          key={change.path}
          change={change}
          // The open question already shows it.
          isOpen={!isAsked && changes.length <= FEW_FILES && change.added + change.removed <= FEW_CHANGED_LINES}
          folder={folder}
        />
      ))}
    </>
  );
}

const FEW_FILES = 3;
const FEW_CHANGED_LINES = 120;

export function ToolCall({ item }: { readonly item: Of<"toolCall"> }) {
  const { server, tool, arguments: given, result, error, durationMs, status } = item;
  return (
    <details className="act">
      <summary>
        <code className="command-line">{visibleLine(server === null ? tool : `${server}: ${tool}`)}</code>
        <span className={stateClass(status)}>{status}</span>
        {durationMs !== null && <span className="quiet">{duration(durationMs)}</span>}
      </summary>
      <Terminal output={JSON.stringify(given, null, 2) ?? ""} label="Arguments" />
      {(error ?? result) !== null && <Terminal output={error ?? result ?? ""} label={error === null ? "Result" : "Error"} />}
    </details>
  );
}

export function SubAgent({ item: { name, task, result, tokens, status } }: { readonly item: Of<"subAgent"> }) {
  return (
    <details className="act" open={status !== "completed"}>
      <summary>
        <span>Agent</span>
        {name !== "" && <code>{visibleLine(name)}</code>}
        <span className={stateClass(status)}>{status}</span>
        {tokens !== null && tokens > 0 && <span className="quiet">{count(tokens)} tokens</span>}
        {task !== null && <span className="quiet gist">{visibleLine(task).slice(0, LONGEST_GIST)}</span>}
      </summary>
      <div className="act-content">
        {task !== null && <Said text={task} />}
        {result !== null && <Markdown text={result} />}
      </div>
    </details>
  );
}
