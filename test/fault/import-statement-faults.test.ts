// a batch of an import --> fails at each of its statements and commits in turn --> is tried again: each row counts once
import { expect, it } from 'vitest';
import { createImportLoop } from '../../src/features/audience/import-runner/run-import.ts';
import { line, start, wait } from '../api/automations/graph.ts';
import { breakable } from '../rig/breakable.ts';
import { buildForm } from '../rig/forms.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { breakOff } from './broken-off.ts';

/** Two contacts, of which one comes again and is changed by that, and a row that cannot be read. */
const buildFile = (n: number): string =>
  `email,first_name\nada${n}@one.example,Ada\nbob${n}@two.example,Bob\nnobody,N\nada${n}@one.example,Ada L\n`;

// A fault is planted at every statement and after every commit. A kill between two commits is met by chance; here each is met.
it('an import survives a lost connection at any statement, also after a commit: no row is left out or counted twice', async () => {
  // Only the loop of this test reads files, so that counting statements is exact.
  await using scene = await startScene({ roles: ['http'] });
  const { key } = await scene.team();
  const must = async (method: string, path: string, call: object = {}) => {
    const answer = await scene.api(method, path, { key, ...call });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  for (const event of ['contact.created', 'contact.updated']) {
    const begins = { ...start, config: { event_name: `rasket:${event}` } };
    await must('POST', '/automations', { body: { name: event, status: 'enabled', ...line(begins, wait('day')) } });
  }
  const faults = breakable(scene.app.world, 'ECONNRESET', { isAnswerLost: true });
  const createLoop = () => createImportLoop(scene.app.world);
  let isReached = true;
  for (let n = 1; isReached; n++) {
    const form = buildForm(buildFile(n), { on_conflict: 'upsert', start_automations: 'true' });
    const { id } = await must('POST', '/contacts/imports', form);
    const before = await counts(scene);
    isReached = await breakOff(scene, faults, n, createLoop);
    const { status, counts: counted } = await must('GET', `/contacts/imports/${id}`);
    const once = { total: 4, created: 2, updated: 1, skipped: 0, failed: 1 };
    expect([n, status, counted]).toEqual([n, 'completed', once]);
    const grown = (await counts(scene)).map((now, i) => now - (before[i] ?? 0));
    // Two runs begin with a contact that is new, one with a change.
    expect([n, grown]).toEqual([n, [2, 3]]);
    expect(n).toBeLessThan(100);
    if (!isReached) expect(n).toBeGreaterThan(10);
  }
}, 120_000);

function counts({ app: { world } }: Scene): Promise<number[]> {
  const queries = ['select count(*) as n from contacts', 'select count(*) as n from automation_runs'];
  return Promise.all(queries.map(async (sql) => Number((await world.db.get<{ n: number }>(sql))?.n)));
}
