import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Desk } from './desk.ts';

vi.setConfig({ testTimeout: 240_000 });

let desk: Desk;
let env: Record<string, string>;
beforeEach(async () => {
  desk = new Desk();
  env = await desk.database();
});
afterEach(() => desk.clear());

it('the first person is made on the machine, and signs in with the password that was shown once', async () => {
  const data = ['--data', 'data'];
  expect(await desk.rasket(['init', ...data], { env })).toMatchObject({ code: 0 });
  const create = ['users', 'create', 'ada@example.com', '--team', 'my-team', ...data];
  const made = await desk.rasket([...create, '--name', 'Ada', '--json'], { env });
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const { password, id } = JSON.parse(made.stdout) as { password: string; id: string };
  const again = await desk.rasket(create, { env });
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain('There is a user with the address ada@example.com already.');
  const nowhere = await desk.rasket(['users', 'create', 'bob@example.com', '--team', 'none', ...data], { env });
  expect(nowhere.stderr).toContain('Team not found.');
  const badRole = await desk.rasket([...create, '--role', 'king'], { env });
  expect(badRole).toMatchObject({ code: 64, stderr: expect.stringContaining('viewer, member, admin, owner') });
  const listed = await desk.rasket(['users', 'list', ...data, '--json'], { env });
  expect(JSON.parse(listed.stdout)).toMatchObject([{ id, email: 'ada@example.com', name: 'Ada' }]);
  expect(listed.stdout).not.toContain('argon2');

  const server = await desk.serve(['serve', ...data], { env });
  const answer = await fetch(`${server.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ email: 'ada@example.com', password }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ user: { id }, current_team: { slug: 'my-team' } });
});
