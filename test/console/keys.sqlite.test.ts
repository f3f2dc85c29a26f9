import { afterEach, beforeAll, afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { Screen } from './screen.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene();
  team = await makeBelievableTeam(scene);
});
afterAll(() => scene?.close());

describe('the keys of the console', () => {
  let seat: Screen;
  beforeAll(async () => {
    seat = await Screen.take({ url: scene.url, key: team.key, columns: 100, rows: 30 });
    await seat.sees('received mail');
  });
  afterEach(async () => {
    await seat.press('Escape');
    await go('overview', 'Mail of the last');
  });
  afterAll(() => seat?.[Symbol.asyncDispose]());

  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    await seat.sees(...sees);
  };
  const ask = async (path: string) => (await scene.api('GET', path, { key: team.key })).body;

  it('move with arrows and vim keys, open with Enter, and return to the same place with Esc', async () => {
    await seat.press('2');
    await seat.sees(/^› .*Your invoice/m);
    await seat.press('Down');
    await seat.sees(/^› .*Your receipt/m);
    await seat.press('k');
    await seat.sees(/^› .*Your invoice/m);
    await seat.press('j', 'Enter');
    await seat.sees('emails › Your receipt', 'The first delivery started');
    await seat.press('Escape');
    await seat.sees(/^› .*Your receipt/m);
  });

  it('do not wait for a slower server', async () => {
    await seat.press('2', 'Enter');
    await seat.sees('emails › Your invoice', 'The first delivery started');
  });

  it('show the keys of the screen and their actions with ?', async () => {
    await seat.press('4');
    await seat.sees('rk_');
    await seat.press('?');
    await seat.sees('Actions of this screen', 'revoke: revoke a key, immediately', 'Navigation');
    for (let lines = 0; lines < 12; lines++) await seat.press('j');
    await seat.sees('Global', 'copy the id, or the value of a record');
  });

  it('complete a command after :, report an unknown one, and take a filter along', async () => {
    await seat.type(':sup');
    await seat.sees(/^ :sup *$/m, /│ › 5 +suppressions +\S+/);
    await seat.press('Tab');
    await seat.sees(':suppressions');
    await seat.press('Enter');
    await seat.sees('gone@example.net');
    await go('nonsense', 'There is no nonsense here');
    await seat.type(':con');
    await seat.sees(/│ › 0 +contacts +\S+/, /│ +contact-properties +\S+/);
    await seat.press('Down');
    await seat.sees(/│ › +contact-properties/);
    await seat.press('Enter');
    await seat.sees(/^ contact-properties/m);
    // Letters in their order are enough.
    await seat.type(':whk');
    await seat.sees(/│ › 6 +webhooks/);
    await seat.press('Enter');
    await seat.sees(/^ webhooks/m);
    await seat.press('2');
    await seat.sees('Your invoice');
    await go('send now', 'send takes no arguments; it opens a form if it needs values.');
    await go('emails status=bounced', /\/status=bounced · \d+\/1$/m);
  });

  it('filter with / by what the API supports, and otherwise among the loaded rows', async () => {
    await seat.press('2');
    await seat.sees('Your invoice');
    await seat.type('/receipt');
    await seat.press('Enter');
    await seat.sees(/\/receipt · \d+\/1$/m, 'Your receipt');
    await seat.type('/nothing=1');
    await seat.press('Enter');
    await seat.sees('the filters are: status, api-key-id');
    await seat.press('Escape');
    await seat.sees(/^(?![^]*there are:)/);
    await seat.press('3');
    await seat.sees('news.example.com');
    await seat.type('/mail.ex');
    await seat.press('Enter');
    await seat.sees('/mail.ex · 1/1 of 2');
    await seat.press('Escape');
    await seat.sees('news.example.com');
  });

  it('complete a filter with its values, and recall it', async () => {
    await seat.press('2');
    await seat.sees('Your invoice');
    await seat.type('/stat');
    await seat.press('Tab');
    await seat.sees(/^ \/status= +.*status=queued/m);
    await seat.type('bou');
    await seat.press('Tab', 'Enter');
    await seat.sees(/\/status=bounced · \d+\/1$/m);
    await seat.press('Escape');
    await seat.sees(/^ emails +\d+\/2$/m);
    await seat.press('/', 'Up');
    await seat.sees(/^ \/status=bounced/m);
    await seat.press('Down');
    await seat.sees(/^ \/ /m);
    await seat.press('Escape');
    await seat.type(':suppressions');
    await seat.press('Enter');
    await seat.sees(/^ suppressions/m);
    await seat.press(':', 'Up');
    await seat.sees(/^ :suppressions/m);
    await seat.press('Escape');
  });

  it('mark all loaded rows with one key, and Esc unmarks before it goes back', async () => {
    await go('emails your', /\/your · \d+\/2$/m);
    await seat.press('*');
    await seat.sees(/2 marked · \/your · \d+\/2$/m);
    await seat.press('Escape');
    await seat.sees(/^ emails +\/your · \d+\/2$/m);
    await seat.press('Escape');
    await seat.sees(/^ emails +\d+\/2$/m);
  });

  it('copy a record with one key', async () => {
    await seat.press('3');
    await seat.sees('news.example.com');
    await seat.press('Enter');
    await seat.sees('› news.example.com', 'Tracking label');
    await seat.press('l');
    await seat.sees(/^› DKIM/m);
    await seat.press('y');
    await seat.sees('Copied to the clipboard');
    const { data } = await ask('/domains');
    const { records } = await ask(`/domains/${data[0].id}`);
    expect(await seat.clipboard()).toBe(records[0].value);
  });

  it('show what is wrong with a domain after a check, below each record at 80 columns', async () => {
    await seat.resize(80, 24);
    await seat.press('3');
    await seat.sees(/^› .*news\.example\.com/m);
    await seat.press('v');
    await seat.sees('y confirm');
    await seat.press('y');
    await seat.sees(/news\.example\.com is \w+: \d of \d records are not\s+verified; open it and\s+press → to\s+see/);
    await seat.press('Enter');
    await seat.sees('› news.example.com', 'Tracking label');
    await seat.press('l');
    await seat.sees(/^› DKIM/m, /What is wrong\n +\S/, /Value\n +v=DKIM1/);
    await seat.resize(100, 30);
  });

  it('the figures of the overview are never truncated, however narrow the terminal', async () => {
    await seat.sees('Mail of the last');
    for (const columns of [60, 44, 80]) {
      await seat.resize(columns, 30);
      await seat.sees('2 sent, 1 delivered (50 %)', '1 bounced (50 %)', '0 complained (0 %)', '0 delayed');
    }
    await seat.resize(100, 30);
  });

  it('create an API key in a form, which is shown once and can be copied', async () => {
    await seat.press('4');
    await seat.sees('Billing');
    await seat.press('c');
    await seat.sees('create: create a key', 'name *');
    await seat.type('Reports');
    await seat.press('Enter', 'Enter', 'Enter');
    const frame = await seat.sees('This is the only time the key is shown');
    await seat.press('y');
    await seat.sees('Copied to the clipboard');
    const token = await seat.clipboard();
    expect(frame).toContain(token);
    expect((await scene.api('GET', '/api-keys', { key: token })).status).toBe(200);
    await seat.press('Escape');
    await seat.sees(/^› .*Reports/m);
  });

  it('make an irreversible action explain itself, and run only after its name is typed', async () => {
    await seat.press('4');
    await seat.sees('Billing');
    await seat.type('/Billing');
    await seat.press('Enter');
    await seat.sees(/Billing · \d+\/1$/m);
    await seat.press('x');
    await seat.sees('Actions');
    await seat.press('e');
    await seat.sees('revoke the key immediately', 'Type Billing to do it on');
    await seat.type('Biling');
    await seat.press('Enter');
    await seat.sees('The name does not match; nothing was changed.');
    expect((await ask('/api-keys?search=Billing')).data).toHaveLength(1);
    await seat.press('C-u');
    await seat.type('Billing');
    await seat.press('Enter');
    await seat.sees('Revoked');
    expect((await ask('/api-keys?search=Billing')).data).toHaveLength(0);
  });

  it('change the settings of a domain', async () => {
    await seat.press('3');
    await seat.sees('mail.example.com');
    await go('update', 'true or false: count opens');
    await seat.type('yes');
    await seat.press('Up', 'Enter');
    await seat.sees('open tracking must be true or false.');
    await seat.press('C-u');
    await seat.type('true');
    await seat.press('Up', 'Enter');
    await seat.sees('Changed  ');
    const { data } = await ask('/domains');
    const opened = await Promise.all(
      data.map(async ({ id }: { id: string }) => (await ask(`/domains/${id}`)).open_tracking),
    );
    expect(opened.filter(Boolean)).toHaveLength(1);
  });

  it('switch only receiving on, based on the setting and not on its progress', async () => {
    await go('domains', /^› .*news\.example\.com/m);
    await go('update', /sending +enabled/, /receiving +disabled/);
    await seat.press('Up', 'Up', 'Left');
    await seat.sees(/› receiving +enabled/);
    await seat.press('C-s');
    await seat.sees('is delivered to another server today', '(receiving_mx_in_use)');
    // The field that the message is about is selected.
    await seat.press('Right', 'C-s');
    await seat.sees('Changed  ');
    const { data } = await ask('/domains');
    const news = data.find(({ name }: { name: string }) => name === 'news.example.com');
    expect(news.capabilities).toEqual({ sending: 'pending', receiving: 'pending' });
    const { data: logs } = await ask('/logs');
    const log = logs.find(({ method }: { method: string }) => method === 'PATCH');
    expect((await ask(`/logs/${log.id}`)).request_body).toEqual({
      capabilities: { receiving: 'enabled' },
      confirm_replace_mx: true,
    });
  });

  it('work in a form and a menu without room, which show the current line and its number', async () => {
    await seat.resize(60, 12);
    // Also after a failure the next tests need the whole screen.
    onTestFinished(() => seat.resize(100, 30));
    await go('domains', /^› .*news\.exam/m);
    await seat.press('x');
    await seat.sees('1 of 1', /› c +create/);
    await seat.press('Up', 'Escape');
    await go('update', /› open tracking/, '1 of 9');
    for (let fields = 0; fields < 7; fields++) await seat.press('Down');
    await seat.sees(/› receiving/, '8 of 9');
    await seat.press('Escape');
    await seat.press('?');
    // The description of a key stays in its column, also when it takes two lines.
    await seat.press('j');
    await seat.sees(/space {21}mark, to act on several {2}│\n {2}│ {29}items/);
    await seat.press('Escape');
  });

  it('confirm a reversible action with y and n', async () => {
    await seat.press('5');
    await seat.sees('gone@example.net');
    await go('remove', 'Lift one or more suppressions: gone@example.net, on http://127.0.0.1');
    await seat.press('n');
    await seat.sees(/^(?![\s\S]*y confirm)/);
    expect((await ask('/suppressions')).data).toContainEqual(expect.objectContaining({ email: 'gone@example.net' }));
    await go('remove', 'y confirm');
    await seat.press('y');
    await seat.sees('Lifted  gone@example.net');
    expect((await ask('/suppressions')).data).not.toContainEqual(
      expect.objectContaining({ email: 'gone@example.net' }),
    );
  });

  it('replay several marked events at once, and show the body of an attempt', async () => {
    await seat.press('6');
    await seat.sees('hooks.example.com');
    await seat.press('Enter');
    // An endpoint opens on its events.
    await seat.sees('webhooks › ', /^› .*✓ success/m);
    await seat.press('j');
    await seat.sees(/^› .*✗ failed/m);
    await seat.press('Space', 'Space');
    await seat.sees('2 marked');
    await go('replay', /Replay an event: email\.\w+ \d{4}-\S+ [\d:]+Z, email\.\w+ \d{4}-/);
    await seat.press('y');
    await seat.sees(/Replayed {2}email\.\w+ \d{4}-.*, email\./);
    await seat.press('g', 'Enter');
    await seat.sees('› email.sent', 'Last answer');
    await seat.press('l');
    await seat.sees('"subject": "Planted"');
    await seat.press('h', 'h');
    await seat.sees(/HTTP/, /It broke/);
  });

  it('offer actions only for the emails they apply to, and explain that elsewhere', async () => {
    await seat.press('2');
    await seat.sees(/^› .*Your invoice/m, /^ \? (?:more|keys) .*s send +w diagnose/m);
    await seat.press('c');
    await seat.sees('cancel: only for an email that is still scheduled.');
    await go('reschedule', 'reschedule: only for an email that is still scheduled.');
    const later = new Date(scene.clock.now() + 3_600_000).toISOString();
    const body = { from: 'hello@mail.example.com', to: 'ada@example.org', subject: 'Later', text: 'T' };
    await scene.api('POST', '/emails', { key: team.key, body: { ...body, scheduled_at: later } });
    await seat.press('r');
    await seat.sees(/^› .*scheduled.*Later/m, /^ \? (?:more|keys) .*e reschedule/m);
    await seat.press('c');
    await seat.sees('y confirm');
    await seat.press('y');
    await seat.sees('Canceled  ', /^› .*canceled.*Later/m, /^ \? (?:more|keys) .*s send +w diagnose/m);
  });

  it('show in a form what is wrong with each field once, by its name there', async () => {
    await seat.press('2');
    await seat.sees('Your invoice');
    await go('send', 'the sender, as address or Name');
    for (const text of ['nobody', 'b c', 'A try', 'Works.']) {
      await seat.type(text);
      await seat.press('Enter');
    }
    const said = (await seat.sees('(validation_error)', 'send: send an email')).replaceAll(/[│\s]+/g, ' ');
    expect(said).not.toMatch(/to\.\d/);
    expect(said.match(/\bfrom: /g)).toHaveLength(1);
    expect(said).toContain('to (number 1): The address "b" has no @');
    expect(said).toContain('to (number 2): The address "c" has no @');
    // The first of them is in hand.
    expect(said).toContain('› from *');
    await seat.press('Escape');
  });

  it('send a test email from a form, and write a template, with checked fields', async () => {
    await seat.press('2');
    await seat.sees('Your invoice');
    await go('send', 'the sender, as address or Name');
    for (const [at, text] of [
      'Example <hello@mail.example.com>',
      'bob@example.org, eve@example.org',
      'A try',
      'Works.',
    ].entries()) {
      if (at > 0) await seat.press('Down');
      await seat.type(text);
    }
    await seat.press('Enter');
    await seat.sees('Accepted  ');
    expect((await ask('/emails?limit=1')).data[0]).toMatchObject({
      subject: 'A try',
      to: ['bob@example.org', 'eve@example.org'],
    });
    await scene.settled();
    await seat.press('8');
    await seat.sees('Receipt');
    await go('create', 'a name that the team uses');
    await seat.type('Greeting');
    await seat.press('Down');
    await seat.type('<p>Hi</p>');
    await seat.press('Down', 'Down', 'Down', 'Enter');
    await seat.sees('Created  ');
    expect((await ask('/templates')).data).toContainEqual(expect.objectContaining({ name: 'Greeting' }));
    await go('publish', 'y confirm');
    await seat.press('y');
    await seat.sees('Published  ', /Status +published/);
    await go('publish', 'publish: only for a template with unpublished changes.');
  });
});
