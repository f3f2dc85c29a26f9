import type { Knex } from 'knex';

/** Nodes remember rows of these. Of keys all but when they were used last, which is written all day. */
const REMEMBERED: Record<string, string[]> = {
  api_keys: ['team_id', 'token_hash', 'permission', 'domain_id', 'status'],
  domains: [],
  instance_settings: [],
  operators: [],
  teams: [],
  templates: [],
};

export async function up(knex: Knex): Promise<void> {
  // How many tokens the last statement took of a bucket, which may take some for several requests.
  await knex.schema.alterTable('rate_limits', (table) => void table.integer('taken'));
  // One process alone writes to SQLite, or looks at the file's own counter.
  if (knex.client.config.client !== 'pg') return;
  // Another number with each commit that changes a table: while the sum of its rows is the same, so is what was read of it.
  // Writers at the same time take different slots, so that none waits for another.
  await knex.schema.createTable('table_changes', (table) => {
    table.text('table_name').notNullable();
    table.bigInteger('slot').notNullable();
    table.bigInteger('version').notNullable();
    table.primary(['table_name', 'slot']);
  });
  // By triggers, so that no writer can forget it: another version, a command on the machine, an operator with psql. A number
  // by chance and not the next one: behind a fail-over that loses commits, the same number would come again for other rows.
  await knex.raw(`create function note_table_change() returns trigger language plpgsql as $$
    declare free bigint;
    begin
      select slot into free from table_changes where table_name = tg_table_name order by slot limit 1 for update skip locked;
      if found then
        update table_changes set version = floor(random() * 281474976710656) where table_name = tg_table_name and slot = free;
      else
        insert into table_changes (table_name, slot, version)
          values (tg_table_name, 1 + floor(random() * 281474976710656), floor(random() * 281474976710656));
      end if;
      return null;
    end $$`);
  for (const [table, columns] of Object.entries(REMEMBERED)) {
    await knex('table_changes').insert({ table_name: table, slot: 0, version: 0 });
    const updates = columns.length === 0 ? 'update' : `update of ${columns.join(', ')}`;
    await knex.raw(`create trigger notes_change after insert or ${updates} or delete on ${table}
      for each statement execute function note_table_change()`);
    await knex.raw(`create trigger notes_emptying after truncate on ${table}
      for each statement execute function note_table_change()`);
  }
}

export async function down(knex: Knex): Promise<void> {
  if (knex.client.config.client === 'pg') {
    for (const table of Object.keys(REMEMBERED)) {
      await knex.raw(`drop trigger notes_change on ${table}`);
      await knex.raw(`drop trigger notes_emptying on ${table}`);
    }
    await knex.raw('drop function note_table_change()');
    await knex.schema.dropTable('table_changes');
  }
  await knex.schema.alterTable('rate_limits', (table) => void table.dropColumn('taken'));
}
