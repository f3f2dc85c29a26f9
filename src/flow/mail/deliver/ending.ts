import type { Deferral, RecipientOutcome } from './delivery-job.ts';
import { REASONS, type SmtpSession } from './smtp-session.ts';

/** What the end of a transaction says about mail that comes later. */
export type Ending =
  | { kind: 'worked' }
  /** The peer broke the protocol: its own fault, whichever team's mail it was. */
  | { kind: 'broken'; why: Deferral }
  /** The peer ended the session: it may want no more from this team, and still serve the others. */
  | { kind: 'turned away'; why: Deferral };

/** Undefined where the end says nothing about later mail: it was aborted, or no transaction was begun (`used` is 0). */
export function endingOf({ connection, mx, used }: SmtpSession, outcomes: RecipientOutcome[]): Ending | undefined {
  const { failure } = connection;
  if (failure?.kind === 'aborted' || used === 0) return undefined;
  if (failure) {
    const why: Deferral = { kind: 'deferred', reason: REASONS[failure.kind], detail: `${mx}: ${failure.detail}`, mx };
    return { kind: failure.kind === 'malformed' ? 'broken' : 'turned away', why };
  }
  for (const outcome of outcomes) {
    if (outcome.kind !== 'deferred') continue;
    const { address: _, ...why } = outcome;
    if (why.reason === 'protocol_error') return { kind: 'broken', why };
    if (why.reply?.code === 421) return { kind: 'turned away', why };
  }
  return { kind: 'worked' };
}
