import type { CreateInboundRuleRequest, UpdateInboundRuleRequest } from '../../contract/index.ts';
import { invalidFields, refuse, notFound, type FieldFault } from '../../platform/refusal.ts';
import { lockTeam, type Ctx } from '../../tenancy/access/index.ts';
import { findDomainByName, takesMailHere } from '../domains/index.ts';
import {
  insertRule,
  listRules,
  lockRule,
  updateRuleRow,
  deleteRuleRow,
  findRule,
  listRuleRows,
  type InboundRuleRow,
  type InboundAction,
} from './inbound-rules.store.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Page } from '../../platform/db/index.ts';
import { normalizeAddress, parseAddress, splitAddress } from '../../protocol/address/index.ts';

/** Matches any characters of a local part, including none; no address that a pattern is written for contains one. */
const WILDCARD = '*';
const EVERYTHING = '*';
/** Maximum number of wildcards: each one makes matching slower and a rule harder to understand. */
const WILDCARDS_MAX = 5;

type Pattern = { ok: true; pattern: string; domain: string | undefined } | { ok: false; fault: string };

/** Reads a pattern into the form in which addresses are compared; `domain` is missing if it matches everything. */
function readPattern(text: string): Pattern {
  const given = text.trim();
  if (given === EVERYTHING) return { ok: true, pattern: EVERYTHING, domain: undefined };
  const parts = splitAddress(given);
  const wildcards = given.split(WILDCARD).length - 1;
  if (!parts || parts.domain.includes(WILDCARD)) {
    return { ok: false, fault: 'pattern must be an address, a pattern such as support+*@example.com, or *' };
  }
  if (wildcards > WILDCARDS_MAX) {
    return { ok: false, fault: `pattern has ${wildcards} asterisks; use at most ${WILDCARDS_MAX}` };
  }
  // An asterisk is a character of an address as well, so that the text can be checked as one.
  const parsed = parseAddress(given);
  if (!parsed.ok) return { ok: false, fault: `pattern: ${parsed.fault}` };
  return { ok: true, pattern: normalizeAddress(parsed.mailbox.address), domain: parsed.mailbox.domain };
}

/** Reports whether a pattern matches a normalized address. */
function isMatch(pattern: string, address: string): boolean {
  if (pattern === EVERYTHING) return true;
  const [first = '', ...others] = pattern.split(WILDCARD);
  const last = others.pop();
  if (last === undefined) return address === pattern;
  if (!address.startsWith(first) || !address.endsWith(last)) return false;
  const end = address.length - last.length;
  let at = first.length;
  for (const piece of others) {
    const found = address.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= end;
}

/** Ranks patterns: an address before any pattern, then the one with more fixed characters. */
const specificity = (pattern: string): number =>
  pattern.includes(WILDCARD) ? pattern.replaceAll(WILDCARD, '').length : Number.POSITIVE_INFINITY;

/** Maximum number of rules, which are all read for each message that arrives. */
const RULES_MAX = 200;

/** Creates a rule; if an equal rule exists, returns that one. */
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
    const known = await listRules(tx, teamId);
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
    const message = `${read.domain} is not a domain of this team; add it first`;
    throw invalidFields([{ path: 'pattern', message }]);
  }
  return read.pattern;
}

const patternTaken = (pattern: string) =>
  refuse('validation_error', {
    status: 422,
    say: `There is already a different rule for ${pattern}; change that rule, or delete it first.`,
  });

const tooMany = () =>
  refuse('validation_error', { status: 422, say: `A team may have at most ${RULES_MAX} rules; delete one first.` });

/** Returns the rule that decides about an address, of a team's rules with the oldest first. */
export function ruleFor(rules: readonly InboundRuleRow[], address: string): InboundRuleRow | undefined {
  const key = normalizeAddress(address);
  let best: InboundRuleRow | undefined;
  for (const rule of rules) {
    if (isMatch(rule.pattern, key) && (!best || specificity(rule.pattern) > specificity(best.pattern))) best = rule;
  }
  return best;
}

export async function deleteInboundRule({ store, teamId }: Ctx, id: string) {
  if (!(await store.db.tx((tx) => deleteRuleRow(tx, teamId, id)))) throw notFound('Inbound rule');
  return { object: 'inbound_rule' as const, id, deleted: true as const };
}

export async function updateInboundRule({ store, teamId }: Ctx, id: string, input: UpdateInboundRuleRequest) {
  await store.db.tx(async (tx) => {
    const row = await lockRule(tx, teamId, id);
    if (!row) throw notFound('Inbound rule');
    const { action = row.action } = input;
    const stays = action === 'forward' && row.action === 'forward' ? readStoredTargets(row) : undefined;
    const targets = await readTargets({ ...store, db: tx }, action, input.forward_to ?? stays);
    await updateRuleRow(tx, { id, action, forward_to: JSON.stringify(targets) });
  });
  return { object: 'inbound_rule' as const, id };
}

export async function getInboundRule({ store, teamId }: Ctx, id: string) {
  const row = await findRule(store.db, teamId, id);
  if (!row) throw notFound('Inbound rule');
  return { object: 'inbound_rule' as const, ...present(row) };
}

export async function listInboundRules({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await listRuleRows(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(present) };
}

export const readStoredTargets = ({ forward_to: list }: Pick<InboundRuleRow, 'forward_to'>): string[] =>
  JSON.parse(list) as string[];

const present = (row: InboundRuleRow) => ({
  id: row.id,
  pattern: row.pattern,
  action: row.action,
  forward_to: readStoredTargets(row),
  created_at: isoTime(row.created_at),
});

/**
 * Reads the addresses that a rule forwards to, each once; refuses those that could send mail back to this installation.
 */
async function readTargets(
  store: Parameters<typeof takesMailHere>[0],
  action: InboundAction,
  given: readonly string[] | undefined,
): Promise<string[]> {
  if (action !== 'forward') {
    if (given === undefined) return [];
    throw refuse('validation_error', {
      status: 422,
      ...ofForwardTo(`forward_to can only be used with the action forward; omit it with ${action}.`),
    });
  }
  if (given === undefined) {
    throw refuse('validation_error', {
      status: 422,
      ...ofForwardTo('forward_to is missing; send 1 to 10 addresses to forward mail to.'),
    });
  }
  const faults: FieldFault[] = [];
  const targets = new Map<string, string>();
  for (const [i, text] of given.entries()) {
    const parsed = parseAddress(text.trim());
    if (!parsed.ok) {
      faults.push({ path: `forward_to.${i}`, message: parsed.fault });
      continue;
    }
    const { address, domain } = parsed.mailbox;
    if (await takesMailHere(store, domain)) {
      const message = `${domain} receives its mail at this installation, which could cause a mail loop; use an address elsewhere`;
      faults.push({ path: `forward_to.${i}`, message });
      continue;
    }
    const key = normalizeAddress(address);
    if (!targets.has(key)) targets.set(key, address);
  }
  if (faults.length > 0) throw invalidFields(faults);
  return [...targets.values()];
}

const ofForwardTo = (say: string) => ({ say, errors: [{ path: 'forward_to', message: say }] });
