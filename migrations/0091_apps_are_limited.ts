import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('oauth_grants', (table) => {
    // JSON: what the app is kept to beside its scopes; null where nothing was ever set.
    table.text('limits');
    // When it ends by itself.
    time(table, 'expires_at');
    // Recipients of a day, and which day that is, as days since 1970 in UTC.
    table.integer('sends').notNullable().defaultTo(0);
    table.integer('sends_day').notNullable().defaultTo(0);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('oauth_grants', (table) =>
    table.dropColumns('limits', 'expires_at', 'sends', 'sends_day'),
  );
}
