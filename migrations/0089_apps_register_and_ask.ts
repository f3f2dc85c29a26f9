import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('oauth_clients', (table) => {
    table.text('client_id').primary();
    table.text('registration_hash').notNullable();
    table.text('name').notNullable();
    // JSON lists.
    table.text('redirect_uris').notNullable();
    table.text('grant_types').notNullable();
    // Separated by spaces; null where the client has registered none.
    table.text('scope');
    table.text('client_uri');
    table.text('logo_uri');
    table.text('software_id');
    table.text('software_version');
    // From where it was registered, as a hash.
    table.text('address_hash').notNullable();
    time(table, 'created_at').notNullable();
    // When a person first let it in; null for one that may be removed again.
    time(table, 'used_at');
    time(table, 'deleted_at');
    // The registrations of an hour from one address.
    table.index(['address_hash', 'created_at'], 'oauth_clients_of_address');
    // Those of a day, and the daily removal of what nobody uses.
    table.index(['created_at'], 'oauth_clients_by_age');
  });
  // What a person is being asked on a page. A row is taken when it is answered, so that it is answered once.
  await knex.schema.createTable('oauth_consents', (table) => {
    table.text('token_hash').primary();
    id(table, 'session_id').notNullable();
    id(table, 'team_id').notNullable();
    table.text('client_id').notNullable();
    // JSON.
    table.text('request').notNullable();
    time(table, 'expires_at').notNullable();
    // The hourly removal.
    table.index(['expires_at'], 'oauth_consents_by_expiry');
    // The ones of a session, of which there are few.
    table.index(['session_id'], 'oauth_consents_of_session');
  });
  await knex.schema.createTable('oauth_codes', (table) => {
    table.text('code_hash').primary();
    // The id that the grant will have.
    id(table, 'grant_id').notNullable();
    id(table, 'team_id').notNullable();
    id(table, 'member_id').notNullable();
    id(table, 'user_id').notNullable();
    table.text('client_id').notNullable();
    // JSON.
    table.text('request').notNullable();
    time(table, 'expires_at').notNullable();
    // The hourly removal.
    table.index(['expires_at'], 'oauth_codes_by_expiry');
    // What ends with a person.
    table.index(['user_id'], 'oauth_codes_of_user');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('oauth_codes');
  await knex.schema.dropTable('oauth_consents');
  await knex.schema.dropTable('oauth_clients');
}
