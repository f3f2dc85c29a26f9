import { isoTime } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { explainDelivery } from '../../protocol/explain-delivery/index.ts';
import { latestAttempts, type TriedRecipient } from '../emails/index.ts';

interface Tried {
  email_id: string;
  destination: string;
}

export interface LastAttempt {
  at: string;
  outcome: TriedRecipient['outcome'];
  reason: string | null;
  reply: string | null;
  explanation: string;
}

/** How the last try of each ended for the first of its recipients; that is why it waits. */
export async function lastAttempts(db: Executor, rows: readonly Tried[]): Promise<(row: Tried) => LastAttempt | null> {
  const attempts = await latestAttempts(
    db,
    rows.map((row) => row.email_id),
  );
  const latest = new Map(attempts.map((attempt) => [keyOf(attempt), attempt]));
  return (row) => {
    const attempt = latest.get(keyOf(row));
    const tried = attempt && (JSON.parse(attempt.recipients) as TriedRecipient[]);
    const [first] = tried?.filter(({ outcome }) => outcome !== 'delivered') ?? [];
    if (!attempt || !first) return null;
    const { outcome, reason, reply } = first;
    return { at: isoTime(attempt.created_at), outcome, reason, reply, explanation: explainDelivery(first).sentence };
  };
}

const keyOf = ({ email_id: email, destination }: Tried): string => `${email} ${destination}`;
