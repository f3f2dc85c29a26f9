import { recordEvents } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { composeDomain, mustFitDns, type MadeDomain, type NewDomain } from './register-domain.ts';
import { newDkimKeys, rebuildRecords, returnPathClash } from './domain-records.ts';
import {
  deleteKeys,
  insertKeys,
  listDkimKeys,
  saveSettings,
  saveState,
  forgetAsking,
  lockDomain,
  recordsToCheck,
  saveRecords,
} from './domains.store.ts';
import type { DkimKeyRow, DomainRow } from './domain-rows.ts';
import { cachedUntilAfter } from './mta-sts.ts';
import { saveWithdrawal } from './mta-sts.store.ts';
import { deriveDomainStatus } from './domain-state.ts';
import { presentDomainEvent } from './present.ts';

/** Composes the copy of a name for the team that claims it. Writes nothing yet, because making keys takes long. */
export async function composeClaimantCopy(
  store: Store,
  teamId: string,
  name: string,
  input: Omit<NewDomain, 'name'>,
): Promise<MadeDomain> {
  const made = await composeDomain(store, teamId, name, input);
  mustFitDns(made.records);
  const clash = returnPathClash(made.row);
  if (clash) throw clash;
  return made;
}

/**
 * The keys that a copy gets when its name goes to another team; made before the transaction, because making keys takes
 * long.
 */
export interface SwitchedOff {
  domainId: string;
  keys: DkimKeyRow[];
}

export const composeSwitchedOff = async (store: Store, owner: DomainRow): Promise<SwitchedOff> => ({
  domainId: owner.id,
  keys: await newDkimKeys(store, owner.id),
});

/**
 * Switches a copy off: it sends nothing, and its old keys are gone. Its records in DNS prove nothing any more: only an
 * owner of the zone who publishes the new keys, which no team has, could verify the name for it again.
 */
export async function switchOff(store: Store, tx: Executor, owner: DomainRow, off: SwitchedOff): Promise<void> {
  const now = store.clock.now();
  const after: DomainRow = {
    ...owner,
    verified_at: null,
    held_at: null,
    failing_since: now,
    first_checked_at: owner.first_checked_at ?? now,
    // Its MX record is at the same name as the next owner's.
    receiving: owner.receiving === 'enabled' ? 'disabled' : owner.receiving,
    // The next owner withdraws the policy, which senders may apply for a while.
    mta_sts: 'off',
    sts_cached_until: null,
    receiving_since: null,
    receiving_verified_at: null,
    receiving_failing_since: null,
    // Its team has been notified that the name belongs to another team.
    lost_at: null,
    receiving_lost_at: null,
  };
  after.status = deriveDomainStatus(after);
  const before = await recordsToCheck(tx, owner.id);
  const cachedUntil = cachedUntilAfter(store, owner, before);
  if (cachedUntil !== null) await saveWithdrawal(tx, owner.name, cachedUntil);
  const records = await rebuildRecords(store, tx, { domain: after, keys: off.keys, stored: before });
  const keys = await listDkimKeys(tx, owner.id);
  await deleteKeys(
    tx,
    keys.map((key) => key.id),
  );
  await insertKeys(tx, off.keys);
  await saveSettings(tx, owner.team_id, owner.id, { receiving: after.receiving, mta_sts: 'off' });
  await saveState(tx, after);
  await saveRecords(tx, owner.id, before, records);
  const data = presentDomainEvent(after, records);
  await recordEvents(tx, store.ids, [
    { teamId: owner.team_id, type: 'domain.updated', subjectId: owner.id, data, at: now },
  ]);
}

/**
 * Gives the name to this copy, and waits for its records anew: the team that had the name must not be able to take it
 * back before they are seen.
 */
export async function takeName(store: Store, tx: Executor, domain: DomainRow): Promise<void> {
  const now = store.clock.now();
  const after: DomainRow = { ...domain, held_at: now, failing_since: null, first_checked_at: now };
  after.status = deriveDomainStatus(after);
  await saveState(tx, after);
  await forgetAsking(tx, domain.id);
  const stored = await recordsToCheck(tx, domain.id);
  // The owner before may have left a policy to withdraw.
  const current = (await lockDomain(tx, domain.team_id, domain.id)) ?? after;
  const keys = await listDkimKeys(tx, domain.id);
  const records = await rebuildRecords(store, tx, { domain: current, keys, stored });
  await saveRecords(tx, domain.id, stored, records);
  if (after.status === domain.status && records.length === stored.length) return;
  const data = presentDomainEvent(after, records);
  await recordEvents(tx, store.ids, [
    { teamId: domain.team_id, type: 'domain.updated', subjectId: domain.id, data, at: now },
  ]);
}
