// two nodes on one database --> one broadcast
import { expect, it, onTestFinished } from 'vitest';
import { startApp } from '../../src/app.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createApi } from '../rig/api.ts';
import { driver } from '../rig/database.ts';
import { buildForm } from '../rig/forms.ts';
import { startScene } from '../rig/scene.ts';
import { campaignIn } from './campaign.ts';
import { SECOND } from './mail.ts';

const CONTACTS = 600;

// runs only on PostgreSQL, because SQLite bears one process.
it.runIf(driver === 'pg')(
  'a draft that is sent at two nodes at once is sent once, and both create its pages',
  async () => {
    const scene = await startScene();
    onTestFinished(() => scene.close());
    const log = createLog({ level: 'error', format: 'json', write: (line) => void scene.log.push(line) });
    const { config, clock } = scene.app.world;
    const { dataDir } = scene;
    const roles = ['http', 'delivery'] as const;
    const node = await startApp({ config, dataDir, clock, log, roles: [...roles], version: '0.0.0-test' });
    onTestFinished(() => node.close(0));
    const campaign = await campaignIn(scene);
    const addresses = Array.from({ length: CONTACTS }, (_, i) => `reader${i}@list.example`);
    const { key } = campaign.team;
    const form = buildForm(`email\n${addresses.join('\n')}\n`);
    const { id: importId } = (await scene.api('POST', '/contacts/imports', { key, ...form })).body;
    await expect.poll(async () => (await campaign.read(`/contacts/imports/${importId}`)).status).toBe('completed');
    const drafts = [await campaign.broadcast({ send: false }), await campaign.broadcast({ send: false })];
    const apis = [scene.api, createApi(node.http?.url ?? '')];
    for (const id of drafts) {
      const answers = await Promise.all(
        apis.flatMap((api) => [1, 2].map(() => api('POST', `/broadcasts/${id}/send`, { key }))),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403]);
    }
    const arrivals = () => scene.sink.counts.accepted;
    for (let i = 0; i < 60 && arrivals() < 2 * CONTACTS; i++) {
      scene.clock.advance(SECOND);
      await Promise.all([scene.settled(), node.queue?.idle(), node.broadcasts?.idle()]);
    }
    for (const id of drafts) {
      expect(await campaign.get(id)).toMatchObject({ status: 'sent', recipients: CONTACTS, excluded: 0 });
    }
    const arrived = scene.sink.messages.flatMap(({ rcptTo }) => rcptTo).sort();
    expect(arrived).toEqual([...addresses, ...addresses].sort());
  },
);
