import type { PropertyType } from '../../../protocol/contact-filter/index.ts';
import { isOneOf, isRecord, listed } from './faults.ts';
import type { Known, Tell } from './known.ts';

const DEPTH_MAX = 5;
const RULES_MAX = 50;
const TEXT_CHARS_MAX = 500;

const EITHER = ['eq', 'neq'] as const;
const OF_NUMBERS = ['gt', 'gte', 'lt', 'lte'] as const;
const OF_TEXTS = ['contains', 'starts_with', 'ends_with'] as const;
const WITHOUT_VALUE = ['exists', 'is_empty'] as const;
const OPERATORS = [...EITHER, ...OF_NUMBERS, ...OF_TEXTS, ...WITHOUT_VALUE] as const;

const FIELDS: Readonly<Record<string, PropertyType>> = {
  ...{ email: 'string', first_name: 'string', last_name: 'string', unsubscribed: 'boolean' },
};

/** A condition: a rule over the contact, or a tree of them. */
export function checkRule(config: Readonly<Record<string, unknown>>, { properties }: Known, tell: Tell): void {
  let rules = 0;
  let isDeep = false;
  visit(config, 1);
  if (isDeep) tell(`may nest its rules at most ${DEPTH_MAX} deep`);
  if (rules > RULES_MAX) tell(`may have at most ${RULES_MAX} rules; got ${rules}`);

  function visit(node: unknown, depth: number): void {
    if (!isRecord(node)) return tell('must hold rules, each an object');
    if (node['type'] === 'rule') {
      if (++rules <= RULES_MAX) leaf(node);
      return;
    }
    if (node['type'] !== 'and' && node['type'] !== 'or') return tell('must have nodes of type rule, and or or');
    const { type, rules: inside, ...rest } = node;
    if (Object.keys(rest).length > 0) tell(`has unknown fields beside type and rules: ${listed(Object.keys(rest))}`);
    if (!Array.isArray(inside) || inside.length === 0) return tell(`must have rules behind ${type}, at least one`);
    if (depth >= DEPTH_MAX) return void (isDeep = true);
    for (const each of inside) visit(each, depth + 1);
  }

  function leaf({ type: _type, field, operator, value, ...rest }: Record<string, unknown>): void {
    if (Object.keys(rest).length > 0) tell(`has unknown fields in a rule: ${listed(Object.keys(rest))}`);
    const type = typeof field === 'string' ? typeOf(field) : undefined;
    if (type === undefined) return tell(noField(field));
    if (!isOneOf(OPERATORS, operator)) return tell(`must have an operator: ${OPERATORS.join(', ')}`);
    const fault = isOneOf(WITHOUT_VALUE, operator) ? noValue(value) : valueFault(operator, type, value);
    if (fault !== undefined) tell(`${field as string} ${operator} ${fault}`);
  }

  function typeOf(field: string): PropertyType | undefined {
    if (Object.hasOwn(FIELDS, field)) return FIELDS[field];
    return field.startsWith('properties.') ? properties.get(field.slice('properties.'.length)) : undefined;
  }
}

function noField(field: unknown): string {
  const may = `${Object.keys(FIELDS).join(', ')} or properties.<key>`;
  if (typeof field !== 'string') return `must have a field: ${may}`;
  const isProperty = field.startsWith('properties.');
  return isProperty
    ? `names ${listed([field])}, which is not declared`
    : `has the field ${listed([field])}; known are ${may}`;
}

const noValue = (value: unknown): string | undefined => (value === undefined ? undefined : 'takes no value');

function valueFault(
  operator: Exclude<(typeof OPERATORS)[number], (typeof WITHOUT_VALUE)[number]>,
  type: PropertyType,
  value: unknown,
): string | undefined {
  const wanted = isOneOf(OF_NUMBERS, operator) ? 'number' : isOneOf(OF_TEXTS, operator) ? 'string' : type;
  if (wanted !== type) return `is for a ${wanted}; the field is a ${type}`;
  if (isOneOf(EITHER, operator) && value === null) return undefined;
  if (typeof value !== wanted) return `needs a value that is a ${wanted}`;
  if (typeof value === 'string' && value.length > TEXT_CHARS_MAX) return `takes at most ${TEXT_CHARS_MAX} characters`;
  return undefined;
}
