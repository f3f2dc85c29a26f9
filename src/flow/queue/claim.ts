import { recordEvents, withoutEvent } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { timeOfId } from '../../platform/ids/index.ts';
import type { World } from '../../platform/world/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { advanceLastEvent } from '../../resources/emails/index.ts';
import { suppressionsAmong } from '../../resources/suppressions/index.ts';
import { suspendedAmong } from '../../resources/teams/index.ts';
import { claimDue, holdBack, type DeliveryRow } from './deliveries.store.ts';
import type { Outcome } from './outcome.ts';

export interface ClaimedDelivery {
  row: DeliveryRow;
  /** Still to be delivered to. */
  recipients: string[];
  /** Decided without asking anybody. */
  decided: Outcome[];
}

export interface ClaimRequest {
  owner: string;
  limit: number;
  exceptDestinations: string[];
}

/**
 * Claims due work, takes out who is suppressed, and records `email.sent` for every email that goes to anybody: from
 * here on it cannot be recalled. All in the caller's transaction, so a cancellation either comes first or too late.
 * `due` is how many were due, those that were put off included.
 */
export async function claimDeliveries(
  world: World,
  tx: Executor,
  request: ClaimRequest,
): Promise<{ claimed: ClaimedDelivery[]; due: number }> {
  const now = world.clock.now();
  const leaseUntil = now + world.config.delivery.lease_seconds * 1000;
  const due = await claimDue(tx, { ...request, now, leaseUntil });
  const rows = await withoutSuspended(tx, request.owner, due, now);
  if (rows.length === 0) return { claimed: [], due: due.length };
  const addressed = rows.map((row) => ({ row, addresses: JSON.parse(row.recipients) as string[] }));
  const suppressed = await suppressedAmong(tx, addressed);
  const claimed = addressed.map(({ row, addresses }): ClaimedDelivery => {
    if (row.handed_off_at !== null) {
      const decided = addresses.map((address): Outcome => ({
        kind: 'failed',
        address,
        reason: 'ambiguous_submission',
      }));
      return { row, recipients: [], decided };
    }
    const recipients: string[] = [];
    const decided: Outcome[] = [];
    for (const address of addresses) {
      const origin = suppressed.get(keyOf(row.team_id, address));
      if (origin === undefined) recipients.push(address);
      else decided.push({ kind: 'suppressed', address, origin });
    }
    return { row, recipients, decided };
  });
  await recordSent(world, tx, claimed, now);
  return { claimed, due: due.length };
}

/**
 * How long mail of a suspended team rests before it is looked at again: longer the older it is, so that the backlog of a
 * team that stays suspended is not written anew all day.
 */
const REST_MS_MIN = 5 * 60_000;
const REST_MS_MAX = 3_600_000;

/** A suspended team sends nothing; its mail waits for the operator. What was handed off before is still settled. */
async function withoutSuspended(tx: Executor, owner: string, due: DeliveryRow[], now: number): Promise<DeliveryRow[]> {
  const suspended = new Set(await suspendedAmong(tx, [...new Set(due.map((row) => row.team_id))]));
  if (suspended.size === 0) return due;
  const isHeld = (row: DeliveryRow): boolean => suspended.has(row.team_id) && row.handed_off_at === null;
  const held = due.filter(isHeld);
  const ageMs = Math.min(...held.map((row) => now - timeOfId(row.id)));
  const restMs = Math.min(REST_MS_MAX, Math.max(REST_MS_MIN, ageMs / 2));
  const ids = held.map((row) => row.id);
  await holdBack(tx, owner, ids, { now, until: Math.round(now + restMs) });
  return due.filter((row) => !isHeld(row));
}

async function recordSent(world: World, tx: Executor, deliveries: ClaimedDelivery[], now: number): Promise<void> {
  const rowOf = new Map<string, DeliveryRow>();
  const overtaken = new Set<string>();
  for (const { row, recipients } of deliveries) {
    if (recipients.length === 0) continue;
    rowOf.set(row.email_id, row);
    if (row.attempt === 1) overtaken.add(row.email_id);
  }
  const moved = await advanceLastEvent(tx, [...rowOf.keys()], 'sent');
  for (const emailId of moved) overtaken.delete(emailId);
  // Another destination of the email may have ended before, and moved its state on without anything being sent.
  const late = new Set(await withoutEvent(tx, [...overtaken], 'email.sent'));
  await recordEvents(
    tx,
    world.ids,
    [...moved, ...late].map((emailId) => ({
      teamId: rowOf.get(emailId)?.team_id ?? '',
      domainId: rowOf.get(emailId)?.domain_id,
      type: 'email.sent',
      subjectId: emailId,
      at: now,
      isFirst: !late.has(emailId),
    })),
  );
}

const keyOf = (teamId: string, address: string): string => `${teamId} ${normalizeAddress(address)}`;

async function suppressedAmong(
  tx: Executor,
  claimed: { row: DeliveryRow; addresses: string[] }[],
): Promise<Map<string, 'bounce' | 'complaint' | 'manual'>> {
  const wanted = claimed.flatMap(({ row, addresses }) =>
    addresses.map((address) => [row.team_id, normalizeAddress(address)] as const),
  );
  const found = await suppressionsAmong(tx, wanted);
  return new Map(found.map((entry) => [`${entry.team_id} ${entry.email_key}`, entry.origin]));
}
