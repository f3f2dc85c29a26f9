// deliveries that are composed at the same moment --> the bodies of their emails, in as few statements as the database makes dear
import { expect, it } from 'vitest';
import { createBodyFinder } from '../../src/mail/emails/index.ts';
import { driver } from '../rig/database.ts';
import { startScene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

const NOBODYS = '018bcfe5-6800-7000-8000-000000000001';

it('each message gets its own body, and PostgreSQL returns 32 of them at a time', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const mail = await mailIn(scene);
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, n) => mail.send(`to-${n}@one.example`, { text: `Text ${n}.`, html: `<p>${n}</p>` })),
  );
  const { world } = scene.app;
  const asked: string[] = [];
  const all: typeof world.db.all = (sql, values) => {
    asked.push(sql);
    return world.db.all(sql, values);
  };
  const bodyOf = createBodyFinder({ ...world, db: { ...world.db, all } });
  const found = await Promise.all([...ids, NOBODYS].map(bodyOf));
  expect(found.at(-1)).toBeUndefined();
  const texts = await Promise.all(found.slice(0, -1).map(async (body) => body?.load()));
  expect(texts).toEqual(ids.map((_, n) => ({ text: `Text ${n}.`, html: `<p>${n}</p>` })));
  expect(asked).toHaveLength(driver === 'pg' ? 2 : 41);
});
