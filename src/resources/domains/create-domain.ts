import { recordEvents } from '../../events/index.ts';
import { planNamed } from '../../platform/config/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parseDomainName } from '../../protocol/address/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { nameTaken } from './conclude-check.ts';
import { newDkimKey } from './dkim-key.ts';
import {
  countDomains,
  findDomainByName,
  holdPlanOf,
  insertDomain,
  isVerifiedElsewhere,
  type DomainRow,
  type RecordRow,
} from './domains.store.ts';
import { expectedRecords } from './expected-records.ts';
import { presentDomain } from './present.ts';
import { returnPathClash } from './tracking-record.ts';

export interface NewDomain {
  name: string;
  region?: string;
  open_tracking?: boolean;
  click_tracking?: boolean;
  tracking_subdomain?: string;
  custom_return_path?: string;
  tls?: 'opportunistic' | 'enforced';
  capabilities?: { sending?: 'enabled' | 'disabled'; receiving?: 'enabled' | 'disabled' };
}

export async function createDomain(ctx: Ctx, input: NewDomain) {
  mustReach(ctx.actor, 'full_access');
  const { world, teamId } = ctx;
  const name = readName(input.name);
  mustBeCapable(input.capabilities);
  // Asked twice: now, because making a key is dear, and in the transaction, because others ask at the same time.
  await mustBeAddable(world, world.db, teamId, name);
  const made = await composeDomain(world, teamId, name, input);
  mustFitDns(made.records);
  const clash = returnPathClash(made.row);
  if (clash) throw clash;
  try {
    await world.db.tx(async (tx) => {
      await mustBeAddable(world, tx, teamId, name);
      await insertDomain(tx, made.row, made.records, made.key.row);
      await recordEvents(tx, world.ids, [
        {
          teamId,
          type: 'domain.created',
          subjectId: made.row.id,
          data: presentDomain(made.row, made.records),
          at: made.row.created_at,
        },
      ]);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? registeredAlready(name) : error;
  }
  return presentDomain(made.row, made.records);
}

export async function composeDomain(world: World, teamId: string, name: string, input: Omit<NewDomain, 'name'>) {
  const id = world.ids.uuid();
  const row: DomainRow = {
    id,
    team_id: teamId,
    name,
    status: 'not_started',
    region: input.region ?? world.config.team.default_region,
    open_tracking: input.open_tracking ? 1 : 0,
    click_tracking: input.click_tracking ? 1 : 0,
    tracking_subdomain: (input.tracking_subdomain ?? 'track').toLowerCase(),
    custom_return_path: (input.custom_return_path ?? 'send').toLowerCase(),
    tls: input.tls ?? 'opportunistic',
    created_at: world.clock.now(),
    asked_at: null,
    checked_at: null,
    first_checked_at: null,
    verified_at: null,
  };
  const key = await newDkimKey(world, id);
  const records: RecordRow[] = expectedRecords(world.config, row, key);
  return { row, records, key };
}

/** Sending is the only capability today, so a domain can neither receive nor be without it. */
export function mustBeCapable(capabilities: NewDomain['capabilities']): void {
  if (capabilities?.receiving === 'enabled') {
    throw refusedCapability('receiving', 'cannot be enabled: this installation sends only.');
  }
  if (capabilities?.sending === 'disabled') {
    throw refusedCapability('sending', 'cannot be disabled: it is all a domain is for; delete the domain instead.');
  }
}

function refusedCapability(name: string, why: string) {
  const message = `capabilities.${name} ${why}`;
  return refuse('validation_error', {
    status: 422,
    say: message,
    errors: [{ path: `capabilities.${name}`, message }],
  });
}

function readName(text: string): string {
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
  const message = `${path}: the record ${name.slice(0, 60)}… would have ${name.length} characters; at most ${DNS_NAME_CHARS_MAX} are possible.`;
  throw invalidFields([{ path, message }]);
}

async function mustBeAddable(world: World, db: Executor, teamId: string, name: string): Promise<void> {
  const { domain_limit: limit } = planNamed(world.config, await holdPlanOf(db, teamId)).plan;
  const count = await countDomains(db, teamId);
  if (await isVerifiedElsewhere(db, teamId, name)) throw nameTaken(name);
  if (await findDomainByName(db, teamId, name)) throw registeredAlready(name);
  if (count < limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} domains and it has ${count}; delete one first.`,
  });
}

const registeredAlready = (name: string) =>
  refuse('resource_locked', { say: `The domain ${name} is registered by this team already.` });
