import type { Executor } from '../../platform/db/index.ts';

/** Each setting has its row from the start: what is not found could not be remembered. */
export async function readSetting<Value>(db: Executor, name: string): Promise<Value | undefined> {
  const row = await db.get<{ value: string }>('select value from instance_settings where name = ?', [name]);
  return row && (JSON.parse(row.value) as Value);
}

export async function writeSetting(db: Executor, name: string, value: unknown, at: number): Promise<void> {
  await db.run('update instance_settings set value = ?, changed_at = ? where name = ?', [
    JSON.stringify(value),
    at,
    name,
  ]);
}
