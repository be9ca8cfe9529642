import { AppError } from "../../lib/errors.js";

/** A caller asked for more than whoever runs the server lets callers have. The message names the setting that raises the ceiling. */
export class AboveCeiling extends AppError {
  readonly code = "above_ceiling";
}
