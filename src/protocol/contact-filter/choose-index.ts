import type { Filter, Place } from './filter.ts';
import type { FilterDialect, Rendered } from './render-filter.ts';

/** A way to the contacts that a filter can match, through the index of property values or of members. */
export type IndexUse =
  /** One range of an index, whose contacts stand in the order of their ids. `rest` is what is left to be met. */
  | { kind: 'in order'; table: string; where: Rendered; rest: Filter }
  /** Ids, in no order, each of them once or more often. */
  | { kind: 'ids'; select: Rendered };

/** The way that promises to read least; undefined where no condition of the filter has an index. */
export function chooseIndex(filter: Filter, dialect: FilterDialect): IndexUse | undefined {
  return inOrder(filter) ?? idsOf(filter, dialect);
}

const tableOf = (kind: 'text' | 'number' | 'boolean'): string =>
  kind === 'text' ? 'contact_texts' : 'contact_numbers';

function inOrder(filter: Filter): IndexUse | undefined {
  const parts = filter.kind === 'all' ? filter.of : [filter];
  for (const part of parts) {
    const found = rangeOf(part);
    if (!found) continue;
    const rest: Filter = { kind: 'all', of: parts.filter((other) => other !== part) };
    return { kind: 'in order', ...found, rest };
  }
  return undefined;
}

function rangeOf(part: Filter): { table: string; where: Rendered } | undefined {
  if (part.kind === 'member') {
    return { table: 'segment_members', where: { sql: 'segment_id = ?', values: [part.segmentId] } };
  }
  const range = (table: string, propertyId: string, value: string | number) => ({
    table,
    where: { sql: 'property_id = ? and value = ?', values: [propertyId, value] },
  });
  if (part.kind === 'boolean') {
    const propertyId = propertyOf(part.place);
    const value = part.value === (part.op === 'eq') ? 1 : 0;
    return propertyId === undefined ? undefined : range(tableOf('boolean'), propertyId, value);
  }
  if ((part.kind !== 'text' && part.kind !== 'number') || part.op !== 'eq') return undefined;
  const propertyId = propertyOf(part.place);
  const [value] = part.values;
  return propertyId === undefined || value === undefined ? undefined : range(tableOf(part.kind), propertyId, value);
}

const propertyOf = (place: Place | { of: 'unsubscribed' }): string | undefined =>
  place.of === 'property' ? place.propertyId : undefined;

/** Of several that must all be met, one is enough; of several of which one must be met, all are needed. */
function idsOf(filter: Filter, dialect: FilterDialect): IndexUse | undefined {
  const select = selectOf(filter, dialect);
  return select && { kind: 'ids', select };
}

function selectOf(filter: Filter, dialect: FilterDialect): Rendered | undefined {
  if (filter.kind === 'all') {
    for (const part of filter.of) {
      const select = selectOf(part, dialect);
      if (select) return select;
    }
    return undefined;
  }
  if (filter.kind === 'any') {
    const selects = filter.of.map((part) => selectOf(part, dialect));
    if (selects.length === 0 || !selects.every((select) => select !== undefined)) return undefined;
    return {
      sql: selects.map(({ sql }) => sql).join(' union all '),
      values: selects.flatMap(({ values }) => values),
    };
  }
  return conditionSelect(filter, dialect);
}

const OPERATORS = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function conditionSelect(filter: Filter, dialect: FilterDialect): Rendered | undefined {
  if (filter.kind === 'member') {
    return { sql: 'select contact_id from segment_members where segment_id = ?', values: [filter.segmentId] };
  }
  const from = (table: string, propertyId: string, where: string, values: readonly (string | number)[]): Rendered => ({
    sql: `select contact_id from ${table} where property_id = ? and ${where}`,
    values: [propertyId, ...values],
  });
  if (filter.kind === 'text' && filter.place.of === 'property') {
    const { op, place, values } = filter;
    if (op === 'contains') {
      const found = dialect === 'pg' ? 'position(? in value) > 0' : 'instr(value, ?) > 0';
      return from('contact_texts', place.propertyId, found, values);
    }
    const where = op === 'in' ? `value in (${marks(values)})` : `value ${OPERATORS[op]} ?`;
    return from('contact_texts', place.propertyId, where, values);
  }
  if (filter.kind === 'number' && filter.place.of === 'property') {
    const { op, place, values } = filter;
    const where = op === 'in' ? `value in (${marks(values)})` : `value ${OPERATORS[op]} ?`;
    return from('contact_numbers', place.propertyId, where, values);
  }
  if (filter.kind === 'boolean' && filter.place.of === 'property') {
    const is = filter.value === (filter.op === 'eq') ? 1 : 0;
    return from('contact_numbers', filter.place.propertyId, 'value = ?', [is]);
  }
  if (filter.kind === 'exists' && filter.wanted && filter.place.of === 'property') {
    return from(tableOf(filter.type === 'string' ? 'text' : 'number'), filter.place.propertyId, '1 = 1', []);
  }
  return undefined;
}

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
