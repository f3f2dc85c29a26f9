import type { Knex } from 'knex';

/** Links of mail that is out there go on working for a while when the tracking subdomain is changed. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('domains', (table) => {
    table.text('former_tracking_subdomains');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('domains', (table) => {
    table.dropColumn('former_tracking_subdomains');
  });
}
