import type { Effect, EffectRules } from '../../contract/index.ts';

/** All effects by severity, the least severe first. */
const EFFECTS = [
  'reads',
  'changes',
  'alters_mail',
  'sends',
  'starts_mail',
  'starts_mailing',
  'sends_broadcast',
] as const satisfies readonly Effect[];

/** The fields of an operation of the contract that decide its effect. */
interface Marked {
  method: string;
  operation: { 'x-service-effect'?: Effect | EffectRules };
}

/**
 * Returns the effect of one call. An operation without a declared effect counts as the most severe one, except a GET.
 */
export function computeEffect({ method, operation }: Marked, body: unknown, { isOwn = false } = {}): Effect {
  const rules = readEffectRules({ method, operation });
  const usually = isOwn ? (rules.own ?? rules.usually) : rules.usually;
  const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as object) : {};
  const alone = Object.entries(rules.alone ?? {}).find(
    ([mark]) => has(fields, mark) && Object.keys(fields).length === 1,
  );
  if (alone) return alone[1];
  const found = Object.entries(rules.with ?? {}).flatMap(([mark, effect]) => (has(fields, mark) ? [effect] : []));
  return most([usually, ...found]);
}

/** Returns the least effect that a call of the operation can have: a limit that refuses this one refuses every call. */
export function computeLeastEffect(marked: Marked): Effect {
  const { usually, alone = {}, own } = readEffectRules(marked);
  const all = [usually, ...Object.values(alone), ...(own === undefined ? [] : [own])];
  return EFFECTS.find((effect) => all.includes(effect)) ?? usually;
}

/** Reports whether the effect of a call depends on who wrote what it changes. */
export const asksForWriter = (marked: Marked): boolean => readEffectRules(marked).own !== undefined;

function readEffectRules({ method, operation }: Marked): EffectRules {
  const marked = operation['x-service-effect'];
  if (marked === undefined) return { usually: method === 'get' ? 'reads' : 'sends_broadcast' };
  return typeof marked === 'string' ? { usually: marked } : marked;
}

function has(fields: object, mark: string): boolean {
  const [name = '', value] = mark.split('=');
  if (!Object.hasOwn(fields, name)) return false;
  return value === undefined || String((fields as Record<string, unknown>)[name]) === value;
}

const most = (effects: readonly Effect[]): Effect =>
  EFFECTS.findLast((effect) => effects.includes(effect)) ?? 'sends_broadcast';
