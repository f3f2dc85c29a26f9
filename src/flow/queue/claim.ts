import { recordEvents, withoutEvent } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { advanceLastEvent } from '../../resources/emails/index.ts';
import { suppressionsAmong } from '../../resources/suppressions/index.ts';
import { claimDue, type DeliveryRow } from './deliveries.store.ts';
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
 */
export async function claimDeliveries(world: World, tx: Executor, request: ClaimRequest): Promise<ClaimedDelivery[]> {
  const now = world.clock.now();
  const leaseUntil = now + world.config.delivery.lease_seconds * 1000;
  const rows = await claimDue(tx, { ...request, now, leaseUntil });
  if (rows.length === 0) return [];
  const claimed = rows.map((row) => ({ row, addresses: JSON.parse(row.recipients) as string[] }));
  const suppressed = await suppressedAmong(tx, claimed);
  const deliveries = claimed.map(({ row, addresses }): ClaimedDelivery => {
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
  await recordSent(world, tx, deliveries, now);
  return deliveries;
}

async function recordSent(world: World, tx: Executor, deliveries: ClaimedDelivery[], now: number): Promise<void> {
  const teamOf = new Map<string, string>();
  const overtaken = new Set<string>();
  for (const { row, recipients } of deliveries) {
    if (recipients.length === 0) continue;
    teamOf.set(row.email_id, row.team_id);
    if (row.attempt === 1) overtaken.add(row.email_id);
  }
  const moved = await advanceLastEvent(tx, [...teamOf.keys()], 'sent');
  for (const emailId of moved) overtaken.delete(emailId);
  // Another destination of the email may have ended before, and moved its state on without anything being sent.
  const late = await withoutEvent(tx, [...overtaken], 'email.sent');
  await recordEvents(
    tx,
    world.ids,
    [...moved, ...late].map((emailId) => ({
      teamId: teamOf.get(emailId) ?? '',
      type: 'email.sent',
      subjectId: emailId,
      at: now,
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
