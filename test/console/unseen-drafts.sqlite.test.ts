// The console sends and publishes only what the person has seen.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAppScene, type AppScene } from '../api/approvals/app-scene.ts';
import { Screen } from './screen.ts';

let stage: AppScene;
let screen: Screen;
let token: string;
beforeAll(async () => {
  stage = await startAppScene();
  token = await stage.tokenFor('sends');
  screen = await Screen.take({ url: stage.scene.url, key: stage.desk.team.key });
  await screen.sees('Mail of the last');
});
afterAll(async () => {
  await screen?.[Symbol.asyncDispose]();
  await stage?.close();
});

const create = async (path: string, body: object): Promise<string> => {
  const made = await stage.call(token, 'POST', path, body);
  expect(made.status, made.text).toBe(201);
  return `${path}/${made.body.id}`;
};
const change = async (path: string, body: object): Promise<void> => {
  expect((await stage.call(token, 'PATCH', path, body)).status).toBe(200);
};
async function go(name: string): Promise<void> {
  await screen.type(`:${name}`);
  await screen.sees(`:${name}`);
  await screen.press('Enter');
}

it('the console does not publish a template that an app changed while the person was asked', async () => {
  const path = await create('/templates', { name: 'Receipt', subject: 'Thanks', html: '<p>Mine.</p>' });
  await go('templates');
  await screen.sees(/^› .*Receipt/m);
  await screen.press('p');
  await screen.sees(/Publish the current content/);
  await change(path, { html: '<p>EVIL</p>' });
  await screen.press('y');
  await screen.sees('was changed after it was read');
  expect((await stage.desk.call('GET', path)).body.status).toBe('draft');
});

it('the console does not send a broadcast that an app changed while the person filled in the form', async () => {
  const path = await create('/broadcasts', { ...stage.desk.draft, name: 'November' });
  await go('broadcasts');
  await screen.sees(/^› November/m);
  await screen.press('s');
  await screen.sees(/send a draft to its segment/);
  await change(path, { html: '<p>EVIL</p>' });
  // The form has two fields.
  await screen.press('Enter', 'Enter');
  await screen.sees('was changed after it was read');
  expect((await stage.desk.call('GET', path)).body.status).toBe('draft');
});
