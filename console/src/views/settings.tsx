import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type RefObject, useState } from "react";
import { visibleLine } from "../lib/visibleText.js";
import { allowNotifications } from "../state/attention.js";
import { logOut } from "../state/login.js";
import { prefer, preferences, type Theme } from "../state/preferences.js";
import { useMe } from "../state/queries.js";
import { useSignal } from "../state/signal.js";
import { Trouble } from "./trouble.js";

const KEYS: readonly (readonly [string, string])[] = [
  ["i", "inbox"],
  ["t", "threads: search"],
  ["n", "new thread"],
  ["r", "reply to the thread on the page"],
  ["j / k", "next and previous question"],
  ["a", "approve the question in focus"],
  ["s", "approve it for the session"],
  ["d", "deny it"],
  ["Ctrl+Enter", "send the text"],
  ["?", "these settings"],
];

/** Who is logged in; for a login with a code or token, a button to end it. */
function Login() {
  const queries = useQueryClient();
  const { data: me } = useMe();
  const logout = useMutation({ mutationFn: logOut, onSuccess: () => queries.resetQueries() });
  if (me?.by !== "cookie") return null;
  return (
    <div className="actions">
      <span>Logged in as {visibleLine(me.principal)}</span>
      <button type="button" onClick={() => logout.mutate()} disabled={logout.isPending}>
        Log out
      </button>
      <Trouble error={logout.error} />
    </div>
  );
}

/** The preferences of this browser, and the list of keys. */
export function Settings({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  const { theme, shortcuts, notifications } = useSignal(preferences);
  const [isRefused, setRefused] = useState(false);
  const wantNotifications = async (isWanted: boolean) => {
    const isAllowed = isWanted && (await allowNotifications());
    setRefused(isWanted && !isAllowed);
    prefer({ notifications: isAllowed });
  };
  return (
    <dialog ref={dialog} aria-labelledby="settings-heading" className="settings">
      <h2 id="settings-heading">Settings and keys</h2>
      <div className="field">
        <label htmlFor="theme">Colours</label>
        <select id="theme" value={theme} onChange={({ target }) => prefer({ theme: target.value as Theme })}>
          <option value="system">like the system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </div>
      <label className="choice">
        <input type="checkbox" checked={notifications} onChange={({ target }) => void wantNotifications(target.checked)} /> Notify me when
        something waits and this tab is hidden
      </label>
      {isRefused && <p className="warn">The browser does not allow notifications for this address.</p>}
      <label className="choice">
        <input type="checkbox" checked={shortcuts} onChange={({ target }) => prefer({ shortcuts: target.checked })} /> Single-key shortcuts
      </label>
      <table className="keys">
        <tbody>
          {KEYS.map(([key, meaning]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Login />
      <form method="dialog">
        <button type="submit" className="primary">
          Close
        </button>
      </form>
    </dialog>
  );
}
