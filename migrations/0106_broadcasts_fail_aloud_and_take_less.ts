import type { Knex } from 'knex';

/** GET /emails by key, and by key and status. */
const BY_KEY = [
  ['emails_team_id_api_key_id_id_index', '(team_id, api_key_id, id)'],
  ['emails_team_id_api_key_id_last_event_id_index', '(team_id, api_key_id, last_event, id)'],
] as const;

export async function up(knex: Knex): Promise<void> {
  // What the findings read.
  await knex.raw("create index broadcasts_failed on broadcasts (updated_at) where status = 'failed'");
  // The emails of broadcasts and automations, most of all, were sent with no key.
  for (const [name, columns] of BY_KEY) {
    await knex.raw(`drop index ${name}`);
    await knex.raw(`create index ${name} on emails ${columns} where api_key_id is not null`);
  }
  // Reports are read by what came of them, each kind by an index of its own.
  await knex.raw('drop index broadcast_recipients_order');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('create index broadcast_recipients_order on broadcast_recipients (broadcast_id, id)');
  for (const [name, columns] of BY_KEY) {
    await knex.raw(`drop index ${name}`);
    await knex.raw(`create index ${name} on emails ${columns}`);
  }
  await knex.raw('drop index broadcasts_failed');
}
