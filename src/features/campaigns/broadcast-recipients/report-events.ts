import { isByMachine } from '../../../mail/events/index.ts';
import type { EmailEvent } from '../../../mail/emails/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Ids } from '../../../platform/ids.ts';
import { countClicks } from './links.store.ts';
import type { BroadcastOutcome } from './outcome.ts';
import { countOutcomes } from './outcomes.store.ts';

const BOUNCES = { Permanent: 'permanent', Transient: 'transient', Undetermined: 'undetermined' } as const;

/** Reasons of a failure with which no mail server can have received the email. */
const UNSENT: ReadonlySet<string> = new Set(['broadcast_canceled', 'dropped_by_operator', 'domain_removed']);

/** Adds what happened to emails to the reports of their broadcasts. */
export async function reportEmailEvents(tx: Executor, ids: Ids, events: readonly EmailEvent[]): Promise<void> {
  const outcomes = events.map(readOutcome);
  await countOutcomes(tx, ids, outcomes);
  await countClicks(tx, () => ids.uuid(), outcomes);
}

function readOutcome(event: EmailEvent): BroadcastOutcome {
  const outcome = {
    emailId: event.email.id,
    type: event.type,
    isMachine: isByMachine(event),
    isExcused: event.isExcused ?? false,
  };
  if (event.type === 'email.clicked') return { ...outcome, link: event.data.click.link };
  if (event.type === 'email.bounced') return { ...outcome, bounce: BOUNCES[event.data.bounce.type] };
  if (event.type === 'email.failed') return { ...outcome, isUnsent: UNSENT.has(event.data.failed.reason) };
  return outcome;
}
