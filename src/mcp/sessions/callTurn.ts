import { type Call, seesStructuredContent } from "../call.js";
import type { TurnCall } from "../tools/tool.js";
import type { CallToolResult } from "../wording/callResult.js";
import { TurnView } from "../wording/turnView.js";
import { ElicitationDoor } from "./elicitationChannel.js";

/**
 * Attaches a call to its turn: the client sees what happens until the turn ends, and a cancelled call interrupts it.
 * The call does not own the turn; others may read the same log.
 */
export async function followTurn({ turn, approvals, observe, answer }: TurnCall, call: Call): Promise<CallToolResult> {
  const interrupt = () => turn.interrupt();
  call.signal.addEventListener("abort", interrupt, { once: true });
  if (call.signal.aborted) interrupt();
  const client = new TurnView(turn, call);
  const door = new ElicitationDoor(call, approvals);
  try {
    for await (const batch of turn.log.read()) {
      for (const { value } of batch) {
        client.show(value);
        door.take(value);
        observe(value);
        // Within a batch too: a reader that was behind gets everything it missed in one.
        const congestion = call.peer.congested();
        if (congestion) await congestion;
      }
    }
    return answer(await turn.outcome, { nameThreadInText: !seesStructuredContent(call) });
  } finally {
    client.close();
    await door.close();
    call.signal.removeEventListener("abort", interrupt);
  }
}
