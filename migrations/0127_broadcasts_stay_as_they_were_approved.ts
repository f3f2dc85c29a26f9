import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('approvals', (table) => {
    // Set for a call that sends a broadcast: the broadcast, and how many contacts of its segment wanted mail when the
    // app asked.
    id(table, 'broadcast_id');
    table.integer('seen_contacts');
  });
  // Serves the question what an app may not fill until the broadcast that was approved for it has been sent.
  await knex.raw(
    'create index approvals_by_broadcast on approvals (grant_id, broadcast_id) where broadcast_id is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index approvals_by_broadcast');
  await knex.schema.alterTable('approvals', (table) => table.dropColumns('broadcast_id', 'seen_contacts'));
}
