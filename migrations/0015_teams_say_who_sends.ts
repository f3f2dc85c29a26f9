import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('teams', (table) => {
    table.text('sender_name');
    // JSON, because it is written and read as a whole.
    table.text('postal_address');
    table.integer('ai_assist_enabled').notNullable().defaultTo(0);
  });
  await knex.schema.createTable('instance_settings', (table) => {
    table.text('name').primary();
    table.text('value').notNullable();
    // Null as long as nobody has touched the switch.
    time(table, 'changed_at');
  });
  await knex('instance_settings').insert({ name: 'sending', value: JSON.stringify({ isOn: true, reason: null }) });
  // What is no email's history is removed by its age, team by team; the sends themselves must not pay for an index of it.
  await knex.raw(`create index events_besides_emails on events (team_id, id) where substr(type, 1, 6) <> 'email.'`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('instance_settings');
  await knex.raw('drop index events_besides_emails');
  await knex.schema.alterTable('teams', (table) => {
    table.dropColumns('sender_name', 'postal_address', 'ai_assist_enabled');
  });
}
