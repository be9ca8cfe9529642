import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { logInWith } from "../state/login.js";
import { refusal } from "../state/serverWatch.js";
import { Trouble } from "./trouble.js";

/** Shown to a browser that is not logged in. */
export function Login({ error }: { readonly error: unknown }) {
  const id = useId();
  const queries = useQueryClient();
  const login = useMutation({
    mutationFn: logInWith,
    onSuccess() {
      refusal.set(undefined);
      return queries.resetQueries();
    },
  });
  return (
    <main className="login">
      <h1>codex-mcpd</h1>
      <p>
        This browser is not logged in. Open the address that it printed when it started, or run <code>codex-mcp-server open</code> for a new
        one.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const secret = new FormData(event.currentTarget).get("secret");
          if (typeof secret === "string" && secret.trim() !== "") login.mutate(secret.trim());
        }}
      >
        <div className="field">
          <label htmlFor={id}>One-time code or bearer token</label>
          <input id={id} name="secret" type="password" autoComplete="off" required />
        </div>
        <button type="submit" className="primary" disabled={login.isPending}>
          Log in
        </button>
      </form>
      <Trouble error={login.error ?? error} />
    </main>
  );
}
