import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { receiveMail } from '../rig/received-mail.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { plantWebhook, plantWebhookEvent } from '../rig/webhooks.ts';
import { Screen } from './screen.ts';

describe('the console for a new user', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await makeBelievableTeam(scene);
    seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees('received mail');
  });
  afterEach(async () => {
    await seat.press('Escape');
    await go('overview', 'Mail of the last');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    await seat.sees(...sees);
  };

  it('keeps the list when a filter is refused, and keeps the filter for correction', async () => {
    await go('emails', 'Your invoice', 'Your receipt');
    await seat.type('/status=bouncd');
    await seat.press('Enter');
    await seat.sees(/^ emails +\d+\/2$/m, 'Your invoice', /status must be one of/, /^ \/status=bouncd/m);
    await seat.press('BSpace');
    await seat.type('ed');
    await seat.sees(/status must be one of/, /^ \/status=bounced/m);
    await seat.press('Enter');
    await seat.sees(/\/status=bounced · \d+\/1$/m, /^(?![^]*must be one of)/);
    await seat.press('/', 'C-u');
    await seat.type('nothing=1');
    await seat.press('Enter');
    await seat.sees('There is no filter nothing', /\/status=bounced · \d+\/1$/m, /^ \/nothing=1/m);
    await seat.press('Escape');
    await seat.sees(/^(?![^]*There is no filter)/);
    await go(
      'emails status=bouncd',
      /^ emails +\d+\/2$/m,
      'Your invoice',
      /status must be one of/,
      /^ \/status=bouncd/m,
    );
  });

  it('opens a new domain at its DNS records, with the next step', async () => {
    await go('domains', 'news.example.com');
    await seat.press('c');
    await seat.sees('create: register a domain');
    await seat.type('new.example.com');
    await seat.press('C-s');
    await seat.sees('domains › new.example.com', /^› DKIM/m, 'Registered  new.example.com');
    await seat.press('j');
    await seat.sees('Publish its records in DNS; then verify the domain with: v (verify)', /^› SPF/m);
    await seat.press('v');
    await seat.sees('y confirm');
    await seat.press('n', 'Escape');
    await seat.sees(/^ domains +\d+\/3$/m);
    await go('segments', 'Customers');
    await seat.press('c');
    await seat.sees('the name that the team uses');
    await seat.type('Known');
    await seat.press('C-s');
    await seat.sees('segments › Known', 'Created  ');
  });

  it('says what to do about a disabled endpoint, shows its events as parked, and shows each payload', async () => {
    const id = await plantWebhook(scene, team, { endpoint: 'https://off.example.com/', status: 'disabled' });
    await plantWebhookEvent(scene, team, id, { status: 'success', attempts: 1, lastStatus: 200 });
    await plantWebhookEvent(scene, team, id, { status: 'pending', parked: true });
    await plantWebhookEvent(scene, team, id, { status: 'pending', dueAt: scene.clock.now() + 3_600_000 });
    await go('webhooks', 'off.example.com');
    await go(
      `webhooks ${id}`,
      'Events are parked while it is disabled',
      /Enable it with: u \(update\)/,
      /send the parked events with: → parked/,
    );
    await seat.press('h');
    await seat.sees(/· pending/, /! parked/, /✓ success/);
    await seat.press('h');
    await seat.sees(/^› .*! parked/m, / 1\/1$/m);
    await seat.press('Enter');
    await seat.sees('› email.sent', /Status +parked/, /payload/);
    await seat.press('l');
    await seat.sees('"subject": "Planted"');
  });

  it('says in the form that one of text, HTML and a template is enough', async () => {
    await go('emails', 'Your invoice');
    await go('send', /\(\*\) one of text, html, text file, html file,/, /from \* /, /text \(\*\) /);
    for (const text of ['hello@mail.example.com', 'ada@example.org', 'HTML alone']) {
      await seat.type(text);
      await seat.press('Enter');
    }
    await seat.press('C-o');
    await seat.sees(/› html +/);
    await seat.type('<p>Hello</p>');
    await seat.sees(/^(?![^]*\(\*\))/);
    await seat.press('C-s');
    await seat.sees('Accepted  ', 'HTML alone');
    await scene.settled();
    const { data } = (await scene.api('GET', '/emails?search=alone', { key: team.key })).body;
    const { body } = await scene.api('GET', `/emails/${data[0].id}`, { key: team.key });
    expect(body).toMatchObject({ html: '<p>Hello</p>', text: null });
  });

  it('opens a row with → as with Enter', async () => {
    await go('emails', /^› .*HTML alone|^› .*Your invoice/m);
    await seat.type('/receipt');
    await seat.press('Enter');
    await seat.sees(/^› .*Your receipt/m);
    await seat.press('Right');
    await seat.sees('emails › Your receipt', 'The first delivery started');
  });

  it('opens the next and previous item of the list with ] and [, on the same tab', async () => {
    await go('emails', 'Your invoice');
    await seat.type('/Your');
    await seat.press('Enter');
    await seat.sees(/\/Your · \d+\/2$/m, /^› .*Your invoice/m);
    await seat.press('Enter', 'l', 'l');
    await seat.sees('emails › Your invoice', /\[text\]/, 'See you.');
    await seat.press('[');
    await seat.sees('emails › Your invoice', 'This is the first of the list.');
    await seat.press(']');
    await seat.sees('emails › Your receipt', /\[text\]/, 'See you.');
    await seat.press(']');
    await seat.sees('emails › Your receipt', 'This is the last of the list.');
    await seat.press('?');
    await seat.sees(/\] +\[ +next and previous item of the list/);
    await seat.press('Escape');
    await seat.sees('emails › Your receipt', /^(?![^]*previous item)/);
    await seat.press('Escape');
    await seat.sees(/^› .*Your receipt/m, /\/Your · \d+\/2$/m);
    await seat.press('Enter', '[');
    await seat.sees('emails › Your invoice', /\[timeline\]/);
  });

  const addTopic = (name: string) =>
    scene.api('POST', '/topics', { key: team.key, body: { name, default_subscription: 'opt_out' } });

  it('continues with ] over pages that a filter empties', async () => {
    await addTopic('marked-first');
    for (let at = 0; at < 110; at++) await addTopic(`between-${at}`);
    await addTopic('marked-last');
    await go('topics', /^› .*marked-last/m, /^ topics +1\/50\+$/m);
    await seat.type('/marked');
    await seat.press('Enter');
    await seat.sees(/\/marked · 1\/1 of 50 loaded$/m);
    await seat.press('Enter', ']');
    await seat.sees('topics › marked-first');
    await seat.press('[');
    await seat.sees('topics › marked-last');
  });

  it('searches all contacts and suppressions for a text', async () => {
    for (const list of ['contacts', 'suppressions']) {
      const add = (email: string) => scene.api('POST', `/${list}`, { key: team.key, body: { email } });
      await add('sought_one@example.org');
      for (let at = 0; at < 60; at++) await add(`crowd-${at}@example.org`);
      await go(list, /^› .*crowd-59@example\.org/m, new RegExp(`^ ${list} +1/50\\+$`, 'm'));
      await seat.type('/SOUGHT_');
      await seat.press('Enter');
      await seat.sees(/^› .*sought_one@example\.org/m, /\/SOUGHT_ · 1\/1$/m);
    }
  });

  it('searches the senders of all received mail for a text', async () => {
    const add = (from: string) => receiveMail(scene, team, { raw: `From: ${from}\r\n\r\nHello` });
    await add('Somebody <sought_one@example.org>');
    for (let at = 0; at < 60; at++) await add(`crowd-${at}@example.org`);
    await go('received', /^› .*crowd-59@example\.org/m, /^ received +1\/50\+$/m);
    await seat.type('/SOUGHT_');
    await seat.press('Enter');
    await seat.sees(/^› .*sought_one@example\.org/m, /\/SOUGHT_ · 1\/1$/m);
  });

  it('says that a list is searched only as far as it is loaded, and continues', async () => {
    await addTopic('sought-out');
    for (let at = 0; at < 60; at++) await addTopic(`crowd-${at}`);
    await go('topics', /^› .*crowd-59/m, /^ topics +1\/50\+$/m);
    await seat.type('/sought-out');
    await seat.press('Enter');
    await seat.sees(
      'Nothing matches in the 50 that are loaded; ↓ searches further.',
      /\/sought-out · 0 of 50 loaded$/m,
    );
    await seat.press('Down');
    await seat.sees(/^› .*sought-out/m);
  });

  it('continues with ] when the list is loaded page by page', async () => {
    const emails = Array.from({ length: 60 }, (_, at) => `c${String(at).padStart(2, '0')}@example.org`);
    for (const email of emails) await scene.api('POST', '/contacts', { key: team.key, body: { email } });
    await go('contacts', /^› c59@example\.org/m, /^ contacts +1\/50\+$/m);
    await seat.press('Enter');
    for (let at = 58; at >= 5; at--) {
      await seat.press(']');
      await seat.sees(`contacts › ${emails[at]}`, `${60 - at}/${at < 10 ? '100+' : '50+'}`);
    }
  });
});
