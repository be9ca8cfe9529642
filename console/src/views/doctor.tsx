import type { z } from "zod";
import type { DoctorFindingForm as DoctorFinding } from "../../../src/api/schemas/server.js";
import { ago } from "../lib/formats.js";
import { visibleText } from "../lib/visibleText.js";
import { usePageTitle } from "../state/attention.js";
import { useAccount, useDoctor, useHealth, useMe } from "../state/queries.js";
import { Trouble } from "./trouble.js";

const VERDICTS = { fails: "fails", note: "note", ok: "ok" } as const;
const ORDER = ["fails", "note", "ok"] as const;

/** What is configured, what is missing and how to fix it; failures come first. */
export function Doctor() {
  usePageTitle("Doctor");
  const { data, error, refetch, isFetching } = useDoctor();
  const findings = [...(data?.findings ?? [])].sort((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));
  return (
    <section className="page" aria-labelledby="doctor-heading">
      <div className="page-head">
        <h2 id="doctor-heading" tabIndex={-1}>
          {data && findings.length > 0 ? (data.ok ? "Everything needed is configured" : "Something is missing") : "Doctor"}
        </h2>
        <button type="button" onClick={() => void refetch()} disabled={isFetching}>
          {isFetching ? "Checking…" : "Check again"}
        </button>
      </div>
      <Trouble error={error} />
      {findings.length > 0 && (
        <ul className="doctor">
          {findings.map((finding) => (
            <FindingLine key={`${finding.subject} ${finding.text}`} finding={finding} />
          ))}
        </ul>
      )}
      <About />
    </section>
  );
}

function FindingLine({ finding: { subject, verdict, text } }: { readonly finding: z.infer<typeof DoctorFinding> }) {
  return (
    <li>
      <span className={verdict === "ok" ? "sign-good" : verdict === "note" ? "sign-warn" : "sign-bad"}>{VERDICTS[verdict]}</span>
      <strong>{visibleText(subject)}</strong>
      <span className="doctor-text">{visibleText(text)}</span>
    </li>
  );
}

function About() {
  const { data: health } = useHealth();
  const { data: me } = useMe();
  const { data: account } = useAccount();
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["Version", health?.version],
    ["Engine", health?.engine],
    ["Running since", health && `${new Date(health.startedAt).toLocaleString()} (${ago(health.startedAt)})`],
    ["You are", me && `${me.principal}, authenticated by ${me.by}; scopes: ${me.scopes.join(", ")}`],
    ["Model account", account && [account.kind, account.email, account.plan, account.source, account.remedy].filter(Boolean).join(" · ")],
  ];
  return (
    <section aria-labelledby="about-heading">
      <h3 id="about-heading">This server</h3>
      <dl className="about">
        {rows.map(
          ([name, value]) =>
            value !== undefined && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{visibleText(value)}</dd>
              </div>
            ),
        )}
      </dl>
    </section>
  );
}
