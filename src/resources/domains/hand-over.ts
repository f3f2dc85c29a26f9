import { recordEvents } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { World } from '../../platform/world/index.ts';
import { composeDomain, type MadeDomain } from './compose-domain.ts';
import { mustFitDns } from './create-domain.ts';
import { newDkimKeys } from './dkim-key.ts';
import { concludeCheck } from './conclude-check.ts';
import { deleteKeys, insertKeys, keysOf } from './dkim-keys.store.ts';
import type { DkimKeyRow, DomainRow } from './domain-rows.ts';
import { statusOf } from './domain-state.ts';
import { changeDomain, saveState } from './domains.store.ts';
import { carryOver, expectedRecords } from './expected-records.ts';
import { forgetAsking } from './hand-over.store.ts';
import { lookUp } from './look-up.ts';
import type { NewDomain } from './new-domain.ts';
import { presentDomainEvent } from './present.ts';
import { recordsOf, recordsToCheck, saveRecords } from './records.store.ts';
import { returnPathClash } from './tracking-record.ts';

/** The copy of a name for the team that claims it; nothing is written yet, because making keys is dear. */
export async function composeClaimantCopy(
  world: World,
  teamId: string,
  name: string,
  input: Omit<NewDomain, 'name'>,
): Promise<MadeDomain> {
  const made = await composeDomain(world, teamId, name, input);
  mustFitDns(made.records);
  const clash = returnPathClash(made.row);
  if (clash) throw clash;
  return made;
}

/** What a copy is left with when its name goes to another team; made before the transaction, because keys are dear. */
export interface SwitchedOff {
  domainId: string;
  keys: DkimKeyRow[];
}

export const composeSwitchedOff = async (world: World, holder: DomainRow): Promise<SwitchedOff> => ({
  domainId: holder.id,
  keys: await newDkimKeys(world, holder.id),
});

/**
 * From now on the copy sends nothing, and its old keys are gone. Its records in DNS prove nothing any more: only whoever
 * can publish the new keys, which nobody has, could verify the name for it again.
 */
export async function switchOff(tx: Executor, world: World, holder: DomainRow, off: SwitchedOff): Promise<void> {
  const now = world.clock.now();
  const after: DomainRow = {
    ...holder,
    verified_at: null,
    held_at: null,
    failing_since: now,
    first_checked_at: holder.first_checked_at ?? now,
    // Its MX record stands where the next owner's will.
    receiving: holder.receiving === 'enabled' ? 'disabled' : holder.receiving,
    receiving_since: null,
    receiving_verified_at: null,
    receiving_failing_since: null,
  };
  after.status = statusOf(after);
  const before = await recordsToCheck(tx, holder.id);
  const records = carryOver(expectedRecords(world, after, off.keys), before);
  const keys = await keysOf(tx, holder.id);
  await deleteKeys(
    tx,
    keys.map((key) => key.id),
  );
  await insertKeys(tx, off.keys);
  await changeDomain(tx, holder.team_id, holder.id, { receiving: after.receiving });
  await saveState(tx, after);
  await saveRecords(tx, holder.id, before, records);
  const data = presentDomainEvent(after, records);
  await recordEvents(tx, world.ids, [
    { teamId: holder.team_id, type: 'domain.updated', subjectId: holder.id, data, at: now },
  ]);
}

/**
 * From now on the name is this copy's, and its records are waited for anew: whoever had the name must not be able to take
 * it back before they are seen.
 */
export async function takeName(tx: Executor, world: World, domain: DomainRow): Promise<void> {
  const now = world.clock.now();
  const after: DomainRow = { ...domain, held_at: now, failing_since: null, first_checked_at: now };
  after.status = statusOf(after);
  await saveState(tx, after);
  await forgetAsking(tx, domain.id);
  if (after.status === domain.status) return;
  const data = presentDomainEvent(after, await recordsOf(tx, domain.id));
  await recordEvents(tx, world.ids, [
    { teamId: domain.team_id, type: 'domain.updated', subjectId: domain.id, data, at: now },
  ]);
}

/** A look at a domain that nobody asked for with a call of its own. */
export async function checkDomain(world: World, domain: DomainRow): Promise<void> {
  const looked = await lookUp(world, domain, await recordsToCheck(world.db, domain.id), { cache: false });
  await concludeCheck(world, domain, looked);
}
