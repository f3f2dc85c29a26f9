import { recordEvents } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { checkRecords } from './check-records.ts';
import { mustBeCapable, mustFitDns, type NewDomain } from './create-domain.ts';
import {
  changeDomain,
  findDomain,
  holdDomain,
  recordsOf,
  replaceTrackingRecord,
  type DomainChange,
  type DomainRow,
  type RecordRow,
} from './domains.store.ts';
import { presentDomain } from './present.ts';
import { returnPathClash, trackingRecord } from './tracking-record.ts';

export type DomainPatch = Pick<
  NewDomain,
  'open_tracking' | 'click_tracking' | 'tls' | 'tracking_subdomain' | 'capabilities'
>;

export async function updateDomain(
  ctx: Ctx,
  id: string,
  input: DomainPatch,
): Promise<{ object: 'domain'; id: string }> {
  mustReach(ctx.actor, 'full_access');
  mustBeCapable(input.capabilities);
  const { world, teamId } = ctx;
  const change = changeOf(input);
  const before = await findDomain(world.db, teamId, id);
  if (!before) throw notFound('Domain');
  if (Object.keys(change).length === 0) return { object: 'domain', id };
  const looked = await lookUpTracking(world, { ...before, ...change });
  await world.db.tx(async (tx) => {
    const held = await holdDomain(tx, teamId, id);
    if (!held) throw notFound('Domain');
    const after = { ...held, ...change };
    await changeDomain(tx, teamId, id, change);
    await publishTracking(world, tx, after, looked);
    const data = presentDomain(after, await recordsOf(tx, id));
    const at = world.clock.now();
    await recordEvents(tx, world.ids, [{ teamId, type: 'domain.updated', subjectId: id, data, at }]);
  });
  return { object: 'domain', id };
}

function changeOf(input: DomainPatch): DomainChange {
  const change: DomainChange = {};
  if (input.open_tracking !== undefined) change.open_tracking = input.open_tracking ? 1 : 0;
  if (input.click_tracking !== undefined) change.click_tracking = input.click_tracking ? 1 : 0;
  if (input.tls !== undefined) change.tls = input.tls;
  if (input.tracking_subdomain !== undefined) change.tracking_subdomain = input.tracking_subdomain.toLowerCase();
  return change;
}

/** What DNS says of the tracking record that a domain is about to have; asked before anything is held. */
async function lookUpTracking(world: World, domain: DomainRow): Promise<RecordRow | undefined> {
  const clash = returnPathClash(domain);
  if (clash) throw clash;
  const record = trackingRecord(world.config, domain);
  if (!record) return undefined;
  mustFitDns([record], 'tracking_subdomain');
  if (await stands(world.db, record)) return record;
  // The development profile's domain is verified without DNS, and a domain that nobody has verified waits for that.
  if (world.config.delivery.capture && domain.status === 'verified') return { ...record, status: 'verified' };
  if (world.config.delivery.capture || domain.checked_at === null) return record;
  const [checked] = await checkRecords(world.resolver, domain, [record], { cache: false });
  return { ...record, status: checked?.status ?? record.status };
}

/** A record that stands already keeps what is known of it. */
async function publishTracking(world: World, tx: Executor, domain: DomainRow, looked?: RecordRow): Promise<void> {
  const record = trackingRecord(world.config, domain);
  if (record && (await stands(tx, record))) return;
  // Somebody else may have changed the domain meanwhile: what was looked up is then of another name.
  const isSame = record !== undefined && looked?.name === record.name && looked.value === record.value;
  await replaceTrackingRecord(tx, domain.id, isSame ? looked : record);
}

async function stands(db: Executor, wanted: RecordRow): Promise<boolean> {
  const records = await recordsOf(db, wanted.domain_id);
  return records.some(({ record, name, value }) => {
    return record === wanted.record && name === wanted.name && value === wanted.value;
  });
}
