import type { Knex } from 'knex';

const COUNTS = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'unsubscribed', 'suppressed'];

export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  // How many recipients of a broadcast it came to. Each node adds to a row of its own, so that none waits for another.
  await knex.raw(`create table broadcast_counts (
    broadcast_id ${uuid} not null,
    shard integer not null,
    ${COUNTS.map((name) => `${name} integer not null default 0,`).join('\n    ')}
    primary key (broadcast_id, shard)) ${isPg ? '' : 'without rowid'}`);
  // Which bounce of a recipient is the first.
  await knex.schema.alterTable('broadcast_recipients', (table) => {
    table.integer('bounces').notNullable().defaultTo(0);
  });
  await knex.raw('update broadcast_recipients set bounces = 1 where bounced is not null');
  const sums = COUNTS.map((name) => `sum(case when ${name === 'bounced' ? 'bounces' : name} > 0 then 1 else 0 end)`);
  await knex.raw(`insert into broadcast_counts (broadcast_id, shard, ${COUNTS.join(', ')})
    select broadcast_id, 0, ${sums.join(', ')} from broadcast_recipients where email_id is not null group by broadcast_id`);
  await knex.schema.alterTable('broadcasts', (table) => {
    // The figures that held it, in words.
    table.text('held_detail');
    // What had come of it when it was resumed: it is judged by what comes after.
    for (const name of ['delivered', 'bounced', 'complained']) {
      table.integer(`resumed_${name}`).notNullable().defaultTo(0);
    }
  });
  // What is held, for findings.
  await knex.raw(
    "create index broadcasts_held on broadcasts (id) where held_reason is not null and status <> 'canceled'",
  );
  // What is removed by age: the report and the shared body of what has ended.
  await knex.raw(
    "create index broadcasts_ended on broadcasts (team_id, updated_at) where body_id is not null and status in ('sent', 'canceled', 'failed')",
  );
  // Whose report may still name a contact that is erased.
  await knex.raw('create index broadcasts_reported on broadcasts (team_id, id) where body_id is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index broadcasts_reported');
  await knex.raw('drop index broadcasts_ended');
  await knex.raw('drop index broadcasts_held');
  await knex.schema.alterTable('broadcasts', (table) => {
    table.dropColumns('held_detail', 'resumed_delivered', 'resumed_bounced', 'resumed_complained');
  });
  await knex.schema.alterTable('broadcast_recipients', (table) => void table.dropColumn('bounces'));
  await knex.schema.dropTable('broadcast_counts');
}
