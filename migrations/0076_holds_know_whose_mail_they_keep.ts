import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.raw('drop index deliveries_held');
  // What a hold that ends gives back, piece by piece; and how much of it is one team's, as its findings tell.
  await knex.raw('create index deliveries_held_by_team on deliveries (hold_id, team_id, id) where hold_id is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index deliveries_held_by_team');
  await knex.raw('create index deliveries_held on deliveries (hold_id, id) where hold_id is not null');
}
