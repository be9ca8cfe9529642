import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import type { z } from "zod";
import type { NewThreadBody, TurnStart as StartedTurn } from "../../../src/api/schemas/threads.js";
import { request } from "../api/requests.js";
import { THREADS, useModels, useProjects } from "../state/queries.js";
import { goTo, threadHref } from "../state/route.js";
import { Trouble } from "./trouble.js";

type Body = z.infer<typeof NewThreadBody>;

const SANDBOXES = ["read-only", "workspace-write", "danger-full-access"];
const POLICIES = ["untrusted", "on-failure", "on-request", "never"];

/** Starts a thread. The server chooses what is left empty. */
export function NewThread() {
  const queries = useQueryClient();
  const { data: projects } = useProjects();
  const { data: models } = useModels();
  const [model, setModel] = useState("");
  const ids = useId();
  const start = useMutation({
    mutationFn: (body: Body) => request<z.infer<typeof StartedTurn>>("threads", { method: "POST", body }),
    onSuccess({ thread }) {
      void queries.invalidateQueries({ queryKey: [THREADS] });
      goTo(threadHref(thread.id));
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (start.isPending) return;
    const given = Object.fromEntries([...new FormData(event.currentTarget)].filter(([, value]) => value !== ""));
    start.mutate(given as unknown as Body);
  };
  const offered = models?.models.filter((each) => each.offered) ?? [];
  const efforts = (offered.find((each) => each.model === model) ?? offered.find((each) => each.isDefault))?.efforts ?? [];
  return (
    <section className="page" aria-labelledby="new-heading">
      <h2 id="new-heading" tabIndex={-1}>
        New thread
      </h2>
      <form className="new-thread" onSubmit={submit}>
        <div className="field wide">
          <label htmlFor={`${ids}-prompt`}>What should the agent do?</label>
          <textarea
            id={`${ids}-prompt`}
            name="prompt"
            rows={6}
            required
            aria-keyshortcuts="Control+Enter"
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
        </div>
        <div className="field wide">
          <label htmlFor={`${ids}-cwd`}>Folder</label>
          <input
            id={`${ids}-cwd`}
            name="cwd"
            list={`${ids}-folders`}
            placeholder="The server's own"
            defaultValue={projects?.projects[0]?.cwd ?? ""}
            key={projects ? "known" : "unknown"}
            autoComplete="off"
            spellCheck={false}
          />
          <datalist id={`${ids}-folders`}>
            {projects?.projects.map(({ cwd }) => (
              <option key={cwd} value={cwd} />
            ))}
          </datalist>
        </div>
        <div className="field">
          <label htmlFor={`${ids}-model`}>Model</label>
          <select id={`${ids}-model`} name="model" value={model} onChange={({ target }) => setModel(target.value)}>
            <option value="">as configured</option>
            {offered.map((each) => (
              <option key={each.model} value={each.model}>
                {each.displayName}
              </option>
            ))}
          </select>
        </div>
        <Choice name="effort" label="Effort" values={efforts} />
        <Choice name="sandbox" label="Sandbox" values={SANDBOXES} />
        <Choice name="approvalPolicy" label="Approval policy" values={POLICIES} />
        <div className="actions wide">
          <button type="submit" className="primary" disabled={start.isPending} title="Ctrl+Enter">
            Start
          </button>
        </div>
      </form>
      <Trouble error={start.error} />
    </section>
  );
}

function Choice({ name, label, values }: { readonly name: string; readonly label: string; readonly values: readonly string[] }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} name={name}>
        <option value="">as configured</option>
        {values.map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
    </div>
  );
}
