import type { Knex } from 'knex';

/** The column types both databases share under one name. */
export function columnsFor(knex: Knex): {
  id(table: Knex.CreateTableBuilder, name: string): Knex.ColumnBuilder;
  time(table: Knex.CreateTableBuilder, name: string): Knex.ColumnBuilder;
} {
  const isPg = knex.client.config.client === 'pg';
  return {
    id: (table, name) => table.specificType(name, isPg ? 'uuid' : 'text'),
    time: (table, name) => table.bigInteger(name),
  };
}
