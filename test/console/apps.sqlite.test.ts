// the console of a person, and of an operator --> what apps ask for, what they were let in to do, and the apps themselves
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../src/contract/index.ts';
import { createOauth } from '../rig/oauth.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

describe('the console', () => {
  let scene: Scene;
  let person: Screen;
  let operator: Screen;
  beforeAll(async () => {
    scene = await startScene();
    const team = await scene.team('Engines');
    await team.domain('mail.example.com');
    const people = createPeople(scene);
    const oauth = createOauth(scene);
    const owner = await people.person({ team, role: 'owner', email: 'ada@people.example' });
    const app = await oauth.register();
    const scopes = { scope: SCOPE_NAMES.join(' ') };
    const { access_token: key } = await oauth.letIn(owner, app, scopes, { approval: 'changes' });
    const body = { from: 'hello@mail.example.com', to: 'ada@example.org', subject: 'Hello', text: 'It works.' };
    for (const [method, path, asked] of [
      ['POST', '/emails', body],
      ['PATCH', '/team', { ai_assist_enabled: true }],
    ] as const) {
      expect((await scene.api(method, path, { key, body: asked })).status).toBe(403);
      scene.clock.advance(1000);
    }
    await oauth.register({ client_name: 'Report builder', redirect_uris: ['https://reports.example.net/back'] });
    person = await Screen.take({ url: scene.url, key: await people.program(owner, team.id) });
    operator = await Screen.take({ url: scene.url, key: await scene.operator() });
    await person.sees('Mail of the last');
    await operator.sees('The queue is empty.');
  });
  afterAll(async () => {
    await person?.[Symbol.asyncDispose]();
    await operator?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  async function go(seat: Screen, name: string): Promise<void> {
    await seat.type(`:${name}`);
    await seat.sees(`:${name}`);
    await seat.press('Enter');
  }

  it('shows what apps ask for, and titles each request by its action', async () => {
    await go(person, 'approvals');
    await person.sees(/^› Change your team .*! pending/m, 'Send an email');
    await keepFrame(person, 'person/approvals', 'Newsletter');
    await person.press('Enter');
    await person.sees(/^ approvals › Change your team +\d+\/\d+/m, '[details]');
    await person.press('Right');
    await person.sees('[content]', 'CHANGES ai_assist_enabled', 'Now: false', 'After approval: true');
    await person.press('Right');
    await person.sees('[call]', '"ai_assist_enabled": true');
  });

  it('the console rejects all requests of an app, whose name stands in the form', async () => {
    await go(person, 'approvals');
    await person.sees(/^› Change your team? .*! pending/m, 'to ada@examp');
    await person.press('z');
    await person.sees('› app', 'Newsletter Desk');
    await person.press('Enter');
    await person.press('Enter');
    await person.sees('2 requests of Newsletter Desk rejected.');
  });

  it('shows what apps are allowed to do, titled by the app, in one pane without tabs', async () => {
    await go(person, 'oauth-grants');
    await person.sees(/^› Newsletter Desk .*· live/m);
    await keepFrame(person, 'person/oauth-grants', 'Newsletter Desk');
    await person.press('Enter');
    const frame = await person.sees(/^ oauth-grants › Newsletter Desk +\d+\/\d+/m, /Limits +approval of changes/);
    expect(frame).not.toContain('[details]');
  });

  it('shows an operator the registered apps', async () => {
    await go(operator, 'oauth-clients');
    await operator.sees(/^› Report builder .*· enabled/m, 'Newsletter Desk');
    await keepFrame(operator, 'operator/apps', 'Report builder');
    await operator.press('Enter');
    await operator.sees(/^ oauth-clients › Report builder +\d+\/\d+/m);
    await operator.press('d');
    // A form of one field has no others to go to.
    expect(await operator.sees('› reason *')).toMatch(/^ enter submit {3}esc cancel$/m);
    await operator.press('Escape');
  });
});
