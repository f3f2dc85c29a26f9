import { foldText, type PropertyValue } from '../../protocol/contact-filter/index.ts';
import { isRecord } from './faults.ts';

/** What rules ask of a contact: the value of a field, null where it has none. */
export type RuleContact = (field: string) => PropertyValue | null;

/** Whether a contact meets a condition that was checked when its automation was written. Texts are compared as filters do. */
export function meetsRule(node: Readonly<Record<string, unknown>>, valueOf: RuleContact): boolean {
  const { type, rules, field, operator, value } = node;
  if (type === 'rule') return meets(operator as string, valueOf(field as string), value);
  const inside = (Array.isArray(rules) ? rules : []).filter(isRecord);
  return type === 'and'
    ? inside.every((one) => meetsRule(one, valueOf))
    : inside.some((one) => meetsRule(one, valueOf));
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
