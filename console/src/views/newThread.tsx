import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import type { z } from "zod";
import type { NewThreadBody, ThreadStart } from "../../../src/api/schemas/threads.js";
import { request } from "../api/requests.js";
import { visibleLine } from "../lib/visibleText.js";
import { usePageTitle } from "../state/attention.js";
import { useDraft } from "../state/drafts.js";
import { THREADS, useMayCall, useMe, useModels, useProjects } from "../state/queries.js";
import { goTo, threadHref } from "../state/route.js";
import { Trouble } from "./trouble.js";

type Body = z.infer<typeof NewThreadBody>;

const SANDBOXES: Choices = {
  "read-only": "reads; changes nothing",
  "workspace-write": "changes files in the folder",
  "danger-full-access": "no sandbox: may do what the server's user may",
};
const POLICIES: Choices = {
  untrusted: "asks before all but harmless commands",
  "on-failure": "asks when a command fails in the sandbox",
  "on-request": "asks when it wants to leave the sandbox",
  never: "never asks; what is not allowed fails",
};

/** The choices and their meanings; empty where the name is enough. */
type Choices = Readonly<Record<string, string>>;

/** Starts a thread. The server chooses what is left empty. */
export function NewThread() {
  usePageTitle("New thread");
  const queries = useQueryClient();
  const { data: projects } = useProjects();
  const { data: models } = useModels();
  const { data: me } = useMe();
  const mayCall = useMayCall();
  const [model, setModel] = useState("");
  const [prompt, setPrompt] = useDraft("new");
  const ids = useId();
  const start = useMutation({
    mutationFn: (body: Body) => request<z.infer<typeof ThreadStart>>("threads", { method: "POST", body }),
    onSuccess({ thread }) {
      setPrompt("");
      void queries.invalidateQueries({ queryKey: [THREADS] });
      goTo(threadHref(thread.id));
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (start.isPending) return;
    const given = Object.fromEntries([...new FormData(event.currentTarget)].filter(([, value]) => value !== ""));
    start.mutate(given);
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
            value={prompt}
            onChange={({ target }) => setPrompt(target.value)}
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
            {[...new Set([...(projects?.projects.map(({ cwd }) => cwd) ?? []), ...(me?.roots ?? [])])].map((cwd) => (
              <option key={cwd} value={cwd} />
            ))}
          </datalist>
          {me?.roots && me.roots.length > 0 && (
            <p className="quiet">
              In <span className="path">{me.roots.map(visibleLine).join(", ")}</span> or below.
            </p>
          )}
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
        <Choice name="effort" label="Effort" choices={Object.fromEntries(efforts.map((effort) => [effort, ""]))} />
        <Choice name="sandbox" label="Sandbox" choices={SANDBOXES} />
        <Choice name="approvalPolicy" label="Approval policy" choices={POLICIES} />
        <div className="actions wide">
          <button type="submit" className="primary" disabled={start.isPending || !mayCall} title="Ctrl+Enter">
            {start.isPending ? "Starting…" : "Start"}
          </button>
          {!mayCall && <span className="quiet">Your login may only watch.</span>}
        </div>
      </form>
      <Trouble error={start.error} />
    </section>
  );
}

function Choice({ name, label, choices }: { readonly name: string; readonly label: string; readonly choices: Choices }) {
  const id = useId();
  const [chosen, setChosen] = useState("");
  const meaning = choices[chosen] ?? "";
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        name={name}
        value={chosen}
        onChange={({ target }) => setChosen(target.value)}
        {...(meaning && { "aria-describedby": `${id}-meaning` })}
      >
        <option value="">as configured</option>
        {Object.keys(choices).map((value) => (
          <option key={value}>{value}</option>
        ))}
      </select>
      {meaning !== "" && (
        <p id={`${id}-meaning`} className="quiet">
          {meaning}
        </p>
      )}
    </div>
  );
}
