import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildPng } from '../rig/pictures.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

describe('the audience screens of the console', () => {
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene();
    team = await scene.team('Example');
    await make('/contact-properties', { key: 'seats', type: 'number', fallback_value: 1 });
    await make('/contacts', { email: 'ada@example.org', first_name: 'Ada', properties: { seats: 3 } });
    await make('/topics', { name: 'News', default_subscription: 'opt_in', description: 'What is new' });
    await make('/topics', { name: '週報 weekly', default_subscription: 'opt_out' });
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

  const make = async (url: string, body: object) => (await scene.api('POST', url, { key: team.key, body })).body;
  const ask = async (url: string) => (await scene.api('GET', url, { key: team.key })).body;
  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<string> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    return seat.sees(...sees);
  };
  const fill = async (...texts: string[]): Promise<void> => {
    for (const [at, text] of texts.entries()) {
      if (at > 0) await seat.press('Down');
      if (text !== '') await seat.type(text);
    }
  };
  const write = (name: string, text: string): string => {
    fs.writeFileSync(path.join(seat.folder, name), text);
    return path.join(seat.folder, name);
  };
  it('let a contact choose its topics by name, and send only the changes', async () => {
    await go('contacts', /^› .*ada@example\.org/m);
    await go('set-topics', 'News', '週報 weekly', /opt_in/, /opt_out/);
    await keepFrame(seat, 'topics-form', 'Only changed fields are sent.');
    await seat.press('C-s');
    await seat.sees('Nothing has been changed yet.');
    await seat.press('Right', 'C-s');
    await seat.sees('Set  one topic');
    const { data } = await ask('/contacts/ada@example.org/topics');
    expect(data.map(({ subscription }: { subscription: string }) => subscription)).toEqual(['opt_in', 'opt_in']);
    const { data: happened } = await ask('/contacts/ada@example.org/activity');
    expect(happened.filter(({ type }: { type: string }) => /topic/.test(type))).toHaveLength(1);
  });

  it('say that a contact is suppressed and why, and list what happened to it', async () => {
    const email = 'gone@example.org';
    await make('/contacts', { email });
    await go('contacts', /^› .*gone@example\.org .* subscribed/m);
    await make('/suppressions', { email });
    await make('/events', { name: 'order.placed' });
    await make('/events/send', { event: 'order.placed', email });
    await go('overview', 'Mail of the last');
    await go('contacts', /^› .*gone@example\.org .* suppressed \(manual\)/m);
    await seat.press('Enter');
    await seat.sees(/Mail +suppressed \(manual\)/, /Suppressed +\d/);
    await seat.type('l');
    await seat.sees('order.placed', 'event_received', /suppression_added .*manual/, 'contact_created');
    await seat.press('Escape');
    for (const path of ['contacts', 'suppressions']) await scene.api('DELETE', `/${path}/${email}`, { key: team.key });
  });

  it('upload an image from a file, and preview and test a broadcast', async () => {
    fs.writeFileSync(path.join(seat.folder, 'logo.png'), buildPng(60, 20));
    await go('images', 'There are no images yet.');
    await go('upload', '› file');
    await fill(path.join(seat.folder, 'nowhere.png'));
    await seat.press('C-s');
    await seat.sees('nowhere.png cannot be read');
    await seat.press('C-u');
    await fill(path.join(seat.folder, 'logo.png'));
    await seat.press('C-s');
    await seat.sees(/http\S+\/i\/[A-Za-z0-9_-]{32}/, 'image/png');
    expect((await ask('/images')).data).toMatchObject([{ width: 60, height: 20 }]);
    const domain = await team.domain();
    await make('/broadcasts', { from: `news@${domain.name}`, subject: 'For you', text: 'Hello {{{FIRST_NAME}}}' });
    await go('broadcasts', 'For you');
    await go('preview', '› contact');
    await fill('ada@example.org');
    await seat.press('C-s');
    await seat.sees('Subject: For you', 'Hello Ada');
    await seat.press('Escape');
    await go('test', '› to');
    await fill('me@example.org');
    await seat.press('C-s');
    await seat.sees('A test email is being sent');
    expect((await ask('/emails')).data).toMatchObject([{ to: ['me@example.org'], subject: '[Test] For you' }]);
  });

  it('declare a property, change and remove its fallback, and delete it after its name is typed', async () => {
    await go('contact-properties', 'seats');
    await go('create', '1 to 50 letters, digits and underscores');
    await fill('age', '', 'old');
    await seat.press('Up');
    await seat.type('n');
    await seat.press('C-u', 'Right', 'Right');
    await seat.press('C-s');
    await seat.sees('fallback of a number must be a number; got "old"', '› fallback');
    await seat.press('C-u');
    await seat.type('30');
    await seat.press('C-s');
    await seat.sees('Declared  ');
    const [age] = (await ask('/contact-properties')).data;
    expect(age).toMatchObject({ key: 'age', type: 'number', fallback_value: 30 });
    await go('update', /› fallback +30/);
    await seat.press('BSpace');
    await seat.type('1');
    await seat.press('Enter');
    await seat.sees('Changed  ');
    expect((await ask(`/contact-properties/${age.id}`)).fallback_value).toBe(31);
    await go('update', /› fallback +31/);
    await seat.press('C-u', 'Enter');
    await seat.sees('Changed  ');
    expect((await ask(`/contact-properties/${age.id}`)).fallback_value).toBeNull();
    await go('delete', 'remove the property and its value from every contact', 'Type age to do it');
    await seat.type('age');
    await seat.press('Enter');
    await seat.sees('Deleted  ');
    expect((await ask('/contact-properties')).data.map(({ key }: { key: string }) => key)).toEqual(['seats']);
  });

  it('open a form for changes with the current values, and remove the value of an emptied field', async () => {
    await go('contacts', /^› .*ada@example\.org/m);
    await go('update', /› email +ada@example\.org/, /first name +Ada/, /unsubscribed +false/, /property +seats:=3/);
    await keepFrame(seat, 'contact-form', 'Only changed fields are sent.');
    // Meanwhile somebody else changes a field that is not changed here.
    await scene.api('PATCH', '/contacts/ada@example.org', { key: team.key, body: { last_name: 'Lovelace' } });
    await seat.press('C-u', 'C-s');
    await seat.sees('email cannot be empty; it was ada@example.org.');
    await seat.type('ada@example.org');
    await seat.press('Down', 'C-u', 'Up', 'Up');
    await seat.press('C-u');
    await seat.type('plan=pro, and more');
    await seat.press('C-s');
    await seat.sees('which is not a declared property');
    await seat.press('C-u');
    await seat.type('seats:=4');
    await seat.press('C-s');
    await seat.sees('Changed  ');
    const ada = await ask('/contacts/ada@example.org');
    expect(ada).toMatchObject({ first_name: null, last_name: 'Lovelace', properties: { seats: 4 } });
    await go('update', /property +seats:=4/);
    await seat.press('Up', 'C-u', 'Enter');
    await seat.sees('Changed  ');
    expect((await ask('/contacts/ada@example.org')).properties).toEqual({});
  });

  it('let a long line be corrected in its middle', async () => {
    await go('contacts', /^› .*ada@example\.org/m);
    await go('update', /› email +ada@example\.org/);
    await seat.press('Down', 'Down');
    await seat.press('C-u');
    const long = `${'Lovelace '.repeat(12)}X`;
    await seat.paste(long);
    await seat.sees(/› last name +….*Lovelace X/);
    await seat.press('Home', 'Right', 'Right', 'BSpace');
    await seat.type('ö');
    await seat.sees(/› last name +Lövelace Lovelace .*…/);
    await seat.press('C-s');
    await seat.sees('Changed  ');
    expect((await ask('/contacts/ada@example.org')).last_name).toBe(long.replace('Lo', 'Lö'));
    expect(
      (await scene.api('PATCH', '/contacts/ada@example.org', { key: team.key, body: { last_name: null } })).status,
    ).toBe(200);
  });

  it('try a filter before a segment is created', async () => {
    await go('segments', 'There are no segments yet.');
    await go('preview', 'the filter, such as properties.plan = pro');
    await fill('{"all":[{"field":"email","op":"contains","value":"@example.org"}]}');
    await seat.press('Enter');
    await seat.sees('1 contact matches; nothing was stored.');
    await go('preview', 'the filter, such as properties.plan = pro');
    await fill('email includes example.org');
    await seat.press('Enter');
    await seat.sees('filter, at character 7: = != > >= < <= contains, in or exists is');
    await seat.press('C-u');
    await fill('topic News = opt_out and email = nobody@example.org');
    await seat.press('Enter');
    await seat.sees('0 contacts match; nothing was stored.');
    expect((await ask('/segments')).data).toEqual([]);
  });

  it('import the named columns, including properties and topics', async () => {
    const [, news] = (await ask('/topics')).data;
    const file = write(
      'people.csv',
      'Mail,"Name, first",Plätze,Notiz\nbob@example.org,Bob,7,x\nbob@example.org,Bob,7,x\n',
    );
    await go('imports', 'There are no imports yet.');
    await go('import', 'the CSV file, on this machine');
    await fill(file, 'email=Mail, nickname=X');
    await keepFrame(seat, 'import-form', 'nickname=X');
    await seat.press('C-s');
    await seat.sees('column must be a field and a column');
    await seat.press('C-u');
    await seat.type('email=Mail, first_name=Name, first');
    await fill('', 'seats:number=Plätze', '', '', '', '', `${news.id}=opt_out`);
    await seat.press('C-s');
    await vi.waitFor(async () => expect((await ask('/contacts/imports')).data).toHaveLength(1));
    await scene.settled();
    await seat.sees('completed  2 rows: 1 created', 'Not imported: "Notiz".', 'Skipped: these contacts exist already');
    expect(await ask('/contacts/bob@example.org')).toMatchObject({ first_name: 'Bob', properties: { seats: 7 } });
    const { data } = await ask('/contacts/bob@example.org/topics');
    expect(data.find(({ id }: { id: string }) => id === news.id).subscription).toBe('opt_out');
  });

  it('send the valid emails of a permissive batch, and name the others', async () => {
    await team.domain('batch.example.com');
    const mail = { from: 'a@batch.example.com', to: 'b@example.org', subject: 'Good', text: 'x' };
    const file = write('mixed.json', JSON.stringify([mail, { ...mail, to: 'nobody' }]));
    await go('emails', /^ emails/m);
    await go('batch', 'the file, on this machine');
    await fill(file);
    await seat.press('C-s');
    await seat.sees('validation_error');
    await seat.press('Down', 'Right');
    await seat.sees(/› permissive +true/);
    await seat.press('Enter');
    await seat.sees('Accepted  1 email', 'Email 2 of 2 was refused:');
    expect((await ask('/emails?search=Good')).data).toHaveLength(1);
    await scene.settled();
  });

  it('go to the end of a long list with G, and show the same list on the way back', async () => {
    const many = Array.from({ length: 160 }, (_, at) => `n${String(at).padStart(3, '0')}@example.net`);
    for (const email of many) await make('/suppressions', { email });
    await go('suppressions', /^› n159@/m);
    await seat.press('G');
    await seat.sees(/^› n000@/m, /suppressions +… 50\/50$/m);
    await seat.press('k');
    await seat.sees(/^› n001@/m);
    await seat.press('Home');
    await seat.sees(/^› n159@/m, /suppressions +1\/50\+$/m);
    for (let pages = 0; pages < 12; pages++) await seat.press('PageDown');
    await seat.press('End');
    await seat.sees(/^› n000@/m);
  });
});
