import type { Executor } from '../../platform/db/index.ts';
import type { BounceType, BroadcastOutcome } from './outcome.ts';

const COUNTED = {
  'email.sent': 'sent',
  'email.delivered': 'delivered',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.complained': 'complained',
  'email.suppressed': 'suppressed',
  'email.unsubscribed': 'unsubscribed',
} as const;
const BY_MACHINE = { 'email.opened': 'machine_opened', 'email.clicked': 'machine_clicked' } as const;
const COUNTERS = [
  ...(['sent', 'delivered', 'opened', 'clicked', 'complained', 'suppressed', 'unsubscribed'] as const),
  ...(['machine_opened', 'machine_clicked'] as const),
] as const;
type Counter = (typeof COUNTERS)[number];

type Change = Record<Counter, number> & { email_id: string; bounced: BounceType | null };

/**
 * Adds what happened to the reports of the broadcasts that these emails belong to, in one statement. The join is ordered:
 * SQLite with statistics of a time without broadcasts would read the whole report instead of these rows.
 */
export async function countOutcomes(tx: Executor, outcomes: readonly BroadcastOutcome[]): Promise<void> {
  const changes = new Map<string, Change>();
  for (const outcome of outcomes) {
    const { emailId, type, bounce } = outcome;
    const counter = counterOf(outcome);
    if (counter === undefined && type !== 'email.bounced') continue;
    const change = changes.get(emailId) ?? noChange(emailId);
    if (counter === undefined) change.bounced = bounce ?? 'undetermined';
    else change[counter]++;
    changes.set(emailId, change);
  }
  if (changes.size === 0) return;
  const sets = COUNTERS.map((name) => `${name} = broadcast_recipients.${name} + d.${name}`);
  const fields = [...COUNTERS, 'bounced'].map((name) => `d.${name}`).join(', ');
  const sql = `update broadcast_recipients set ${sets.join(', ')}, bounced = coalesce(d.bounced, broadcast_recipients.bounced)
    from (select r.broadcast_id, r.email_key, ${fields} from ${changesIn(tx)}
      cross join broadcast_recipients r where r.email_id = d.email_id${inOneOrder(tx)}) as d
    where broadcast_recipients.broadcast_id = d.broadcast_id and broadcast_recipients.email_key = d.email_key`;
  await tx.run(sql, [JSON.stringify([...changes.values()])]);
}

function counterOf({ type, isMachine = false }: BroadcastOutcome): Counter | undefined {
  const counted: Readonly<Record<string, Counter>> = isMachine ? BY_MACHINE : COUNTED;
  return Object.hasOwn(counted, type) ? counted[type] : undefined;
}

const noChange = (emailId: string): Change => ({
  ...{ email_id: emailId, bounced: null },
  ...(Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<Counter, number>),
});

function changesIn(tx: Executor): string {
  if (tx.dialect === 'pg') {
    const counters = COUNTERS.map((name) => `${name} int`).join(', ');
    return `jsonb_to_recordset(?::jsonb) as d(email_id uuid, bounced text, ${counters})`;
  }
  const fields = ['email_id', 'bounced', ...COUNTERS].map((name) => `value->>'${name}' as ${name}`).join(', ');
  return `(select ${fields} from json_each(?)) as d`;
}

/** Two nodes that locked the rows of two emails in opposite orders would wait for each other. */
const inOneOrder = (tx: Executor): string => (tx.dialect === 'pg' ? ' order by r.email_id for update of r' : '');
