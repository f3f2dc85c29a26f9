/**
 * What an operation does to the world, by which the limits and the approvals of an app are decided. Least first: where several
 * hold for one call, the last of them counts.
 *
 * - `reads`: changes nothing.
 * - `changes`: changes what the team has, and no mail by it.
 * - `alters_mail`: writes text that mail of others says, such as a signature, a fallback or a draft.
 * - `sends`: mail to recipients that the call names, counted as it is accepted.
 * - `starts_mail`: mail may reach people whom the call does not name, through an automation, a confirmation or a link.
 * - `sends_broadcast`: mail to a segment.
 */
export const EFFECTS = ['reads', 'changes', 'alters_mail', 'sends', 'starts_mail', 'sends_broadcast'] as const;
export type Effect = (typeof EFFECTS)[number];

/** The effects of an operation that depend on what is said in its body, or on who wrote what it changes. */
export interface EffectRules {
  usually: Effect;
  /** By `field`, or `field=value`: the effect of a body that has it. */
  with?: Readonly<Record<string, Effect>>;
  /** The same of a body that has nothing else. */
  alone?: Readonly<Record<string, Effect>>;
  /** The effect where the app alone has written what is changed. */
  own?: Effect;
}

/** An operation of the contract, as far as it says what it does. */
interface Marked {
  method: string;
  operation: { 'x-service-effect'?: Effect | EffectRules };
}

/** Returns the effect of one call. An operation that does not say is taken for the one that does most, but for a GET. */
export function effectOf({ method, operation }: Marked, body: unknown, { isOwn = false } = {}): Effect {
  const rules = rulesOf({ method, operation });
  if (isOwn && rules.own !== undefined) return rules.own;
  const fields = typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as object) : {};
  const alone = Object.entries(rules.alone ?? {}).find(
    ([mark]) => has(fields, mark) && Object.keys(fields).length === 1,
  );
  if (alone) return alone[1];
  const found = Object.entries(rules.with ?? {}).flatMap(([mark, effect]) => (has(fields, mark) ? [effect] : []));
  return most([rules.usually, ...found]);
}

/** Returns the least effect that a call of the operation can have: a limit that refuses this one refuses every call. */
export function leastEffectOf(marked: Marked): Effect {
  const { usually, alone = {}, own } = rulesOf(marked);
  const all = [usually, ...Object.values(alone), ...(own === undefined ? [] : [own])];
  return EFFECTS.find((effect) => all.includes(effect)) ?? usually;
}

/** Whether the effect of a call depends on who wrote what it changes. */
export const asksForWriter = (marked: Marked): boolean => rulesOf(marked).own !== undefined;

function rulesOf({ method, operation }: Marked): EffectRules {
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
