import { useQuery } from "@tanstack/react-query";
import { memo, type ReactNode, useState } from "react";
import type { PlanSteps } from "../../../src/api/schemas/common.js";
import type { TimelineItem as Item } from "../../../src/api/schemas/items.js";
import { request } from "../api/requests.js";
import { clock, count, duration, money, plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { FileChange } from "./diff.js";
import { Findings } from "./findings.js";
import { Markdown } from "./markdown.js";
import { Terminal } from "./terminal.js";
import { Trouble } from "./trouble.js";

type Of<Type extends Item["type"]> = Extract<Item, { type: Type }>;

interface ItemViewProps {
  readonly item: Item;
  readonly threadId: string;
  /** The thread's folder; null while it is not known. */
  readonly folder: string | null;
}

const NAMES: Readonly<Record<Item["type"], string>> = {
  userMessage: "You",
  agentMessage: "Agent",
  reasoning: "Thinking",
  command: "Command",
  patch: "Changes",
  toolCall: "Tool",
  subAgent: "Sub-agent",
  webSearch: "Web search",
  image: "Image",
  plan: "Plan",
  review: "Review",
  compaction: "Summary",
  notice: "Notice",
  turnSummary: "End of the turn",
};

/** One item of a thread. */
export const ItemView = memo(function ItemView({ item: given, threadId, folder }: ItemViewProps) {
  const [isWhole, setWhole] = useState(false);
  const whole = useQuery({
    queryKey: ["item", threadId, given.id],
    enabled: isWhole,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => request<Item>(`threads/${encodeURIComponent(threadId)}/items/${encodeURIComponent(given.id)}`, { signal }),
  });
  const item = whole.data ?? given;
  return (
    <article className={`item item-${item.type} is-${item.status}`} aria-label={NAMES[item.type]} data-item={item.id}>
      {item.at !== null && item.type !== "turnSummary" && (
        <time dateTime={item.at} className="item-time">
          {clock(item.at)}
        </time>
      )}
      {bodyOf(item, { threadId, folder })}
      {given.truncated && !whole.data && (
        <button type="button" onClick={() => setWhole(true)} disabled={whole.isFetching}>
          Truncated: show everything
        </button>
      )}
      <Trouble error={whole.error} />
    </article>
  );
});

function bodyOf(item: Item, { threadId, folder }: Omit<ItemViewProps, "item">): ReactNode {
  switch (item.type) {
    case "userMessage":
      return <div className="said">{visibleText(item.text)}</div>;
    case "agentMessage":
      return <Markdown text={item.text} />;
    case "reasoning":
      return <Reasoning item={item} />;
    case "command":
      return <Command item={item} />;
    case "patch":
      return <Patch item={item} folder={folder} />;
    case "toolCall":
      return <ToolCall item={item} />;
    case "subAgent":
      return <SubAgent item={item} />;
    case "webSearch":
      return <p>Searched the web: {visibleLine(item.query)}</p>;
    case "image":
      return (
        <p>
          Looked at <span className="path">{visibleLine(item.path)}</span>
        </p>
      );
    case "plan":
      return <Plan plan={item.plan} />;
    case "review":
      return <Review item={item} threadId={threadId} folder={folder} />;
    case "compaction":
      return <p className="quiet">The history was summarised. {visibleText(item.message)}</p>;
    case "notice":
      return <p className={`notice-${item.level}`}>{visibleText(item.text)}</p>;
    case "turnSummary":
      return <TurnSummary item={item} />;
  }
}

function Reasoning({ item: { summary, content, status } }: { readonly item: Of<"reasoning"> }) {
  const texts = [...summary, ...content].filter((text) => text !== "");
  const first = texts[0]?.split("\n")[0]?.replaceAll("*", "") ?? "";
  if (texts.length === 0) return <p className="quiet">{status === "running" ? "Thinking…" : "Thought about it"}</p>;
  return (
    <details>
      <summary>
        {status === "running" ? "Thinking" : "Thought"}: <span className="quiet gist">{visibleLine(first).slice(0, 120)}</span>
      </summary>
      <Markdown text={texts.join("\n\n")} />
    </details>
  );
}

function Command({ item }: { readonly item: Of<"command"> }) {
  const { commandText, cwd, exitCode, output, durationMs, status } = item;
  const lines = output === "" ? 0 : output.trimEnd().split("\n").length;
  const result = status === "running" ? "running" : status === "declined" ? "not run" : exitCode === null ? "ended" : `exit ${exitCode}`;
  return (
    <details open={status === "running" || status === "failed" || lines <= FEW_LINES}>
      <summary title={cwd ?? ""}>
        <code className="command-line">{visibleText(commandText)}</code>
        <span className={status === "completed" ? "good" : status === "running" ? "busy" : "bad"}>{result}</span>
        {durationMs !== null && <span className="quiet">{duration(durationMs)}</span>}
        {lines > 0 && <span className="quiet">{plural(lines, "line")}</span>}
      </summary>
      {output !== "" && <Terminal output={output} label="Output" />}
    </details>
  );
}

const FEW_LINES = 12;

function Patch({ item: { changes, status }, folder }: { readonly item: Of<"patch">; readonly folder: string | null }) {
  const words = { running: "Changing", completed: "Changed", failed: "Could not change", declined: "Was not allowed to change" } as const;
  return (
    <>
      <p className={status === "failed" || status === "declined" ? "bad" : "quiet"}>
        {words[status]} {plural(changes.length, "file")}
      </p>
      {changes.map((change) => (
        <FileChange key={change.path} change={change} isOpen={changes.length <= 3} folder={folder} />
      ))}
    </>
  );
}

function ToolCall({ item }: { readonly item: Of<"toolCall"> }) {
  const { server, tool, arguments: given, result, error, durationMs, status } = item;
  return (
    <details>
      <summary>
        <code>{visibleLine(server === null ? tool : `${server}: ${tool}`)}</code>
        <span className={status === "completed" ? "good" : status === "running" ? "busy" : "bad"}>{status}</span>
        {durationMs !== null && <span className="quiet">{duration(durationMs)}</span>}
      </summary>
      <Terminal output={JSON.stringify(given, null, 2) ?? ""} label="Arguments" />
      {(error ?? result) !== null && <Terminal output={error ?? result ?? ""} label={error === null ? "Result" : "Error"} />}
    </details>
  );
}

function SubAgent({ item: { name, task, result, tokens, status } }: { readonly item: Of<"subAgent"> }) {
  return (
    <details open={status !== "completed"}>
      <summary>
        Agent {name !== "" && <code>{visibleLine(name)}</code>}
        <span className={status === "completed" ? "good" : status === "running" ? "busy" : "bad"}>{status}</span>
        {tokens !== null && tokens > 0 && <span className="quiet">{count(tokens)} tokens</span>}
        {task !== null && <span className="quiet gist">{visibleLine(task).slice(0, 120)}</span>}
      </summary>
      {task !== null && <div className="said">{visibleText(task)}</div>}
      {result !== null && <Markdown text={result} />}
    </details>
  );
}

const MARKS = { pending: "○", in_progress: "◐", completed: "●" } as const;
const STEP_STATES = { pending: "to do", in_progress: "in progress", completed: "done" } as const;

export function Plan({ plan: { explanation, steps } }: { readonly plan: PlanSteps }) {
  return (
    <div className="plan">
      {explanation !== null && <p>{visibleText(explanation)}</p>}
      <ol>
        {steps.map(({ step, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no names, and two may read the same
          <li key={index} className={`step-${status}`}>
            <span aria-hidden="true">{MARKS[status]}</span> {visibleLine(step)}{" "}
            <span className="visually-hidden">({STEP_STATES[status]})</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

interface ReviewProps extends Omit<ItemViewProps, "item"> {
  readonly item: Of<"review">;
}

function Review({ item: { hint, text, findings, status }, ...place }: ReviewProps) {
  return (
    <>
      <p>
        <strong>Review of {visibleLine(hint) || "the changes"}</strong> {status === "running" && <span className="busy">running</span>}
      </p>
      {findings.length > 0 ? <Findings findings={findings} {...place} /> : text !== null && <Markdown text={text} />}
    </>
  );
}

function TurnSummary({ item: { outcome, message, usage, costUsd, ms } }: { readonly item: Of<"turnSummary"> }) {
  const facts = [
    ms === null ? undefined : duration(ms),
    usage === null ? undefined : `${count(usage.input)} tokens in (${count(usage.cachedInput)} cached), ${count(usage.output)} out`,
    costUsd === null ? undefined : money(costUsd),
  ];
  return (
    <p className="turn-end">
      <span className={outcome === "completed" ? "good" : outcome === "failed" ? "bad" : "warn"}>{outcome}</span>
      {facts.map((fact) => fact && <span key={fact}>{fact}</span>)}
      {message !== null && <span className="bad">{visibleText(message)}</span>}
    </p>
  );
}
