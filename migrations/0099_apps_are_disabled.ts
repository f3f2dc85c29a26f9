import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

const BATCH_ROWS = 500;

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('oauth_clients', (table) => {
    // By which the operator's list is paged: a client_id has no order. Null where an earlier version registers one meanwhile.
    id(table, 'id');
    time(table, 'disabled_at');
    table.text('disabled_reason');
    // The name of the operator.
    table.text('disabled_by');
    table.unique(['id'], { indexName: 'oauth_clients_by_id' });
    // The disabled ones, of which there are few.
    table.index(['disabled_at'], 'oauth_clients_disabled');
  });
  for (;;) {
    const rows = await knex('oauth_clients').whereNull('id').select('client_id', 'created_at').limit(BATCH_ROWS);
    for (const { client_id: clientId, created_at: at } of rows) {
      await knex('oauth_clients')
        .where({ client_id: clientId })
        .update({ id: idAt(Number(at)) });
    }
    if (rows.length < BATCH_ROWS) return;
  }
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('oauth_clients', (table) => {
    table.dropUnique(['id'], 'oauth_clients_by_id');
    table.dropIndex(['disabled_at'], 'oauth_clients_disabled');
  });
  await knex.schema.alterTable('oauth_clients', (table) =>
    table.dropColumns('id', 'disabled_at', 'disabled_reason', 'disabled_by'),
  );
}

/** A UUIDv7 of that moment. */
function idAt(ms: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(ms, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
