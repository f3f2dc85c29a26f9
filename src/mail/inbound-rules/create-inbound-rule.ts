import type { CreateInboundRuleRequest } from '../../contract/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import { findDomainByName } from '../domains/index.ts';
import { insertRule, rulesOf, type InboundRuleRow } from './inbound-rules.store.ts';
import { readPattern } from './pattern.ts';
import { readTargets } from './read-targets.ts';

/** All of them are read with each message that comes in. */
const RULES_MAX = 200;

/** A create that says what a rule says already is answered with that rule. */
export async function createInboundRule(ctx: Ctx, input: CreateInboundRuleRequest) {
  const { store, teamId } = ctx;
  const pattern = await readOwnPattern(ctx, input.pattern);
  const forwardTo = JSON.stringify(await readTargets(store, input.action, input.forward_to));
  const row: InboundRuleRow = {
    id: store.ids.uuid(),
    team_id: teamId,
    pattern,
    action: input.action,
    forward_to: forwardTo,
    created_at: store.clock.now(),
  };
  const id = await store.db.tx(async (tx) => {
    await lockTeam(tx, teamId);
    const known = await rulesOf(tx, teamId);
    const same = known.find((rule) => rule.pattern === pattern);
    if (same) {
      if (same.action !== row.action || same.forward_to !== row.forward_to) throw patternTaken(pattern);
      return same.id;
    }
    if (known.length >= RULES_MAX) throw tooMany();
    await insertRule(tx, row);
    return row.id;
  });
  return { object: 'inbound_rule' as const, id };
}

async function readOwnPattern({ store, teamId }: Ctx, text: string): Promise<string> {
  const read = readPattern(text);
  if (!read.ok) throw invalidFields([{ path: 'pattern', message: read.fault }]);
  if (read.domain !== undefined && !(await findDomainByName(store.db, teamId, read.domain))) {
    const message = `${read.domain} is no domain of this team; add it first`;
    throw invalidFields([{ path: 'pattern', message }]);
  }
  return read.pattern;
}

const patternTaken = (pattern: string) =>
  refuse('validation_error', {
    status: 422,
    say: `There is a rule for ${pattern} already that says something else; change that one, or delete it first.`,
  });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${RULES_MAX} rules; delete one first.` });
