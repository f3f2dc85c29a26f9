import type { Knex } from 'knex';

const TABLES = ['emails', 'deliveries'] as const;

export async function up(knex: Knex): Promise<void> {
  // What a client of SMTP asked for beside whom the message goes to (RFC 3461, RFC 8689), as JSON; null where it asked for
  // nothing. A delivery has it too: what is under way must not wait for another look.
  for (const name of TABLES) await knex.schema.alterTable(name, (table) => void table.text('asked'));
}

export async function down(knex: Knex): Promise<void> {
  for (const name of TABLES) await knex.schema.alterTable(name, (table) => void table.dropColumn('asked'));
}
