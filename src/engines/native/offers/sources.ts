import type { ThreadCatalog } from "../../../threads/offers.js";
import type { ThreadSettings } from "../../../threads/settings.js";

/** What the offers are made from that is not the engine's own. */
export interface OfferSources {
  readonly catalog: ThreadCatalog;
  /** What a new thread in this folder would run with; without one, in the server's own. */
  readonly settingsIn: (cwd?: string) => ThreadSettings;
}
