import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startApp } from '../../../src/app.ts';
import { nodeFolder } from '../../rig/node-folder.ts';
import { createApi } from '../../rig/api.ts';
import { driver } from '../../rig/database.ts';
import { writingInbox } from '../../rig/inbox.ts';
import { startScene } from '../../rig/scene.ts';

// runs only on PostgreSQL: SQLite has one process.
it.runIf(driver === 'pg')(
  'a draft that two nodes send at the same time is one email, and a concurrent change is in it or refused',
  async () => {
    await using scene = await startScene({ roles: ['http'] });
    const team = await scene.team();
    const inbox = await writingInbox(scene, team);
    const dataDir = nodeFolder(scene);
    const { config, log } = scene.app.world;
    const node = await startApp({ config, dataDir, clock: scene.clock, version: '0.0.0-test', log, roles: ['http'] });
    const nodes = [scene.api, createApi(node.http?.url ?? '')];
    const both = (method: string, below: string, call: object = {}) =>
      Promise.all(nodes.map((api) => api(method, `${inbox.path}${below}`, { key: team.key, ...call })));
    try {
      for (let round = 0; round < 10; round++) {
        const headers = { 'idempotency-key': randomUUID() };
        const body = { to: 'x@example.org', subject: `Round ${round}`, text: 'As it was.' };
        const made = await both('POST', '/drafts', { body, headers });
        expect(made.map(({ status }) => status)).toEqual([201, 201]);
        expect(made[0]?.text).toBe(made[1]?.text);
        const id = made[0]?.body.id as string;
        const changing = inbox.call('PATCH', `/drafts/${id}`, { body: { text: 'As it is.' } });
        const answers = await both('POST', `/drafts/${id}/send`);
        const changed = await changing;
        const conflicts = answers.filter(({ status }) => status === 409);
        expect(conflicts.every(({ body: error }) => error.name === 'resource_locked')).toBe(true);
        // A send that the change conflicted with is repeated.
        const again = conflicts.length > 0 ? await both('POST', `/drafts/${id}/send`) : [];
        const ids = new Set([...answers, ...again].filter(({ status }) => status === 200).map((one) => one.body.id));
        expect(ids.size).toBe(1);
        const { body: draft } = await inbox.call('GET', `/drafts/${id}`);
        const { body: email } = await scene.api('GET', `/emails/${draft.email_id as string}`, { key: team.key });
        expect([email.text, ids.has(email.id)]).toEqual([draft.text, true]);
        expect(changed.status === 200 ? draft.text : 'As it was.').toBe(
          changed.status === 200 ? 'As it is.' : draft.text,
        );
      }
      expect((await scene.api('GET', '/emails?limit=100', { key: team.key })).body.data).toHaveLength(10);
      expect(await inbox.threads('?folders=sent&limit=100')).toHaveLength(10);
    } finally {
      await node.close(0);
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
