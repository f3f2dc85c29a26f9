import { expect, it } from 'vitest';
import { breakable } from '../../rig/breakable.ts';
import { startScene } from '../../rig/scene.ts';
import { uploadIn } from './importing.ts';

it('an import whose commit succeeded but whose answer was lost keeps its file and is processed', async () => {
  const scene = await startScene();
  const team = await scene.team();
  // Nothing else writes meanwhile, because statements of a background loop would be counted as well.
  const broken = breakable(scene.app.world, undefined, { isAnswerLost: true });
  broken.failAt(undefined);
  const upload = (address: string) => uploadIn(scene, team, `email\n${address}\n`);
  expect((await upload('first@example.org')).status).toBe(201);
  await scene.settled();
  // The fault is planted after one commit after the other, and before each, until the import is queued nevertheless.
  const listIds = async (): Promise<string[]> => {
    const rows = await scene.app.world.db.all<{ id: string }>('select id from contact_imports');
    return rows.map(({ id }) => id);
  };
  let lost: string[] = [];
  for (let at = 1; lost.length === 0 && at < 100; at++) {
    const before = await listIds();
    broken.failAt(at);
    const { status } = await upload(`at${at}@example.org`);
    broken.failAt(undefined);
    await scene.settled();
    if (status >= 500) lost = (await listIds()).filter((id) => !before.includes(id));
  }
  expect(lost).toHaveLength(1);
  const { body } = await scene.api('GET', `/contacts/imports/${lost[0]}`, { key: team.key });
  expect(body).toMatchObject({ status: 'completed' });
  await scene.close();
});
