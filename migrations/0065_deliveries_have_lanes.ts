import type { Knex } from 'knex';

/** The lanes: 0 transactional, 1 marketing, 2 and 3 the retries of each. The indexes of what is due follow the new name. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table deliveries rename column failing to lane');
  await knex.raw('update deliveries set lane = 2 where lane = 1');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('update deliveries set lane = lane / 2');
  await knex.raw('alter table deliveries rename column lane to failing');
}
