import { recordEvents } from '../../events/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { parseDomainName } from '../../protocol/address/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { nameTaken } from './conclude-check.ts';
import { newDkimKey } from './dkim-key.ts';
import {
  countDomains,
  findDomainByName,
  insertDomain,
  isVerifiedElsewhere,
  type DomainRow,
  type RecordRow,
} from './domains.store.ts';
import { expectedRecords } from './expected-records.ts';
import { presentDomain } from './present.ts';

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
  mustNotAskForReceiving(input.capabilities);
  await mustHaveRoom(ctx);
  if (await isVerifiedElsewhere(world.db, teamId, name)) throw nameTaken(name);
  const made = await composeDomain(world, teamId, name, input);
  try {
    await world.db.tx(async (tx) => {
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
    if (isUniqueViolation(error) && (await findDomainByName(world.db, teamId, name))) {
      throw refuse('resource_locked', { say: `The domain ${name} is registered by this team already.` });
    }
    throw error;
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
    tracking_subdomain: input.tracking_subdomain ?? 'track',
    custom_return_path: input.custom_return_path ?? 'send',
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

export function mustNotAskForReceiving(capabilities: NewDomain['capabilities']): void {
  if (capabilities?.receiving !== 'enabled') return;
  const message = 'capabilities.receiving cannot be enabled: this installation sends only.';
  throw refuse('validation_error', {
    status: 422,
    say: message,
    errors: [{ path: 'capabilities.receiving', message }],
  });
}

function readName(text: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw invalidFields([{ path: 'name', message: `name: ${parsed.fault}` }]);
  return parsed.domain;
}

async function mustHaveRoom(ctx: Ctx): Promise<void> {
  const { config, db } = ctx.world;
  const team = await db.get<{ plan_code: string }>('select plan_code from teams where id = ?', [ctx.teamId]);
  const limit = config.plans[team?.plan_code ?? config.team.default_plan]?.domain_limit;
  const count = await countDomains(db, ctx.teamId);
  if (limit === undefined || count < limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} domains and it has ${count}; delete one first.`,
  });
}
