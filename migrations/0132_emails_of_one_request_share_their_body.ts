import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('shared_bodies', (table) => {
    // Set for a body that emails of one request share: the first and the last of their ids. Null for the body of a
    // broadcast, which is removed with the broadcast's report.
    id(table, 'first_email_id');
    id(table, 'last_email_id');
  });
  // Serves the removal of bodies whose emails have all expired.
  await knex.raw(
    'create index shared_bodies_of_requests on shared_bodies (team_id, last_email_id) where last_email_id is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index shared_bodies_of_requests');
  await knex.schema.alterTable('shared_bodies', (table) => table.dropColumns('first_email_id', 'last_email_id'));
}
