import { useEffect } from "react";
import { apiUrl, failureOf, reached } from "../api/requests.js";
import { bytes, count, duration } from "../lib/formats.js";
import { prometheusSamples, type Sample, total } from "../lib/prometheusText.js";
import { usePageTitle } from "../state/attention.js";
import { Signal, useSignal } from "../state/signal.js";
import { Plot } from "./plot.js";
import { Trouble } from "./trouble.js";
import { monotonic } from "./useNow.js";

const EVERY_MS = 2_000;
/** Five minutes. */
const MOST_READINGS = 150;
const PREFIX = "codex_mcp_";

interface Reading {
  readonly at: number;
  readonly samples: readonly Sample[];
}

/** Kept while other pages are shown. */
const readings = new Signal<readonly Reading[]>([]);
const trouble = new Signal<unknown>(undefined);

async function read(signal: AbortSignal): Promise<void> {
  try {
    const response = await reached(apiUrl("metrics"), { signal });
    if (!response.ok) throw await failureOf(response);
    const reading = { at: monotonic(), samples: prometheusSamples(await response.text()) };
    readings.set([...readings.value, reading].slice(-MOST_READINGS));
    trouble.set(undefined);
  } catch (error) {
    if (!signal.aborted) trouble.set(error);
  }
}

interface Shown {
  readonly title: string;
  readonly name: string;
  readonly having?: Readonly<Record<string, string>>;
  /** A counter is shown as its rate per second. */
  readonly isRate?: boolean;
  readonly format?: (value: number) => string;
}

const PLOTS: readonly Shown[] = [
  { title: "Turns running", name: "turns_running" },
  { title: "Questions open", name: "approvals_pending" },
  { title: "Commands running", name: "commands_running" },
  { title: "Turns queued", name: "turns_queued" },
  { title: "Tokens in", name: "tokens_total", having: { kind: "input" }, isRate: true, format: perSecond },
  { title: "Tokens out", name: "tokens_total", having: { kind: "output" }, isRate: true, format: perSecond },
  { title: "Event streams", name: "streams_open" },
  { title: "MCP sessions", name: "sessions_open" },
  { title: "Threads in memory", name: "threads_loaded" },
  { title: "CPU", name: "process_cpu_seconds_total", isRate: true, format: (value) => `${(value * 100).toFixed(0)} %` },
  { title: "Memory", name: "process_resident_memory_bytes", format: bytes },
  { title: "Event loop delay", name: "nodejs_eventloop_lag_p99_seconds", format: (value) => `${(value * 1_000).toFixed(1)} ms` },
];

const TABLES: readonly { readonly title: string; readonly name: string; readonly labels: readonly string[] }[] = [
  { title: "Turns", name: "turns_ended_total", labels: ["outcome"] },
  { title: "Questions", name: "approvals_answered_total", labels: ["channel", "decision"] },
  { title: "Commands", name: "commands_ended_total", labels: ["outcome"] },
  { title: "Patches", name: "patches_total", labels: ["outcome"] },
  { title: "Tokens", name: "tokens_total", labels: ["kind"] },
  { title: "Requests to the model", name: "model_calls_total", labels: ["model", "outcome"] },
  { title: "Tool calls", name: "calls_total", labels: ["tool", "outcome"] },
];

function perSecond(value: number): string {
  return `${count(Math.round(value * 10) / 10)}/s`;
}

/** The server's metrics, since this page was first shown. */
export function Numbers() {
  usePageTitle("Metrics");
  const known = useSignal(readings);
  const error = useSignal(trouble);
  useEffect(() => {
    const life = new AbortController();
    void read(life.signal);
    const timer = setInterval(() => !document.hidden && void read(life.signal), EVERY_MS);
    return () => {
      clearInterval(timer);
      life.abort();
    };
  }, []);
  const last = known.at(-1)?.samples ?? [];
  return (
    <section className="page" aria-labelledby="numbers-heading">
      <h2 id="numbers-heading" tabIndex={-1}>
        Metrics
      </h2>
      <p className="quiet">
        {known.length < 2
          ? "The plots begin when this page is first opened."
          : `The last ${duration((known.at(-1)?.at ?? 0) - (known[0]?.at ?? 0))}.`}
      </p>
      <Trouble error={error} />
      <div className="plots">
        {PLOTS.map((plot) => (
          <Plot key={plot.title} title={plot.title} values={valuesOf(known, plot)} format={plot.format ?? count} />
        ))}
      </div>
      <h3>Since the server started</h3>
      <div className="tables">
        {TABLES.map((table) => (
          <Totals key={table.title} samples={last} {...table} />
        ))}
      </div>
    </section>
  );
}

function valuesOf(known: readonly Reading[], { name, having, isRate = false }: Shown): readonly (number | undefined)[] {
  const values = known.map(({ samples }) => total(samples, PREFIX + name, having));
  if (!isRate) return values;
  return values.map((value, index) => {
    const [before, seconds] = [values[index - 1], ((known[index]?.at ?? 0) - (known[index - 1]?.at ?? 0)) / 1_000];
    // A counter that decreased belongs to a restarted server.
    return value === undefined || before === undefined || value < before || seconds <= 0 ? undefined : (value - before) / seconds;
  });
}

interface TotalsProps {
  readonly samples: readonly Sample[];
  readonly title: string;
  readonly name: string;
  readonly labels: readonly string[];
}

function Totals({ samples, title, name, labels }: TotalsProps) {
  const rows = samples.filter((sample) => sample.name === PREFIX + name && sample.value > 0);
  if (rows.length === 0) return null;
  return (
    <table className="totals">
      <caption>{title}</caption>
      <tbody>
        {rows.map((sample) => {
          const label = labels.map((key) => sample.labels[key] ?? "").join(" · ");
          return (
            <tr key={JSON.stringify(sample.labels)}>
              <th scope="row">{label}</th>
              <td>{count(sample.value)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
