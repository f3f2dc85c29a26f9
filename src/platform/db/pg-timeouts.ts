const TIMEOUTS = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout'];

/** For work that takes as long as it takes, whatever server, database or role have set. PostgreSQL before 17 has not all of them. */
export const withoutTimeouts = ({ inTransaction }: { inTransaction: boolean }): string =>
  `select set_config(name, '0', ${inTransaction}) from pg_settings where name in (${TIMEOUTS.map((name) => `'${name}'`).join(', ')})`;
