import type { CreateInboundRuleRequest } from '../../contract/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { invalidFields, refuse } from '../../platform/refusal/index.ts';
import type { Ctx } from '../access/index.ts';
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
  const forwardTo = JSON.stringify(await readTargets(ctx, input.action, input.forward_to));
  const row: InboundRuleRow = {
    id: store.ids.uuid(),
    team_id: teamId,
    pattern,
    action: input.action,
    forward_to: forwardTo,
    created_at: store.clock.now(),
  };
  const known = await rulesOf(store.db, teamId);
  const same = known.find((rule) => rule.pattern === pattern);
  if (same) {
    if (same.action !== row.action || same.forward_to !== row.forward_to) throw patternTaken(pattern);
    return { object: 'inbound_rule' as const, id: same.id };
  }
  if (known.length >= RULES_MAX) throw tooMany();
  try {
    await store.db.tx((tx) => insertRule(tx, row));
  } catch (error) {
    throw isUniqueViolation(error) ? patternTaken(pattern) : error;
  }
  return { object: 'inbound_rule' as const, id: row.id };
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
