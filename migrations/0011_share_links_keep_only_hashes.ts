import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('email_shares', (table) => {
    // The token itself is in the link and nowhere else. GET /share/{token} finds the link by its hash.
    table.text('token_hash').primary();
    id(table, 'email_id').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    // DELETE /emails/{email_id}/share, and the removal of an email.
    table.index(['email_id']);
    // The sweep of links that are over.
    table.index(['expires_at']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('email_shares');
}
