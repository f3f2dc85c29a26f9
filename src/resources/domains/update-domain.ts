import { recordEvents } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { mustBeOfUse, mustFreeMx } from './capabilities.ts';
import { judge } from './conclude-check.ts';
import { mustFitDns } from './create-domain.ts';
import { keysOf } from './dkim-keys.store.ts';
import { isSameRecord, type DomainRow, type RecordRow } from './domain-rows.ts';
import { statusOf } from './domain-state.ts';
import { changeDomain, findDomain, holdDomain, saveState, type DomainChange } from './domains.store.ts';
import { carryOver, expectedRecords } from './expected-records.ts';
import { lookedAt, lookUp, type Looked } from './look-up.ts';
import type { DomainPatch } from './new-domain.ts';
import { presentDomainEvent } from './present.ts';
import { recordsToCheck, saveRecords } from './records.store.ts';
import { returnPathClash } from './tracking-record.ts';

export async function updateDomain(
  ctx: Ctx,
  id: string,
  input: DomainPatch,
): Promise<{ object: 'domain'; id: string }> {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const change = changeOf(input);
  const before = await findDomain(world.db, teamId, id);
  if (!before) throw notFound('Domain');
  if (Object.keys(change).length === 0) return { object: 'domain', id };
  mustBePossible({ ...before, ...change }, change);
  if (change.receiving === 'enabled' && before.receiving !== 'enabled') {
    await mustFreeMx(world, before.name, input.confirm_replace_mx ?? false, CONFIRM);
  }
  const looked = await lookUpNew(world, { ...before, ...change });
  await world.db.tx(async (tx) => {
    const held = await holdDomain(tx, teamId, id);
    if (!held) throw notFound('Domain');
    // Somebody else may have changed it meanwhile.
    mustBePossible({ ...held, ...change }, change);
    await changeDomain(tx, teamId, id, change);
    const after = await applyChange(world, tx, held, change, looked);
    const data = presentDomainEvent(after.domain, after.records);
    const at = world.clock.now();
    await recordEvents(tx, world.ids, [{ teamId, type: 'domain.updated', subjectId: id, data, at }]);
  });
  return { object: 'domain', id };
}

const CONFIRM = 'send confirm_replace_mx: true if it is to come here instead.';

function changeOf(input: DomainPatch): DomainChange {
  const { capabilities = {} } = input;
  const change: DomainChange = {};
  if (input.open_tracking !== undefined) change.open_tracking = input.open_tracking ? 1 : 0;
  if (input.click_tracking !== undefined) change.click_tracking = input.click_tracking ? 1 : 0;
  if (input.tls !== undefined) change.tls = input.tls;
  if (input.tracking_subdomain !== undefined) change.tracking_subdomain = input.tracking_subdomain.toLowerCase();
  if (capabilities.sending !== undefined) change.sending = capabilities.sending;
  if (capabilities.receiving !== undefined) change.receiving = capabilities.receiving;
  return change;
}

function mustBePossible(after: DomainRow, change: DomainChange): void {
  mustBeOfUse(after, change.sending === 'disabled' ? 'sending' : 'receiving');
  const clash = returnPathClash(after);
  if (clash) throw clash;
}

/** What DNS says of the records that a domain is about to ask for besides; asked before anything is held. */
async function lookUpNew(world: World, domain: DomainRow): Promise<Looked[]> {
  const { db } = world;
  const stored = await recordsToCheck(db, domain.id);
  const wanted = expectedRecords(world, domain, await keysOf(db, domain.id));
  const added = wanted.filter((record) => !stored.some((other) => isSameRecord(other, record)));
  mustFitDns(
    added.filter((record) => record.record === 'Tracking'),
    'tracking_subdomain',
  );
  // A domain that nobody has verified waits for that.
  const isAsked = domain.checked_at !== null;
  return isAsked && added.length > 0 ? lookUp(world, domain, added, { cache: false }) : [];
}

/** A record that stands already keeps what is known of it. */
async function applyChange(
  world: World,
  tx: Executor,
  held: DomainRow,
  change: DomainChange,
  looked: readonly Looked[],
): Promise<{ domain: DomainRow; records: RecordRow[] }> {
  const now = world.clock.now();
  const domain: DomainRow = { ...held, ...change, ...receivingAnew(held, change, now) };
  const stored = await recordsToCheck(tx, domain.id);
  const records = carryOver(expectedRecords(world, domain, await keysOf(tx, domain.id)), stored);
  // Somebody else may have changed the domain meanwhile: what was looked up of another name says nothing here.
  const judged = judge(world, domain, records, (record) => lookedAt(looked, record)?.verdict, now);
  // Looking at some of its records is no check of the domain, so when that was stays as it is.
  const after: DomainRow = { ...judged.domain, checked_at: held.checked_at, first_checked_at: held.first_checked_at };
  after.status = statusOf(after);
  await saveState(tx, after);
  await saveRecords(tx, domain.id, stored, judged.records);
  return { domain: after, records: judged.records };
}

/** Switching receiving on or off begins anew what is known of it. */
function receivingAnew(held: DomainRow, { receiving }: DomainChange, now: number): Partial<DomainRow> {
  if (receiving === undefined || receiving === held.receiving) return {};
  return {
    receiving_since: receiving === 'enabled' ? now : null,
    receiving_verified_at: null,
    receiving_failing_since: null,
  };
}
