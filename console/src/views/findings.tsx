import { useQuery } from "@tanstack/react-query";
import { useContext, useId, useState } from "react";
import type { z } from "zod";
import type { FindingForm as Finding } from "../../../src/api/schemas/common.js";
import type { FileLines } from "../../../src/api/schemas/threads.js";
import { request } from "../api/requests.js";
import { pathFrom } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { JumpContext } from "./jump.js";
import { Markdown } from "./markdown.js";
import { Trouble } from "./trouble.js";

interface FindingsProps {
  readonly findings: readonly z.infer<typeof Finding>[];
  readonly threadId: string;
  readonly folder: string | null;
}

/**
 * The findings of a review. The location of a finding leads to its line in a diff on this page; without such a diff, the file's lines are
 * shown below the finding.
 */
export function Findings({ findings, threadId, folder }: FindingsProps) {
  return (
    <ol className="findings">
      {findings.map((finding) => (
        <li key={`${finding.file}:${finding.lines?.first}:${finding.title}`}>
          <p>
            {finding.priority !== null && <span className={finding.priority <= 1 ? "sign-bad" : "sign"}>P{finding.priority}</span>}{" "}
            <strong>{visibleLine(finding.title)}</strong>
          </p>
          <Place file={finding.file} lines={finding.lines} threadId={threadId} folder={folder} />
          <Markdown text={finding.body} />
        </li>
      ))}
    </ol>
  );
}

interface PlaceProps extends Pick<FindingsProps, "threadId" | "folder"> {
  readonly file: string;
  readonly lines: { readonly first: number; readonly last: number } | null;
}

function Place({ file, lines, threadId, folder }: PlaceProps) {
  const jump = useContext(JumpContext);
  const [isOpen, setOpen] = useState(false);
  const panel = useId();
  const named = lines === null ? "" : lines.last === lines.first ? `:${lines.first}` : `:${lines.first}-${lines.last}`;
  const go = () => {
    if (isOpen) setOpen(false);
    else if (lines === null || !jump(file, lines.first)) setOpen(true);
  };
  return (
    <>
      <p>
        <button
          type="button"
          className="link path"
          title={file}
          onClick={go}
          aria-expanded={isOpen}
          {...(isOpen && { "aria-controls": panel })}
        >
          {visibleLine(pathFrom(folder, file))}
          {named}
        </button>
      </p>
      {isOpen && <Excerpt id={panel} file={file} lines={lines} threadId={threadId} onClose={() => setOpen(false)} />}
    </>
  );
}

interface ExcerptProps extends Pick<PlaceProps, "file" | "lines" | "threadId"> {
  readonly id: string;
  readonly onClose: () => void;
}

/** The lines of the file in its current state. */
function Excerpt({ id, file, lines, threadId, onClose }: ExcerptProps) {
  const [first, last] = lines === null ? [1, 1] : [lines.first, lines.last];
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["file", threadId, file, first, last],
    queryFn: ({ signal }) =>
      request<z.infer<typeof FileLines>>(`threads/${encodeURIComponent(threadId)}/file`, { query: { path: file, first, last }, signal }),
  });
  const isMarked = (number: number) => lines !== null && number >= first && number <= last;
  return (
    <section className="excerpt" id={id} aria-label={`Lines of ${visibleLine(file)}`}>
      <header>
        <span className="path">{visibleLine(data?.path ?? file)}</span>
        <span className="quiet">{data && whereOf(data)}</span>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </header>
      {isPending && <p className="quiet">Reading…</p>}
      <Trouble error={error} onRetry={() => void refetch()} />
      {data && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
        // biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark
        <div className="diff" ref={toMarked} tabIndex={0} role="group" aria-label={`Text of ${visibleLine(file)}`}>
          <table>
            <tbody>
              {data.lines.map((text, index) => {
                const number = data.firstLine + index;
                return (
                  <tr key={number} {...(isMarked(number) && { className: "line-marked", "aria-current": "location" as const })}>
                    <td className="number">{number}</td>
                    <td className="code">{visibleText(text)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Brings the box into view, and the marked lines to its middle. */
function toMarked(box: HTMLDivElement | null): void {
  const rows = box?.querySelectorAll<HTMLElement>(".line-marked");
  const [first, last] = [rows?.[0], rows?.[rows.length - 1]];
  box?.parentElement?.scrollIntoView({ block: "nearest" });
  if (box && first && last) box.scrollTop = (first.offsetTop + last.offsetTop + last.offsetHeight - box.clientHeight) / 2;
}

function whereOf({ firstLine, lines, totalLines, truncated }: z.infer<typeof FileLines>): string {
  const of = totalLines === null ? "" : ` of ${totalLines}`;
  return `lines ${firstLine}–${firstLine + lines.length - 1}${of}, as the file is now${truncated ? "; cut" : ""}`;
}
