import { describe, expect, it } from 'vitest';
import { openDb } from '../../src/platform/db/index.ts';
import { driver } from '../rig/database.ts';
import { startScene } from '../rig/scene.ts';
import { openScratchDb } from './scratch-db.ts';

// runs only with PostgreSQL, whose server decides what a commit waits for
describe.runIf(driver === 'pg')('a PostgreSQL server with settings that lose commits', () => {
  it.each([
    { set: 'off', inForce: 'on' },
    { set: 'on', inForce: 'on' },
    { set: 'local', inForce: 'local' },
    { set: 'remote_apply', inForce: 'remote_apply' },
  ])('with synchronous_commit = $set has it $inForce on every connection of ours', async ({ set, inForce }) => {
    const scratch = await openScratchDb();
    try {
      const name = new URL(scratch.options.url).pathname.slice(1);
      await scratch.db.run(`alter database ${name} set synchronous_commit = ${set}`);
      const db = await openDb(scratch.options);
      const inUse = () => db.get<{ now: string }>(`select current_setting('synchronous_commit') as now`);
      const seen = await Promise.all(Array.from({ length: 5 }, inUse));
      expect(new Set(seen.map((row) => row?.now))).toEqual(new Set([inForce]));
      await db.txUnsynced(async (tx) => {
        expect(await tx.get(`select current_setting('synchronous_commit') as now`)).toEqual({ now: 'off' });
      });
      expect((await inUse())?.now).toBe(inForce);
      await db.close();
    } finally {
      await scratch.close();
    }
  });

  it('is reported at the start, setting by setting', async () => {
    await using scene = await startScene();
    const off = await scene.app.world.db.all<{ name: string }>(
      `select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' order by name`,
    );
    const said = scene.log.filter((line) => line.includes('PostgreSQL may lose accepted mail in a power failure'));
    expect(said).toHaveLength(off.length > 0 ? 1 : 0);
    for (const line of said)
      expect(JSON.parse(line)).toMatchObject({ level: 'warn', off: off.map(({ name }) => name) });
  });
});
