import { afterAll, beforeAll, expect, it } from 'vitest';
import { startModelServer, type ModelServer } from '../rig/model-server.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { Screen } from './screen.ts';

let model: ModelServer;
let scene: Scene;
let seat: Screen;
beforeAll(async () => {
  model = await startModelServer('openai');
  scene = await startScene({ config: { ai: model.settings() } });
  const team = await scene.team('Example');
  await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
  const { name } = await team.domain();
  const mail = { from: `a@${name}`, to: 'permfail@example.org', subject: 'Your invoice', text: 'Hello' };
  await scene.api('POST', '/emails', { key: team.key, body: mail });
  await scene.settled();
  seat = await Screen.take({ url: scene.url, key: team.key });
  await seat.sees('received mail');
});
afterAll(async () => {
  await seat?.[Symbol.asyncDispose]();
  await scene?.close();
  await model?.[Symbol.asyncDispose]();
});

async function go(command: string, ...sees: (string | RegExp)[]): Promise<void> {
  await seat.type(`:${command}`);
  await seat.press('Enter');
  await seat.sees(...sees);
}

it('the screen of the AI helpers shows the remaining credits, suggests subjects and drafts a body', async () => {
  await go('ai', /Credits left +1,000/);
  model.says({ suggestions: ['Closed on Friday', 'See you on Monday'] });
  await seat.press('s');
  await seat.sees('› subject', 'audience');
  await seat.type('We close');
  await seat.press('C-s');
  await seat.sees('Closed on Friday', 'See you on Monday', '999 of 1000 credits are left this month.');
  expect(model.calls.at(-1)?.user).toContain('We close');
  await seat.press('Escape');
  await seat.sees(/Credits left +999/);
  model.says({ html: '<a href="https://evil.example/">x</a>', text: 'We are closed.' });
  await seat.press('d');
  await seat.sees('› brief');
  await seat.type('We are closed.');
  await seat.press('C-s');
  await seat.sees('Check these addresses', 'https://evil.example/', '998 of 1000');
  await seat.press('Escape');
});

it('a key on an email shows the diagnosis of its delivery', async () => {
  model.says({ summary: 'Nobody lives there.', likely_causes: ['No such address.'], next_steps: ['Remove it.'] });
  await go('emails', /^› .*permfail@example\.org/m);
  await seat.press('w');
  await seat.sees('y confirm');
  await seat.press('y');
  await seat.sees('Nobody lives there.', 'Likely causes', 'No such address.', 'Remove it.');
});
