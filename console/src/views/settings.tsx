import { type RefObject, useState } from "react";
import { allowNotifications } from "../state/attention.js";
import { prefer, preferences, type Theme } from "../state/preferences.js";
import { useSignal } from "../state/signal.js";

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
      <form method="dialog">
        <button type="submit" className="primary">
          Close
        </button>
      </form>
    </dialog>
  );
}
