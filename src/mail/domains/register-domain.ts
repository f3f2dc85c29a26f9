import { planNamed } from '../../platform/config/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { invalidFields, refuse, type Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { parseDomainName } from '../../protocol/address/index.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import { mustBeOfUse } from './domain-state.ts';
import { nameTaken } from './save-checks.ts';
import type { RecordRow, DkimKeyRow, DomainRow } from './domain-rows.ts';
import { countDomains, findDomainByName, isOwnedElsewhere, insertDomain } from './domains.store.ts';
import { presentDomain, presentDomainEvent } from './present.ts';
import { returnPathClash, newDkimKeys, expectedRecords } from './domain-records.ts';
import { mustAllowEnforcing, mustAllowMode } from './mta-sts.ts';
import { recordEvents } from '../events/index.ts';
import type { Region } from '../../contract/index.ts';

/** Adds a domain to a team. The caller has checked whether its mail arrives elsewhere today, if that matters. */
export async function registerDomain(ctx: Ctx, input: NewDomain) {
  const { store, teamId } = ctx;
  const name = readDomainName(input.name);
  // Checked twice: now, because making a key takes long, and in the transaction, because of concurrent requests.
  await mustBeAddable(store, store.db, teamId, name);
  if (input.mta_sts === 'enforce') mustAllowEnforcing('off', []);
  const made = await composeDomain(store, teamId, name, input);
  mustBeOfUse(made.row, 'sending');
  mustFitDns(made.records);
  const clash = returnPathClash(made.row);
  if (clash) throw clash;
  mustAllowMode(made.row);
  try {
    await store.db.tx(async (tx) => {
      await mustBeAddable(store, tx, teamId, name);
      await addDomain(store, tx, made);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? registeredAlready(name) : error;
  }
  return presentDomain(store, made.row, made.records);
}

export function readDomainName(text: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw invalidFields([{ path: 'name', message: `name: ${parsed.fault}` }]);
  return parsed.domain;
}

/** RFC 1035 §2.3.4: 253 characters, which our own labels in front of the name count towards. */
const DNS_NAME_CHARS_MAX = 253;

export function mustFitDns(records: readonly RecordRow[], path: keyof NewDomain = 'name'): void {
  const tooLong = records.find((record) => record.name.length > DNS_NAME_CHARS_MAX);
  if (!tooLong) return;
  const { name } = tooLong;
  const message = `${path}: the record ${name.slice(0, 60)}… would have ${name.length} characters; at most ${DNS_NAME_CHARS_MAX} are allowed.`;
  throw invalidFields([{ path, message }]);
}

/** Refuses if a team may not add this name now; called again in the transaction that adds it. */
export async function mustBeAddable(store: Store, db: Executor, teamId: string, name: string): Promise<void> {
  const full = await planFull(store, db, teamId);
  if (await isOwnedElsewhere(db, teamId, name)) throw nameTaken(name);
  if (await findDomainByName(db, teamId, name)) throw registeredAlready(name);
  if (full) throw full;
}

/**
 * Returns the refusal if one domain more exceeds the team's plan. Locks the team, so that domains are added one at a
 * time.
 */
export async function planFull(store: Store, db: Executor, teamId: string): Promise<Refusal | undefined> {
  const { domain_limit: limit } = planNamed(store.config, await lockTeam(db, teamId)).plan;
  const count = await countDomains(db, teamId);
  if (count < limit) return undefined;
  return refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} domains, and it has ${count}; delete one first.`,
  });
}

const registeredAlready = (name: string) =>
  refuse('resource_locked', { say: `The domain ${name} is already registered by this team.` });

export interface NewDomain {
  name: string;
  region?: Region;
  open_tracking?: boolean;
  click_tracking?: boolean;
  tracking_subdomain?: string;
  custom_return_path?: string;
  tls?: 'opportunistic' | 'enforced';
  tls_verify?: boolean;
  mta_sts?: DomainRow['mta_sts'];
  capabilities?: { sending?: 'enabled' | 'disabled'; receiving?: 'enabled' | 'disabled' };
}

export type DomainPatch = Pick<
  NewDomain,
  'open_tracking' | 'click_tracking' | 'tls' | 'tls_verify' | 'tracking_subdomain' | 'mta_sts' | 'capabilities'
> & { confirm_replace_mx?: boolean };

/**
 * Makes a domain of the development profile, verified without DNS: nothing that it signs can leave the machine. The
 * plan's limit of domains does not apply, so that a test may send from as many as it likes.
 */
export async function createVerifiedDomain(store: Store, teamId: string, name: string): Promise<DomainRow> {
  if (!store.config.delivery.capture)
    throw new Error('verification without DNS was requested on a server whose mail can leave the machine');
  const made = await composeDomain(store, teamId, name, { capabilities: { receiving: 'enabled' } });
  const now = store.clock.now();
  const verified = {
    status: 'verified' as const,
    checked_at: now,
    first_checked_at: now,
    verified_at: now,
    held_at: now,
    receiving_verified_at: now,
  };
  const row: DomainRow = { ...made.row, ...verified };
  const records = made.records.map((record) => ({ ...record, status: 'verified' as const }));
  await store.db.tx((tx) => insertDomain(tx, row, records, made.keys));
  return (await findDomainByName(store.db, teamId, name)) ?? row;
}

export interface MadeDomain {
  row: DomainRow;
  records: RecordRow[];
  keys: DkimKeyRow[];
}

/**
 * Composes a domain with new keys and all records that it requires. Writes nothing yet, because making keys takes long.
 */
export async function composeDomain(
  store: Store,
  teamId: string,
  name: string,
  input: Omit<NewDomain, 'name'>,
): Promise<MadeDomain> {
  const id = store.ids.uuid();
  const now = store.clock.now();
  const receiving = input.capabilities?.receiving ?? 'unsupported';
  const row: DomainRow = {
    id,
    team_id: teamId,
    name,
    status: 'not_started',
    region: input.region ?? store.config.team.default_region,
    open_tracking: input.open_tracking ? 1 : 0,
    click_tracking: input.click_tracking ? 1 : 0,
    tracking_subdomain: (input.tracking_subdomain ?? 'track').toLowerCase(),
    former_tracking_subdomains: null,
    custom_return_path: (input.custom_return_path ?? 'send').toLowerCase(),
    tls: input.tls ?? 'opportunistic',
    tls_verify: input.tls_verify ? 1 : 0,
    sending: input.capabilities?.sending ?? 'enabled',
    receiving,
    created_at: now,
    asked_at: null,
    checked_at: null,
    first_checked_at: null,
    verified_at: null,
    held_at: null,
    failing_since: null,
    receiving_since: receiving === 'enabled' ? now : null,
    receiving_verified_at: null,
    receiving_failing_since: null,
    lost_at: null,
    receiving_lost_at: null,
    mta_sts: input.mta_sts ?? 'off',
    sts_cached_until: null,
  };
  const keys = await newDkimKeys(store, id);
  return { row, records: await expectedRecords(store, store.db, row, keys), keys };
}

/** Writes a composed domain and its event; the caller has checked that the team may have it. */
export async function addDomain(store: Store, tx: Executor, made: MadeDomain): Promise<void> {
  await insertDomain(tx, made.row, made.records, made.keys);
  const data = presentDomainEvent(made.row, made.records);
  await recordEvents(tx, store.ids, [
    { teamId: made.row.team_id, type: 'domain.created', subjectId: made.row.id, data, at: made.row.created_at },
  ]);
}
