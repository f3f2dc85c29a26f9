import { expect, it } from 'vitest';
import { buildForm } from '../../rig/forms.ts';
import { driver } from '../../rig/database.ts';
import { startScene, type Team } from '../../rig/scene.ts';

/** This gives enough batches for another team's file to come between two of them; on PostgreSQL each takes several times as long. */
const ROWS = driver === 'pg' ? 6000 : 20_000;

it('many queued imports of one team do not delay another team until all are done', async () => {
  await using scene = await startScene();
  const upload = async (team: Team, file: string): Promise<string> => {
    const answer = await scene.api('POST', '/contacts/imports', { key: team.key, ...buildForm(file, {}) });
    expect(answer, answer.text).toMatchObject({ status: 201 });
    return answer.body.id as string;
  };
  const fetchStatus = async (team: Team, id: string): Promise<string> =>
    (await scene.api('GET', `/contacts/imports/${id}`, { key: team.key })).body.status;
  const first = await scene.team();
  const second = await scene.team();
  const patient = await scene.team();
  const rows = Array.from({ length: ROWS }, (_, i) => `person${i}@example.org\n`).join('');
  // All of them are queued before the first begins, however long it takes to upload them.
  await scene.app.imports?.stop(0);
  const greedy: [Team, string][] = [];
  for (let i = 0; i < 4; i++) {
    for (const team of [first, second]) greedy.push([team, await upload(team, `email\n${rows}`)]);
  }
  const mine = await upload(patient, 'email\nada@example.org\n');
  await scene.restart();
  while ((await fetchStatus(patient, mine)) !== 'completed') await scene.api('GET', '/health', {});
  const statuses = await Promise.all(greedy.map(([team, id]) => fetchStatus(team, id)));
  expect(statuses.filter((status) => status === 'queued').length).toBeGreaterThanOrEqual(2);
  await scene.settled();
  const ended = await Promise.all(greedy.map(([team, id]) => fetchStatus(team, id)));
  expect(new Set(ended)).toEqual(new Set(['completed']));
});

it('a long import is paused for another team, resumed later, and counts every row once', async () => {
  await using scene = await startScene({ config: { imports: { max_at_once: 1, slice_seconds: 0 } } });
  const greedy = await scene.team();
  const patient = await scene.team();
  const rows = Array.from({ length: ROWS }, (_, i) => `person${i}@example.org\n`).join('');
  const upload = async ({ key }: Team, file: string): Promise<string> =>
    (await scene.api('POST', '/contacts/imports', { key, ...buildForm(file, {}) })).body.id as string;
  const read = async ({ key }: Team, id: string) => (await scene.api('GET', `/contacts/imports/${id}`, { key })).body;
  const large = await upload(greedy, `email\n${rows}`);
  while ((await read(greedy, large)).counts.total === 0) await scene.api('GET', '/health', {});
  const small = await upload(patient, 'email\nada@example.org\n');
  while ((await read(patient, small)).status !== 'completed') await scene.api('GET', '/health', {});
  const { status, counts } = await read(greedy, large);
  expect(['in_progress', 'queued']).toContain(status);
  expect(counts.total).toBeLessThan(ROWS);
  await scene.settled();
  expect(await read(greedy, large)).toMatchObject({
    status: 'completed',
    counts: { total: ROWS, created: ROWS, updated: 0, skipped: 0, failed: 0 },
  });
});

it('a team may have twenty open imports, and another once one of them has ended', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const other = await scene.team();
  const upload = ({ key }: Team) =>
    scene.api('POST', '/contacts/imports', { key, ...buildForm('email\na@b.example\n', {}) });
  const made: { id: string }[] = [];
  for (let i = 0; i < 20; i++) made.push((await upload(team)).body as { id: string });
  expect(await upload(team)).toMatchObject({
    status: 422,
    body: { name: 'validation_error', message: expect.stringContaining('20 imports') as string },
  });
  expect(await upload(other)).toMatchObject({ status: 201 });
  await scene.app.world.db.run("update contact_imports set status = 'completed', completed_at = 1 where id = ?", [
    made[0]?.id ?? '',
  ]);
  expect(await upload(team)).toMatchObject({ status: 201 });
});
