import { foldText, type PropertyValue } from '../../../protocol/contact-filter/index.ts';
import { isRecord } from './faults.ts';

/** Returns the value of a field of a contact: null if it has none, undefined if the field does not exist any more. */
export type RuleContact = (field: string) => PropertyValue | null | undefined;

/**
 * Returns whether a contact meets a condition that was checked when its automation was written. Texts are compared as
 * in filters. A rule on a deleted property is unknown; returns undefined if the other rules do not decide without it.
 */
export function meetsRule(node: Readonly<Record<string, unknown>>, valueOf: RuleContact): boolean | undefined {
  const { type, rules, field, operator, value } = node;
  if (type === 'rule') {
    const own = valueOf(field as string);
    return own === undefined ? undefined : meets(operator as string, own, value);
  }
  const inside = (Array.isArray(rules) ? rules : []).filter(isRecord).map((one) => meetsRule(one, valueOf));
  const decisive = type !== 'and';
  if (inside.includes(decisive)) return decisive;
  return inside.includes(undefined) ? undefined : !decisive;
}

/** Lists the fields that the rules of a condition name. */
export function listRuleFields(node: Readonly<Record<string, unknown>>): string[] {
  const { type, rules, field } = node;
  if (type === 'rule') return [String(field)];
  return (Array.isArray(rules) ? rules : []).filter(isRecord).flatMap(listRuleFields);
}

const folded = (value: unknown): unknown => (typeof value === 'string' ? foldText(value) : value);

function meets(operator: string, has: PropertyValue | null, value: unknown): boolean {
  const [own, wanted] = [folded(has), folded(value)];
  switch (operator) {
    case 'exists':
      return has !== null;
    case 'is_empty':
      return has === null || has === '';
    case 'eq':
      return own === wanted;
    case 'neq':
      return own !== wanted;
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return typeof own === 'number' && typeof wanted === 'number' && compares(operator, own, wanted);
    default:
      return typeof own === 'string' && typeof wanted === 'string' && holds(operator, own, wanted);
  }
}

function compares(operator: 'gt' | 'gte' | 'lt' | 'lte', own: number, wanted: number): boolean {
  if (operator === 'gt') return own > wanted;
  if (operator === 'gte') return own >= wanted;
  return operator === 'lt' ? own < wanted : own <= wanted;
}

function holds(operator: string, own: string, wanted: string): boolean {
  if (operator === 'starts_with') return own.startsWith(wanted);
  return operator === 'ends_with' ? own.endsWith(wanted) : own.includes(wanted);
}
