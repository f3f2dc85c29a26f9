import { foldText, type PropertyType, type PropertyValue } from '../../protocol/contact-filter/index.ts';
import { isOneOf, isRecord, listed, type Known, type Report } from './graph.ts';

const DEPTH_MAX = 5;
const RULES_MAX = 50;
/** Each filter is read from the database by itself. */
const FILTERS_MAX = 10;
const TEXT_CHARS_MAX = 500;

const EITHER = ['eq', 'neq'] as const;
const OF_NUMBERS = ['gt', 'gte', 'lt', 'lte'] as const;
const OF_TEXTS = ['contains', 'starts_with', 'ends_with'] as const;
const WITHOUT_VALUE = ['exists', 'is_empty'] as const;
const OPERATORS = [...EITHER, ...OF_NUMBERS, ...OF_TEXTS, ...WITHOUT_VALUE] as const;

const FIELDS: Readonly<Record<string, PropertyType>> = {
  email: 'string',
  first_name: 'string',
  last_name: 'string',
  unsubscribed: 'boolean',
};

/** Checks a condition: a rule over the contact, a filter in the format of a segment, or a tree of them. */
export function checkRule(config: Readonly<Record<string, unknown>>, { properties }: Known, report: Report): void {
  let rules = 0;
  let filters = 0;
  let isDeep = false;
  visit(config, 1);
  if (isDeep) report(`may nest its rules at most ${DEPTH_MAX} deep`);
  if (rules > RULES_MAX) report(`may have at most ${RULES_MAX} rules; got ${rules}`);
  if (filters > FILTERS_MAX) report(`may have at most ${FILTERS_MAX} filters; got ${filters}`);

  function visit(node: unknown, depth: number): void {
    if (!isRecord(node)) return report('must contain rules, each an object');
    if (node['type'] === 'rule') {
      if (++rules <= RULES_MAX) leaf(node);
      return;
    }
    if (node['type'] === 'filter') {
      filters++;
      const { type: _type, filter, ...others } = node;
      if (Object.keys(others).length > 0)
        report(`has unknown fields besides type and filter: ${listed(Object.keys(others))}`);
      if (!isRecord(filter)) report('must have a filter, an object in the format of the filter of a segment');
      return;
    }
    if (node['type'] !== 'and' && node['type'] !== 'or')
      return report('must have nodes of the type rule, filter, and, or or');
    const { type, rules: inside, ...rest } = node;
    if (Object.keys(rest).length > 0) report(`has unknown fields besides type and rules: ${listed(Object.keys(rest))}`);
    if (!Array.isArray(inside) || inside.length === 0) return report(`must have at least one rule in ${type}`);
    if (depth >= DEPTH_MAX) return void (isDeep = true);
    for (const each of inside) visit(each, depth + 1);
  }

  function leaf({ type: _type, field, operator, value, ...rest }: Record<string, unknown>): void {
    if (Object.keys(rest).length > 0) report(`has unknown fields in a rule: ${listed(Object.keys(rest))}`);
    const type = typeof field === 'string' ? findType(field) : undefined;
    if (type === undefined) return report(noField(field));
    if (!isOneOf(OPERATORS, operator)) return report(`must have an operator: ${OPERATORS.join(', ')}`);
    const fault = isOneOf(WITHOUT_VALUE, operator) ? noValue(value) : valueFault(operator, type, value);
    if (fault !== undefined) report(`${field as string} ${operator} ${fault}`);
  }

  function findType(field: string): PropertyType | undefined {
    if (Object.hasOwn(FIELDS, field)) return FIELDS[field];
    return field.startsWith('properties.') ? properties.get(field.slice('properties.'.length)) : undefined;
  }
}

function noField(field: unknown): string {
  const may = `${Object.keys(FIELDS).join(', ')} or properties.<key>`;
  if (typeof field !== 'string') return `must have a field: ${may}`;
  const isProperty = field.startsWith('properties.');
  return isProperty
    ? `refers to ${listed([field])}, which is not declared`
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

/** Returns the value of a field of a contact: null if it has none, undefined if the field does not exist any more. */
export type RuleContact = (field: string) => PropertyValue | null | undefined;

/** Returns whether a contact meets a filter; undefined if something that it names does not exist any more. */
export type MeetsFilter = (filter: unknown) => boolean | undefined;

/**
 * Returns whether a contact meets a condition that was checked when its automation was written. Texts are compared as
 * in filters. A rule on a deleted property is unknown; returns undefined if the other rules do not decide without it.
 */
export function meetsRule(
  node: Readonly<Record<string, unknown>>,
  readField: RuleContact,
  meetsFilter: MeetsFilter,
): boolean | undefined {
  const { type, rules, field, operator, value, filter } = node;
  if (type === 'filter') return meetsFilter(filter);
  if (type === 'rule') {
    const own = readField(field as string);
    return own === undefined ? undefined : meets(operator as string, own, value);
  }
  const inside = (Array.isArray(rules) ? rules : [])
    .filter(isRecord)
    .map((one) => meetsRule(one, readField, meetsFilter));
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

/** Lists the filters in a condition. */
export function listRuleFilters(node: Readonly<Record<string, unknown>>): unknown[] {
  const { type, rules, filter } = node;
  if (type === 'filter') return [filter];
  return (Array.isArray(rules) ? rules : []).filter(isRecord).flatMap(listRuleFilters);
}

const REASONS_MAX = 10;
const VALUE_CHARS_SHOWN = 60;

/** Explains the rules of a condition for a contact: each with what the contact has, the first few of them. */
export function explainRule(
  node: Readonly<Record<string, unknown>>,
  readField: RuleContact,
  meetsFilter: MeetsFilter,
): string {
  const reasons = listLeaves(node).map((leaf) => explainLeaf(leaf, readField, meetsFilter));
  const more = reasons.length - REASONS_MAX;
  return reasons.slice(0, REASONS_MAX).join('; ') + (more > 0 ? ` and ${more} more` : '');
}

const listLeaves = (node: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] =>
  node['type'] === 'rule' || node['type'] === 'filter'
    ? [node]
    : (Array.isArray(node['rules']) ? node['rules'] : []).filter(isRecord).flatMap(listLeaves);

function explainLeaf(
  leaf: Readonly<Record<string, unknown>>,
  readField: RuleContact,
  meetsFilter: MeetsFilter,
): string {
  const isMet = meetsRule(leaf, readField, meetsFilter);
  const says = isMet === undefined ? 'is unknown' : isMet ? 'is met' : 'is not met';
  if (leaf['type'] === 'filter') return `the filter ${says}`;
  const { field, operator, value } = leaf;
  const wanted = value === undefined ? '' : ` ${showValue(value)}`;
  const own = readField(field as string);
  const has = own === undefined || own === null ? 'has no value' : `is ${showValue(own)}`;
  return `${field as string} ${operator as string}${wanted} ${says}: it ${has}`;
}

function showValue(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > VALUE_CHARS_SHOWN ? `${text.slice(0, VALUE_CHARS_SHOWN)}…` : text;
}

const folded = (value: unknown): unknown => (typeof value === 'string' ? foldText(value) : value);

function meets(operator: string, has: PropertyValue | null, value: unknown): boolean {
  const own = folded(has);
  const wanted = folded(value);
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
