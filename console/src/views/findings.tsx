import { useState } from "react";
import type { z } from "zod";
import type { FindingForm as Finding } from "../../../src/api/schemas/common.js";
import { visibleLine } from "../lib/visibleText.js";
import { Markdown } from "./markdown.js";

/** What a review found. The place of each leads to its line in a diff on this page; where there is none it is copied. */
export function Findings({ findings }: { readonly findings: readonly z.infer<typeof Finding>[] }) {
  return (
    <ol className="findings">
      {findings.map((finding) => (
        <li key={`${finding.file}:${finding.lines?.first}:${finding.title}`}>
          <p>
            {finding.priority !== null && <span className={finding.priority <= 1 ? "sign-bad" : "sign"}>P{finding.priority}</span>}{" "}
            <strong>{visibleLine(finding.title)}</strong>
          </p>
          <Place file={finding.file} first={finding.lines?.first} last={finding.lines?.last} />
          <Markdown text={finding.body} />
        </li>
      ))}
    </ol>
  );
}

interface PlaceProps {
  readonly file: string;
  readonly first: number | undefined;
  readonly last: number | undefined;
}

function Place({ file, first, last }: PlaceProps) {
  const [told, setTold] = useState("");
  const lines = first === undefined ? "" : last === undefined || last === first ? `:${first}` : `:${first}-${last}`;
  const jump = async () => {
    const row = lineShown(file, first);
    if (row) return show(row);
    await navigator.clipboard?.writeText(`${file}${first === undefined ? "" : `:${first}`}`).then(
      () => setTold("not in a diff of this page; copied"),
      () => setTold("not in a diff of this page"),
    );
  };
  return (
    <p>
      <button type="button" className="link path" onClick={() => void jump()}>
        {visibleLine(file)}
        {lines}
      </button>{" "}
      <span className="quiet" role="status">
        {told}
      </span>
    </p>
  );
}

/** Reviews name files by their whole path, patches often from the folder on. */
function lineShown(file: string, line: number | undefined): Element | undefined {
  return [...document.querySelectorAll<HTMLElement>("tr[data-place]")].findLast(({ dataset }) => {
    const place = dataset["place"] ?? "";
    const at = place.lastIndexOf(":");
    const [path, number] = [place.slice(0, at), Number(place.slice(at + 1))];
    return number === line && (path === file || file.endsWith(`/${path}`) || path.endsWith(`/${file}`));
  });
}

function show(row: Element): void {
  const folded = row.closest("details");
  if (folded) folded.open = true;
  row.scrollIntoView({ block: "center" });
  row.classList.add("is-shown");
  setTimeout(() => row.classList.remove("is-shown"), SHOWN_MS);
}

const SHOWN_MS = 3_000;
