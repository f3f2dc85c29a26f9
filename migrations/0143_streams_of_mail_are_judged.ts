import type { Knex } from 'knex';

/** Names what no rate counts: mail to the simulator, and bounces and complaints of addresses that were suppressed before. */
const EXCUSED = ['excused_delivered', 'excused_bounced', 'excused_complained'];

export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  // Recipients by team, stream of mail and hour since 1970. Each node adds to a row of its own, so that none waits for another.
  // The key serves the rates of one team.
  await knex.raw(`create table stream_counts (
    team_id ${isPg ? 'uuid' : 'text'} not null,
    stream text not null,
    hour integer not null,
    shard integer not null,
    delivered integer not null default 0,
    bounced integer not null default 0,
    complained integer not null default 0,
    primary key (team_id, stream, hour, shard)) ${isPg ? 'with (fillfactor = 70)' : 'without rowid'}`);
  // The streams of all teams that something bounced or was complained about in, for findings.
  await knex.raw(
    'create index stream_counts_in_trouble on stream_counts (hour, team_id, stream) where bounced > 0 or complained > 0',
  );
  await knex.schema.alterTable('broadcast_counts', (table) => {
    for (const name of EXCUSED) table.integer(name).notNullable().defaultTo(0);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('broadcast_counts', (table) => void table.dropColumns(...EXCUSED));
  await knex.schema.dropTable('stream_counts');
}
