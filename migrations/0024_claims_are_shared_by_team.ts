import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('deliveries', (table) => {
    // 1 when its destination failed at the last attempt, or was known to be down when its turn came.
    table.integer('failing').notNullable().defaultTo(0);
  });
  // What is due, and when the next is: what waits for a failing destination never stands in the way of the rest.
  await knex.raw('create index deliveries_due on deliveries (failing, due_at) where lease_owner is null');
  // The oldest of each team, and past a crowded destination without reading the table.
  await knex.raw(
    'create index deliveries_due_by_team on deliveries (failing, team_id, due_at, destination) where lease_owner is null',
  );
  // Leases that have run out, and claims that their owner does not know of.
  await knex.raw('create index deliveries_leased on deliveries (due_at, lease_owner) where lease_owner is not null');
  await knex.raw('drop index deliveries_due_at_destination_index');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('create index deliveries_due_at_destination_index on deliveries (due_at, destination)');
  await knex.raw('drop index deliveries_leased');
  await knex.raw('drop index deliveries_due_by_team');
  await knex.raw('drop index deliveries_due');
  await knex.schema.alterTable('deliveries', (table) => table.dropColumns('failing'));
}
