// Nodes with different clocks, and findings for operators before there is one
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadFindingsReport } from '../../../src/features/installation/findings/findings-report.ts';
import { reportNode, runningNodes } from '../../../src/features/installation/findings/node-report.ts';
import { noteBackup } from '../../../src/tenancy/instance/index.ts';
import { HOUR, mailIn } from '../../flow/mail.ts';
import { startScene, type Scene } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => void (scene = await startScene({ roles: ['http', 'scheduler'] })));
afterAll(() => scene.close());

const look = async () => (await loadFindingsReport(scene.app.world)).findings;

describe('a node with a wrong clock', () => {
  it('counts as running while the database hears from it, whatever its clock says', async () => {
    const { world } = scene.app;
    for (const [n, off] of [-24 * HOUR, 24 * HOUR].entries()) {
      const id = world.ids.uuid();
      const node = { id, name: `far${n} 1`, version: '0.0.9', roles: ['http'], startedAt: n };
      await reportNode(world, { ...node, seenAt: world.clock.now() + off, findings: [] });
    }
    const heard = (await runningNodes(world)).filter(({ name }) => name.startsWith('far'));
    expect(heard.map(({ name }) => name)).toEqual(['far0 1', 'far1 1']);
    await world.db.run('update node_reports set heard_at = heard_at - 600000');
    expect(await runningNodes(world)).toEqual([]);
    await world.db.run('delete from node_reports');
  });
});

describe('a backup dated in the future', () => {
  it('is a finding, and does not count as the newest while a clock was wrong', async () => {
    const { world, jobs } = scene.app;
    const note = (madeAt: number) => noteBackup(world.db, { madeAt, folder: null, at: world.clock.now() });
    await note(world.clock.now() + 60_000);
    expect(
      (await look()).map(({ code }) => code),
      'a minute is no error',
    ).not.toContain('backup_old');
    await note(world.clock.now() + 24 * HOUR);
    expect((await look()).find(({ code }) => code === 'backup_old')).toMatchObject({
      summary: expect.stringMatching(/dated in the future.*is unknown\. The last one was made at 2/),
      since: null,
    });
    await jobs.find(({ name }) => name === 'watch-backups')?.run();
    expect(scene.log.join('\n')).toContain('the last backup is dated in the future');
    await note(world.clock.now());
    expect((await look()).map(({ code }) => code)).not.toContain('backup_old');
  });
});

describe('advice for operators', () => {
  it('begins with creating an operator token until there is one', async () => {
    const mail = await mailIn(scene);
    await mail.send('x@one.example');
    scene.clock.advance(HOUR);
    const advice = async () => (await look()).find(({ code }) => code === 'queue_overdue')?.advice;
    expect(await advice()).toEqual({
      words:
        'An operator could see what waits (rasket queue), but there is none yet. On the server’s machine, create one first',
      command: 'rasket operators create NAME',
    });
    await scene.operator();
    expect(await advice()).toEqual({ words: 'As an operator, see what waits', command: 'rasket queue' });
  });
});
