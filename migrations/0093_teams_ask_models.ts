import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // What a team asked within the last minute, and what is still being answered. Each request of a team removes its old rows.
  await knex.schema.createTable('ai_requests', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    time(table, 'created_at').notNullable();
    // Until then it holds a credit; null once it is answered, has failed or costs nothing.
    time(table, 'open_until');
    // What a team has under way, at each of its requests.
    table.index(['team_id', 'created_at'], 'ai_requests_of_team');
  });
  // The latest diagnosis of each email.
  await knex.schema.createTable('ai_diagnoses', (table) => {
    id(table, 'email_id').primary();
    id(table, 'team_id').notNullable();
    // SHA-256 of what it was made of.
    table.text('state_hash').notNullable();
    // Summary, causes and steps, as JSON.
    table.text('diagnosis').notNullable();
    time(table, 'created_at').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('ai_diagnoses');
  await knex.schema.dropTable('ai_requests');
}
