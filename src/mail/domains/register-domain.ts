import { planNamed } from '../../platform/config/index.ts';
import { isUniqueViolation, type Executor } from '../../platform/db/index.ts';
import { invalidFields, refuse, type Refusal } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { parseDomainName } from '../../protocol/address/index.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import { mustBeOfUse } from './capabilities.ts';
import { addDomain, composeDomain } from './compose-domain.ts';
import { nameTaken } from './save-checks.ts';
import type { RecordRow } from './domain-rows.ts';
import { countDomains, findDomainByName, isOwnedElsewhere } from './domains.store.ts';
import type { NewDomain } from './new-domain.ts';
import { presentDomain } from './present.ts';
import { returnPathClash } from './tracking-record.ts';

/** Adds a domain to a team; whether its mail arrives elsewhere today has been asked already where that matters. */
export async function registerDomain(ctx: Ctx, input: NewDomain) {
  const { store, teamId } = ctx;
  const name = readDomainName(input.name);
  // Asked twice: now, because making a key takes long, and in the transaction, because others ask at the same time.
  await mustBeAddable(store, store.db, teamId, name);
  const made = await composeDomain(store, teamId, name, input);
  mustBeOfUse(made.row, 'sending');
  mustFitDns(made.records);
  const clash = returnPathClash(made.row);
  if (clash) throw clash;
  try {
    await store.db.tx(async (tx) => {
      await mustBeAddable(store, tx, teamId, name);
      await addDomain(store, tx, made);
    });
  } catch (error) {
    throw isUniqueViolation(error) ? registeredAlready(name) : error;
  }
  return presentDomain(made.row, made.records);
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
  const message = `${path}: the record ${name.slice(0, 60)}… would have ${name.length} characters; at most ${DNS_NAME_CHARS_MAX} are possible.`;
  throw invalidFields([{ path, message }]);
}

/** Whether a team may add this name now; asked again in the transaction that adds it. */
export async function mustBeAddable(store: Store, db: Executor, teamId: string, name: string): Promise<void> {
  const full = await planFull(store, db, teamId);
  if (await isOwnedElsewhere(db, teamId, name)) throw nameTaken(name);
  if (await findDomainByName(db, teamId, name)) throw registeredAlready(name);
  if (full) throw full;
}

/** The refusal of one domain more than the team's plan allows. The plan is held, and domains are added one at a time. */
export async function planFull(store: Store, db: Executor, teamId: string): Promise<Refusal | undefined> {
  const { domain_limit: limit } = planNamed(store.config, await lockTeam(db, teamId)).plan;
  const count = await countDomains(db, teamId);
  if (count < limit) return undefined;
  return refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} domains and it has ${count}; delete one first.`,
  });
}

const registeredAlready = (name: string) =>
  refuse('resource_locked', { say: `The domain ${name} is registered by this team already.` });
