import type { Refusal } from '../../../platform/refusal/index.ts';

/** A refusal as the result of a tool: its name, what is wrong, and what a model does about it. */
export function refusalText(refusal: Refusal): string {
  const fields = (refusal.errors ?? []).map(({ path, message }) => `- ${path}: ${message}`);
  return [`${refusal.errorName}: ${refusal.message}`, ...fields, `What to do: ${adviceOn(refusal)}`].join('\n');
}

function adviceOn({ status, errorName, retryAfterSeconds, details }: Refusal): string {
  if (retryAfterSeconds !== undefined) return `wait ${retryAfterSeconds} seconds, then call again.`;
  switch (errorName) {
    case 'invalid_permission':
      if (typeof details?.['approval_id'] === 'string') {
        return `tell the person that this waits for their approval, and where. Do not call it again: ask with getApproval (by call_operation), approval_id ${details['approval_id']}, what became of it.`;
      }
      return 'do not call this again. Tell the person that they, or an admin of the team, have to allow it.';
    case 'not_found':
      return 'list what there is, or search it, and call again with an id from there.';
    case 'missing_required_field':
    case 'missing_required_parameter':
    case 'invalid_parameter':
    case 'validation_error':
      return 'correct the arguments that are named, by the schema of the tool, and call again.';
    default:
      break;
  }
  if (status >= 500) return 'call again in a minute; if it stays, tell the person, with this message.';
  if (status === 429) return 'wait, or tell the person that a quota of the plan is used up.';
  return 'read what is there at the moment, then decide; the same call will be refused again.';
}
