import type { Knex } from 'knex';

const COUNTERS = [
  'received',
  'sent',
  'delivered',
  'delivery_delayed',
  'bounced',
  'bounced_transient',
  'bounced_permanent',
  'bounced_undetermined',
  'complained',
  'suppressed',
  'failed',
  'opened',
  'clicked',
  'unique_opened',
  'unique_clicked',
  'unsubscribed',
];

/**
 * One row for each quarter of an hour and one for each day, of a team and of each of its domains and broadcasts. Every
 * time zone in use is whole quarters away from UTC, so local days are sums of these rows.
 */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const columns = [
    `team_id ${isPg ? 'uuid' : 'text'} not null`,
    // `team`, `d:<domain>` or `b:<broadcast>:<domain>`; compared by bytes, because ranges of it are read.
    `scope text ${isPg ? 'collate "C"' : ''} not null`,
    // 15 or 1440, and how many of these have passed since 1970.
    'span_minutes smallint not null',
    'slot integer not null',
    // Each node of a cluster counts in rows of its own and never waits for another's commit.
    'shard smallint not null',
    ...COUNTERS.map((counter) => `${counter} integer not null default 0`),
    // GET /emails/metrics: a scope over a range of time.
    'primary key (team_id, scope, span_minutes, slot, shard)',
  ];
  // The current rows are written over and over: on PostgreSQL room beside them lets that stay within one page.
  await knex.raw(
    `create table metric_counts (${columns.join(', ')}) ${isPg ? 'with (fillfactor = 70)' : 'without rowid'}`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('metric_counts');
}
