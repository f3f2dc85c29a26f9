import { expect, it } from 'vitest';
import { formOf } from '../../rig/forms.ts';
import { startScene, type Team } from '../../rig/scene.ts';

it('a team with many imports in line keeps nobody else waiting for all of them', { timeout: 120_000 }, async () => {
  await using scene = await startScene();
  const upload = async (team: Team, file: string): Promise<string> => {
    const answer = await scene.api('POST', '/contacts/imports', { key: team.key, ...formOf(file, {}) });
    expect(answer, answer.text).toMatchObject({ status: 201 });
    return answer.body.id as string;
  };
  const statusOf = async (team: Team, id: string): Promise<string> =>
    (await scene.api('GET', `/contacts/imports/${id}`, { key: team.key })).body.status;
  const [first, second, patient] = [await scene.team(), await scene.team(), await scene.team()];
  const rows = Array.from({ length: 20_000 }, (_, i) => `person${i}@example.org\n`).join('');
  const greedy: [Team, string][] = [];
  for (let i = 0; i < 6; i++) {
    for (const team of [first, second]) greedy.push([team, await upload(team, `email\n${rows}`)]);
  }
  const mine = await upload(patient, 'email\nada@example.org\n');
  while ((await statusOf(patient, mine)) !== 'completed') await scene.api('GET', '/health', {});
  const statuses = await Promise.all(greedy.map(([team, id]) => statusOf(team, id)));
  expect(statuses.filter((status) => status === 'queued').length).toBeGreaterThanOrEqual(2);
  await scene.settled();
  const ended = await Promise.all(greedy.map(([team, id]) => statusOf(team, id)));
  expect(new Set(ended)).toEqual(new Set(['completed']));
});
