import type { SendBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import { readApprovedContacts, type Ctx } from '../../../tenancy/access/index.ts';
import { noteImagesOf } from '../../templates/images/index.ts';
import { notTogether } from './ab-test.ts';
import { findBroadcast, lockBroadcast, markSent, type BroadcastRow } from './broadcasts.store.ts';
import { mustPass } from './checks.ts';
import { freezeBroadcast } from './freeze-broadcast.ts';
import { lookAround, refusalOf, runGate, type Surroundings } from './gate.ts';
import {
  prepareContent,
  refuseTooMany,
  mustStillHold,
  repeatWhileChanged,
  type PreparedContent,
} from './prepare-content.ts';
import { readWhen, type When } from './read-when.ts';
import { inOtherStatus } from './status-faults.ts';

/** A change of state: the mail itself is created behind it, page by page. */
export async function sendBroadcast({ store, teamId, actor }: Ctx, id: string, input: SendBroadcastRequest = {}) {
  // Clients with typed fields, such as that of Go, write an empty text for a time that was not given.
  const when = readWhen(input.scheduled_at || undefined, store.clock.now());
  await repeatWhileChanged(async () => {
    const seen = await findBroadcast(store.db, teamId, id);
    if (!seen) throw notFound('Broadcast');
    const around = await lookAround(store, teamId, seen);
    const prepared = seen.status === 'draft' ? await prepareContent(store, seen) : undefined;
    await store.db.tx(async (tx) => {
      const row = await lockBroadcast(tx, teamId, id);
      if (!row) throw notFound('Broadcast');
      if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be sent', 403);
      await sendDraft(store, tx, row, {
        around,
        prepared,
        when,
        isLocal: input.local_time ?? row.local_time === 1,
        isAcknowledged: input.acknowledge_checks === true,
        approvedContacts: readApprovedContacts(actor),
      });
    });
  });
  return { id };
}

interface Sending {
  around: Surroundings;
  /** Before the transaction, which others wait for. */
  prepared: PreparedContent | undefined;
  when: When | null;
  isLocal: boolean;
  isAcknowledged: boolean;
  approvedContacts: number | null;
}

/** Refuses what may not go out; from here on neither content nor sender changes. */
export async function sendDraft(
  store: Ctx['store'],
  tx: Executor,
  row: BroadcastRow,
  { around, prepared, when, isLocal, isAcknowledged, approvedContacts }: Sending,
): Promise<void> {
  if (isLocal && when === null) throw localTimeOfNow();
  if (isLocal && row.ab_test !== null) throw notTogether();
  const gate = await runGate(store, tx, { teamId: row.team_id, row, around });
  const refusal = refusalOf(gate);
  const { domain, source } = gate;
  if (refusal || !domain || !source) throw refusal ?? new Error('the gate passed without a domain or a body');
  // Before the checks, so that no picture that they find is deleted before this is over.
  await noteImagesOf(tx, row, source);
  const { checks, bodies, tooMany } = await mustStillHold(store, tx, { row, source, before: prepared });
  // Acknowledged or not.
  if (tooMany) throw refuseTooMany(tooMany);
  if (!isAcknowledged) mustPass(checks);
  const pinned = await freezeBroadcast(store, tx, row, { source, bodies, domainId: domain.id });
  await markSent(tx, row.id, { pinned, when, isLocal, isAcknowledged, approvedContacts, at: store.clock.now() });
}

function localTimeOfNow() {
  const message = 'local_time goes with scheduled_at: the time that the clocks of each contact have to show.';
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'local_time', message }] });
}
