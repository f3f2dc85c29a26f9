import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** The migration of the next version of the program. */
export const NEXT_MIGRATION = '0002_teams_have_nicknames';

const MIGRATION = `import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('teams', (table) => void table.text('nickname'));
}
`;

const PARTS = ['package.json', 'package-lock.json', '.npmrc', 'bin', 'src', 'cli', 'console', 'migrations', 'config'];

/** Copies the program with one more migration into a folder and returns its executable. */
export function makeNextProgram(folder: string): string {
  for (const part of PARTS) fs.cpSync(path.join(root, part), path.join(folder, part), { recursive: true });
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  fs.writeFileSync(path.join(folder, 'migrations', `${NEXT_MIGRATION}.ts`), MIGRATION);
  return path.join(folder, 'bin/rasket');
}
