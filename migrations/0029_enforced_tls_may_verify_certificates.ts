import type { Knex } from 'knex';

/** Beside "enforced": whether the certificate of the recipients' server has to be valid for its name. */
export async function up(knex: Knex): Promise<void> {
  for (const table of ['domains', 'deliveries']) {
    await knex.schema.alterTable(table, (columns) => {
      columns.integer('tls_verify').notNullable().defaultTo(0);
    });
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['domains', 'deliveries']) {
    await knex.schema.alterTable(table, (columns) => {
      columns.dropColumn('tls_verify');
    });
  }
}
