/** Tables that are not copied row by row, and why nothing is lost by it. */
export const APART: Readonly<Record<string, string>> = {
  schema_migrations: 'the migrations that ran on the target write it',
  schema_migrations_lock: 'the migrations that ran on the target write it',
  database_moves: 'what a database says of its own move holds for it alone',
  table_changes: 'the numbers by which processes know of changes; the triggers of the target write them',
  node_reports: 'what the processes reported that have ended; those of the target report anew',
  email_search_blocks: 'the index of the search, which has another form on each database; made anew from the emails',
  email_search_grams: 'the same, as SQLite has it',
  inbox_search_blocks: 'the index of the search in inboxes; made anew from the emails of the inboxes',
  inbox_search_grams: 'the same, as SQLite has it',
};
