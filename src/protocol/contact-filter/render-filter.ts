import type { Filter, Place, Subscription } from './filter.ts';

export type FilterDialect = 'sqlite' | 'pg';

export interface Rendered {
  sql: string;
  values: (string | number)[];
}

const rendered = (sql: string, ...values: (string | number)[]): Rendered => ({ sql, values });

/**
 * Renders a filter as a condition on a row of contacts called `c`. Every part of it is true or false and never null, so
 * that it can be negated.
 */
export function renderFilter(filter: Filter, dialect: FilterDialect): Rendered {
  switch (filter.kind) {
    case 'all':
      return joined(filter.of, 'and', dialect);
    case 'any':
      return joined(filter.of, 'or', dialect);
    case 'none': {
      const { sql, values } = joined(filter.of, 'or', dialect);
      return { sql: `not ${sql}`, values };
    }
    case 'text':
      return text(filter, dialect);
    case 'number':
      return number(filter, dialect);
    case 'boolean': {
      const is = filter.value === (filter.op === 'eq');
      if (filter.place.of === 'unsubscribed') return rendered(`c.unsubscribed = ${is ? 1 : 0}`);
      return rendered(`${column(filter.place, 'boolean', dialect)} is ${literal(is, dialect)}`);
    }
    case 'exists':
      return rendered(`${column(filter.place, filter.type, dialect)} is ${filter.wanted ? 'not ' : ''}null`);
    case 'created':
      return rendered(`c.created_at ${OPERATORS[filter.op]} ?`, filter.ms);
    case 'topic':
      return topic(filter);
    case 'member':
      return rendered(
        'exists (select 1 from segment_members sm where sm.segment_id = ? and sm.contact_id = c.id)',
        filter.segmentId,
      );
    case 'never':
      return rendered('1 = 0');
  }
}

/** Compares as two-valued logic does: `is true` in PostgreSQL is what SQLite writes `is 1`. */
const literal = (value: boolean, dialect: FilterDialect): string =>
  dialect === 'pg' ? String(value) : value ? '1' : '0';

const OPERATORS = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function joined(parts: readonly Filter[], word: 'and' | 'or', dialect: FilterDialect): Rendered {
  if (parts.length === 0) return rendered(word === 'and' ? '1 = 1' : '1 = 0');
  const all = parts.map((part) => renderFilter(part, dialect));
  return { sql: `(${all.map(({ sql }) => sql).join(` ${word} `)})`, values: all.flatMap(({ values }) => values) };
}

const COLUMNS = { email: 'c.email_key', first_name: 'c.first_name_key', last_name: 'c.last_name_key' } as const;

/**
 * Returns the expression for a value of the row. Folded values are stored separately only if folding changes one of
 * them.
 */
function column(place: Place, type: 'string' | 'number' | 'boolean', dialect: FilterDialect): string {
  if (place.of !== 'property') return COLUMNS[place.of];
  const json = type === 'string' ? 'coalesce(c.folded, c.properties)' : 'c.properties';
  if (dialect === 'sqlite') return `json_extract(${json}, '$."${place.slot}"')`;
  const cast = { string: '', number: '::numeric', boolean: '::boolean' }[type];
  return `(${json} ->> '${place.slot}')${cast}`;
}

function text({ place, op, values }: Extract<Filter, { kind: 'text' }>, dialect: FilterDialect): Rendered {
  const at = column(place, 'string', dialect);
  const no = dialect === 'pg' ? 'false' : '0';
  if (op === 'contains') {
    const found = dialect === 'pg' ? `position(? in ${at}) > 0` : `instr(${at}, ?) > 0`;
    return rendered(`coalesce(${found}, ${no})`, ...values);
  }
  if (op === 'in') return rendered(`coalesce(${at} in (${values.map(() => '?').join(', ')}), ${no})`, ...values);
  return rendered(`coalesce(${at} ${OPERATORS[op]} ?, ${no})`, ...values);
}

function number({ place, op, values }: Extract<Filter, { kind: 'number' }>, dialect: FilterDialect): Rendered {
  const at = column(place, 'number', dialect);
  const no = dialect === 'pg' ? 'false' : '0';
  // The database reads both sides from decimal digits, so that they are rounded alike.
  const value = dialect === 'pg' ? '?::numeric' : 'cast(? as real)';
  const digits = values.map(String);
  if (op === 'in') return rendered(`coalesce(${at} in (${values.map(() => value).join(', ')}), ${no})`, ...digits);
  return rendered(`coalesce(${at} ${OPERATORS[op]} ${value}, ${no})`, ...digits);
}

function topic({ topicId, isDefault, subscription }: Extract<Filter, { kind: 'topic' }>): Rendered {
  const chosen =
    'exists (select 1 from contact_topics ct where ct.contact_id = c.id and ct.topic_id = ? and ct.subscription = ?)';
  if (!isDefault) return rendered(chosen, topicId, subscription);
  const other: Subscription = subscription === 'opt_in' ? 'opt_out' : 'opt_in';
  return rendered(`not ${chosen}`, topicId, other);
}

/** An access path to the contacts that a filter can match, through the index of property values or of members. */
export type IndexUse =
  /**
   * One range of an index, whose contacts are ordered by id. `rest` is the part of the filter that remains to be
   * checked.
   */
  | { kind: 'in order'; table: string; where: Rendered; rest: Filter }
  /** Unordered ids, possibly with duplicates. */
  | { kind: 'ids'; select: Rendered };

/**
 * Chooses the access path that is likely to read least; returns undefined if no condition of the filter has an index.
 */
export function chooseIndex(filter: Filter, dialect: FilterDialect): IndexUse | undefined {
  return inOrder(filter) ?? buildIdsUse(filter, dialect);
}

const chooseTable = (kind: 'text' | 'number' | 'boolean'): string =>
  kind === 'text' ? 'contact_texts' : 'contact_numbers';

function inOrder(filter: Filter): IndexUse | undefined {
  const parts = filter.kind === 'all' ? filter.of : [filter];
  for (const part of parts) {
    const found = buildRange(part);
    if (!found) continue;
    const rest: Filter = { kind: 'all', of: parts.filter((other) => other !== part) };
    return { kind: 'in order', ...found, rest };
  }
  return undefined;
}

function buildRange(part: Filter): { table: string; where: Rendered } | undefined {
  if (part.kind === 'member') {
    return { table: 'segment_members', where: { sql: 'segment_id = ?', values: [part.segmentId] } };
  }
  const range = (table: string, propertyId: string, value: string | number) => ({
    table,
    where: { sql: 'property_id = ? and value = ?', values: [propertyId, value] },
  });
  if (part.kind === 'boolean') {
    const propertyId = toPropertyId(part.place);
    const value = part.value === (part.op === 'eq') ? 1 : 0;
    return propertyId === undefined ? undefined : range(chooseTable('boolean'), propertyId, value);
  }
  if ((part.kind !== 'text' && part.kind !== 'number') || part.op !== 'eq') return undefined;
  const propertyId = toPropertyId(part.place);
  const [value] = part.values;
  return propertyId === undefined || value === undefined ? undefined : range(chooseTable(part.kind), propertyId, value);
}

const toPropertyId = (place: Place | { of: 'unsubscribed' }): string | undefined =>
  place.of === 'property' ? place.propertyId : undefined;

/** For `all`, one indexed part is enough; for `any`, every part needs an index. */
function buildIdsUse(filter: Filter, dialect: FilterDialect): IndexUse | undefined {
  const select = buildSelect(filter, dialect);
  return select && { kind: 'ids', select };
}

function buildSelect(filter: Filter, dialect: FilterDialect): Rendered | undefined {
  if (filter.kind === 'all') {
    for (const part of filter.of) {
      const select = buildSelect(part, dialect);
      if (select) return select;
    }
    return undefined;
  }
  if (filter.kind === 'any') {
    const selects = filter.of.map((part) => buildSelect(part, dialect));
    if (selects.length === 0 || !selects.every((select) => select !== undefined)) return undefined;
    return {
      sql: selects.map(({ sql }) => sql).join(' union all '),
      values: selects.flatMap(({ values }) => values),
    };
  }
  return conditionSelect(filter, dialect);
}

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
    return from(chooseTable(filter.type === 'string' ? 'text' : 'number'), filter.place.propertyId, '1 = 1', []);
  }
  return undefined;
}

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
