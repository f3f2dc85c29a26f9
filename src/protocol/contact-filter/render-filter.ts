import type { EngagementKind, Filter, Place, Subscription } from './filter.ts';

export type FilterDialect = 'sqlite' | 'pg';

export interface Rendered {
  sql: string;
  values: (string | number)[];
}

const rendered = (sql: string, ...values: (string | number)[]): Rendered => ({ sql, values });

/**
 * Renders a filter as a condition on a row of contacts called `c`, and of `contact_engagement` called `e` if
 * `needsEngagement` says so: all columns of `e` are null for a contact that has no such row. Every part of the condition
 * is true or false and never null, so that it can be negated.
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
    case 'engaged':
      return since(COLUMN_OF[filter.what], filter.since, dialect);
    case 'inactive':
      return inactive(filter.since, dialect);
    case 'recipient': {
      const { sql, values } = buildRecipientCondition(filter, 'r');
      return rendered(
        `exists (select 1 from broadcast_recipients r where r.broadcast_id = ? and r.contact_id = c.id and ${sql})`,
        filter.broadcastId,
        ...values,
      );
    }
    case 'link':
      return rendered(
        `exists (select 1 from contact_link_clicks k
          where k.team_id = c.team_id and k.url_hash = ? and k.contact_id = c.id and k.last_at >= ?)`,
        filter.linkHash,
        filter.since ?? 0,
      );
    case 'event':
      return rendered(
        'exists (select 1 from contact_custom_events v where v.custom_event_id = ? and v.contact_id = c.id and v.last_at >= ?)',
        filter.eventId,
        filter.since ?? 0,
      );
    case 'never':
      return rendered('1 = 0');
  }
}

/** Reports whether the condition of a filter is also one on the engagement of the contact. */
export function needsEngagement(filter: Filter): boolean {
  if ('of' in filter) return filter.of.some(needsEngagement);
  return filter.kind === 'engaged' || filter.kind === 'inactive';
}

const COLUMN_OF: Record<EngagementKind, string> = {
  sent: 'last_sent_at',
  delivered: 'last_delivered_at',
  opened: 'last_opened_at',
  clicked: 'last_clicked_at',
};

function since(column: string, at: number | null, dialect: FilterDialect): Rendered {
  if (at === null) return rendered(`e.${column} is not null`);
  return rendered(`coalesce(e.${column} >= ?, ${literal(false, dialect)})`, at);
}

function inactive(at: number, dialect: FilterDialect): Rendered {
  const parts = [
    rendered(`coalesce(e.first_sent_at <= ?, ${literal(false, dialect)})`, at),
    since('last_sent_at', at, dialect),
    ...[since('last_opened_at', at, dialect), since('last_clicked_at', at, dialect)].map(({ sql, values }) =>
      rendered(`not ${sql}`, ...values),
    ),
  ];
  return { sql: `(${parts.map(({ sql }) => sql).join(' and ')})`, values: parts.flatMap(({ values }) => values) };
}

/** Renders the condition on a row of the report: the mail was opened, say, or a link in it was clicked. */
function buildRecipientCondition(
  { what, linkHash, broadcastId }: Extract<Filter, { kind: 'recipient' }>,
  row: string,
): Rendered {
  if (linkHash === null) return rendered(`${row}.${what} > 0`);
  return rendered(
    `exists (select 1 from broadcast_link_clicks b where b.email_id = ${row}.email_id
      and b.link_id in (select id from broadcast_links where broadcast_id = ? and plain_hash = ?))`,
    broadcastId,
    linkHash,
  );
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

/** One range of an index, whose contacts are ordered by id. The row of the index is called `i`. */
export interface IndexRange {
  table: string;
  where: Rendered;
  /** A further condition on the rows of the range. */
  also?: Rendered;
}

/** Access paths to the contacts that a filter can match. */
export interface IndexChoice {
  /** A range of an index, and the part of the filter that remains to be checked. */
  range?: IndexRange & { rest: Filter };
  /** Selects ids, unordered and possibly with duplicates; worth reading only if they are few. */
  ids?: Rendered;
  /** Every match has had mail that was written for it, so that only contacts with engagement have to be read. */
  isOfMailed: boolean;
}

/** Chooses the access paths that are likely to read least. */
export function chooseIndex(
  filter: Filter,
  { dialect, teamId }: { dialect: FilterDialect; teamId: string },
): IndexChoice {
  const parts = filter.kind === 'all' ? filter.of : [filter];
  for (const part of parts) {
    const range = buildRange(part, { dialect, teamId });
    if (!range) continue;
    const rest: Filter = { kind: 'all', of: parts.filter((other) => other !== part) };
    return { range: { ...range, rest }, isOfMailed: false };
  }
  const ids = buildSelect(filter, { dialect, teamId });
  return { ...(ids && { ids }), isOfMailed: impliesMail(filter) };
}

function impliesMail(filter: Filter): boolean {
  if (filter.kind === 'all') return filter.of.some(impliesMail);
  if (filter.kind === 'any') return filter.of.length > 0 && filter.of.every(impliesMail);
  return filter.kind === 'engaged' || filter.kind === 'inactive';
}

interface Database {
  dialect: FilterDialect;
  teamId: string;
}

const chooseTable = (kind: 'text' | 'number' | 'boolean'): string =>
  kind === 'text' ? 'contact_texts' : 'contact_numbers';

function buildRange(part: Filter, { dialect, teamId }: Database): IndexRange | undefined {
  if (part.kind === 'member') {
    return { table: 'segment_members', where: rendered('i.segment_id = ?', part.segmentId) };
  }
  if (part.kind === 'recipient') {
    // The plus keeps SQLite from reading an index of the report that is not in the order of contacts.
    const plus = dialect === 'sqlite' && part.linkHash === null ? '+' : '';
    const { sql, values } = buildRecipientCondition(part, 'i');
    return {
      table: 'broadcast_recipients',
      where: rendered('i.broadcast_id = ? and i.contact_id is not null', part.broadcastId),
      also: { sql: `${plus}${sql}`, values },
    };
  }
  if (part.kind === 'link' || part.kind === 'event') {
    const also = part.since === null ? {} : { also: rendered('i.last_at >= ?', part.since) };
    if (part.kind === 'event')
      return { table: 'contact_custom_events', where: rendered('i.custom_event_id = ?', part.eventId), ...also };
    const where = rendered('i.team_id = ? and i.url_hash = ?', teamId, part.linkHash);
    return { table: 'contact_link_clicks', where, ...also };
  }
  const range = (table: string, propertyId: string, value: string | number) => ({
    table,
    where: rendered('i.property_id = ? and i.value = ?', propertyId, value),
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

/** Returns a select of ids: for `all`, one indexed part is enough; for `any`, every part needs an index. */
function buildSelect(filter: Filter, database: Database): Rendered | undefined {
  if (filter.kind === 'all') {
    for (const part of filter.of) {
      const select = buildSelect(part, database);
      if (select) return select;
    }
    return undefined;
  }
  if (filter.kind === 'any') {
    const selects = filter.of.map((part) => buildSelect(part, database));
    if (selects.length === 0 || !selects.every((select) => select !== undefined)) return undefined;
    return {
      sql: selects.map(({ sql }) => sql).join(' union all '),
      values: selects.flatMap(({ values }) => values),
    };
  }
  return conditionSelect(filter, database);
}

function conditionSelect(filter: Filter, { dialect, teamId }: Database): Rendered | undefined {
  if (filter.kind === 'member') {
    return { sql: 'select contact_id from segment_members where segment_id = ?', values: [filter.segmentId] };
  }
  if (filter.kind === 'recipient' || filter.kind === 'link' || filter.kind === 'event') {
    const range = buildRange(filter, { dialect, teamId });
    if (!range) return undefined;
    const { table, where, also = rendered('1 = 1') } = range;
    return {
      sql: `select i.contact_id from ${table} i where ${where.sql} and ${also.sql}`,
      values: [...where.values, ...also.values],
    };
  }
  if (filter.kind === 'engaged') {
    // Sends and deliveries have no index.
    if (filter.what !== 'opened' && filter.what !== 'clicked') return undefined;
    return rendered(
      `select contact_id from contact_engagement where team_id = ? and ${COLUMN_OF[filter.what]} >= ?`,
      teamId,
      filter.since ?? 0,
    );
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
