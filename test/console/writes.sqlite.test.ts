import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startCloudflare, type CloudflareStub } from '../rig/cloudflare.ts';
import { startScene, type Scene, type SceneOptions, type Team } from '../rig/scene.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

describe('the writing actions of the console', () => {
  let stub: CloudflareStub;
  let scene: Scene;
  let team: Team;
  let seat: Screen;
  beforeAll(async () => {
    stub = await startCloudflare();
    const cloud = { kind: 'cloudflare', zones: ['example.com'], teams: ['*'], api_url: stub.apiUrl, token: stub.token };
    scene = await startScene({
      trustedCa: [stub.ca],
      config: {
        network: { http_allow_private: ['127.0.0.0/8'], mail_allow_private: ['127.0.0.0/8'] },
        dns_providers: { cloud } as unknown as NonNullable<SceneOptions['config']>['dns_providers'],
      } as SceneOptions['config'] & object,
    });
    scene.dns.set(stub.host, 'A', ['127.0.0.1']);
    stub.zones = new Map([['example.com', { id: 'a'.repeat(32), records: [] }]]);
    team = await scene.team('Example');
    await scene.api('POST', '/domains', { key: team.key, body: { name: 'mail.example.com' } });
    await scene.api('POST', '/contacts', { key: team.key, body: { email: 'ada@example.org', first_name: 'Ada' } });
    seat = await Screen.take({ url: scene.url, key: team.key });
    await seat.sees('received mail');
  });
  afterEach(async () => {
    await seat.press('Escape');
    await go('overview', 'Mail of the last');
    expect(stub.violations).toEqual([]);
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
    await stub?.close();
  });

  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    await seat.sees(...sees);
  };
  /** Fills the fields of a form in their order, and hands it in. */
  const fill = async (...texts: string[]): Promise<void> => {
    for (const [at, text] of texts.entries()) {
      if (at > 0) await seat.press('Down');
      if (text !== '') await seat.type(text);
    }
  };
  const ask = async (url: string) => (await scene.api('GET', url, { key: team.key })).body;
  const write = (name: string, text: string): string => {
    fs.writeFileSync(path.join(seat.folder, name), text);
    return path.join(seat.folder, name);
  };
  it('change a zone only as shown before, and after a yes', async () => {
    await go('domains', 'mail.example.com');
    await go('configure', 'the DNS provider to publish with');
    await seat.press('Down');
    await seat.type('hidden');
    expect(await seat.sees('••••••')).not.toContain('hidden');
    await seat.press('C-u', 'Up');
    await fill('cloud', '', '');
    await seat.press('Enter');
    await seat.sees('This would change the zone example.com at the provider cloud.', 'create', 'y confirm   n cancel');
    await keepFrame(seat, 'dns-plan', 'This would change');
    await seat.press('End', 'n');
    await seat.sees(/^(?![\s\S]*y confirm)/);
    expect(stub.lines('example.com')).toEqual([]);
    await go('configure', 'the DNS provider to publish with');
    await seat.press('Up', 'Enter');
    await seat.sees('y confirm');
    await seat.press('y');
    await seat.sees('Changed the zone example.com at the provider cloud.');
    expect(stub.lines('example.com').join('\n')).toContain('_domainkey.mail.example.com');
    await go('configure', 'the DNS provider to publish with');
    await seat.press('Up', 'Enter');
    await seat.sees('The zone example.com already has all records; nothing changes.', 'y confirm');
    await seat.press('n');
  });

  it('change none of several marked items unseen', async () => {
    const body = { name: 'other.example.com' };
    const { id } = (await scene.api('POST', '/domains', { key: team.key, body })).body;
    await go('domains', 'other.example.com');
    await seat.press('Space', 'Space');
    await seat.sees('2 marked');
    await go('configure', 'configure works on one item at a time: unmark the others (space).');
    await seat.press('k', 'Space', 'k', 'Space');
    await scene.api('DELETE', `/domains/${id}`, { key: team.key });
  });

  it('claim a domain of another team, with the record to publish', async () => {
    const other = await scene.team('Other');
    const held = await other.domain('held.example.com');
    await go('domains', 'mail.example.com');
    await go('claim', 'the name exactly as the other team');
    await fill(held.name, '', '');
    await seat.press('Enter');
    await seat.sees(
      'held.example.com: pending',
      'Publish this TXT record at held.example.com:',
      'The server checks the claim every hour',
    );
    await keepFrame(seat, 'domain-claim', 'Publish this TXT record');
    await seat.press('y');
    await seat.sees('Copied to the clipboard');
    const { data } = await ask('/domains');
    const { id } = data.find(({ name }: { name: string }) => name === held.name);
    expect(await seat.clipboard()).toBe((await ask(`/domains/${id}/claim`)).record.value);
    await seat.press('Escape');
    await seat.sees(/^› held\.example\.com|^› .*held\.example\.com/m);
    await go('claim-verify', 'y confirm');
    await seat.press('y');
    await seat.sees('held.example.com: pending');
  });

  it('import contacts from a local file, and list the failed rows', async () => {
    await go('imports', 'There are no imports yet.');
    await go('import', 'the CSV file, on this machine');
    await fill(path.join(seat.folder, 'absent.csv'));
    await seat.press('C-s');
    await seat.sees(/absent\.csv cannot be read: there is no such\s/);
    const file = write('people.csv', 'email,first_name\nbob@example.org,Bob\nnonsense,No\n');
    // The typed text is kept for another try.
    await seat.press('C-u');
    await seat.type(file);
    await seat.press('C-s');
    await vi.waitFor(async () => expect((await ask('/contacts/imports')).data).toHaveLength(1));
    await scene.settled();
    await seat.sees('completed  2 rows: 1 created, 0 updated, 0 skipped, 1 failed', 'row 3: ');
    expect((await ask('/contacts')).data).toContainEqual(expect.objectContaining({ email: 'bob@example.org' }));
  });

  it('send an email with every field, and report a faulty file at its field', async () => {
    await team.domain('send.example.com');
    const long = Array.from({ length: 300 }, (_, at) => `<p>Line ${at}</p>`).join('\n');
    const page = write('page.html', long);
    const invoice = write('an invoice.pdf', 'PDF');
    await go('emails', /^ emails/m);
    await go('send', 'Ctrl-O: html, text file, html file, template');
    await fill('a@send.example.com', 'b@example.org', 'With everything');
    await seat.press('Down', 'C-o');
    await keepFrame(seat, 'send-form', '› html ');
    await seat.press('Down', 'Down');
    await seat.type(page);
    const fields = ['X-One: 1, 2, X-Two: b', 'kind=receipt, week=45'];
    await fill('', '', '', 'c@example.org', 'd@example.org', 'e@example.org', ...fields, `${invoice}, ${invoice}x`);
    await seat.press('C-s');
    await seat.sees(/attach \S+an invoice\.pdfx cannot be read: there\s/, /is no such file/, /› attach +/);
    await seat.press('C-u');
    await seat.type(`${invoice};filename=november.pdf`);
    await seat.press('C-s');
    await seat.sees('Accepted  ');
    await scene.settled();
    const [{ id }] = (await ask('/emails?search=everything')).data;
    expect(await ask(`/emails/${id}`)).toMatchObject({
      html: long,
      text: null,
      cc: ['c@example.org'],
      bcc: ['d@example.org'],
      reply_to: ['e@example.org'],
      tags: [
        { name: 'kind', value: 'receipt' },
        { name: 'week', value: '45' },
      ],
    });
    const { data } = await ask(`/emails/${id}/attachments`);
    expect(data).toMatchObject([{ filename: 'november.pdf', size: 3 }]);
  });

  it('send a batch from a local file', async () => {
    await team.domain('batch.example.com');
    const mail = { from: 'a@batch.example.com', to: 'b@example.org', subject: 'Many', text: 'x' };
    await go('emails', /^ emails/m);
    await go('batch', 'the file, on this machine');
    await fill(write('one.json', '{}'));
    await seat.press('C-s');
    await seat.sees('the file must contain a JSON list of emails');
    await seat.press('C-u');
    await fill(write('two.json', JSON.stringify([mail, mail])));
    await seat.press('C-s');
    await seat.sees('Accepted  2 emails');
    expect((await ask('/emails?search=Many')).data).toHaveLength(2);
    await scene.settled();
  });

  it('create a template from files and variables, as the command line does', async () => {
    const page = write('shown.html', '<p>{{{PRODUCT}}}</p>');
    await go('templates', 'There are no templates yet.');
    await go('create', 'Ctrl-O: html file, text file, from, reply to, variable');
    await fill('Order');
    await seat.press('C-o');
    await fill(page, '', '', '', '', '', 'PRODUCT=this, and that, COUNT:number=5, NAME');
    await seat.press('C-s');
    await seat.sees('Created  ');
    const [{ id }] = (await ask('/templates')).data;
    const variables = [
      { key: 'PRODUCT', type: 'string', fallback_value: 'this, and that' },
      { key: 'COUNT', type: 'number', fallback_value: 5 },
      { key: 'NAME', type: 'string', fallback_value: null },
    ];
    const declared = variables.map((variable) => expect.objectContaining(variable));
    expect(await ask(`/templates/${id}`)).toMatchObject({ html: '<p>{{{PRODUCT}}}</p>', variables: declared });
    await go('templates', 'Order');
    await go('update', 'Only changed fields are sent.');
    await seat.press('C-o');
    await fill(page);
    await seat.press('Up', 'Up');
    await seat.sees(/› html +<p>/);
    await seat.type('x');
    await seat.press('C-s');
    await seat.sees('html file and html are both filled; choose one.', /› html file/);
    await seat.sees(/variable +PRODUCT=this, and that, COUNT:number=5, NAME/);
    await seat.press('Escape');
  });

  it('accept in forms what the command line accepts for keys, domains and several addresses', async () => {
    const { id } = await team.domain('pinned.example.com');
    await go('keys', 'full_access');
    await go('create', 'create a key');
    await fill('Pinned', 'sending_access', 'pinned.example.com');
    await seat.press('Enter');
    await seat.sees('This is the only time the key is shown');
    await seat.press('Escape');
    expect((await ask('/api-keys')).data).toContainEqual(expect.objectContaining({ name: 'Pinned', domain_id: id }));

    await go('suppressions', 'suppressions');
    await go('add', 'the addresses; separate several by commas');
    await fill('one@example.net, two@example.net');
    await seat.press('Enter');
    await seat.sees('Suppressed  2 of them');
    expect((await ask('/suppressions')).data).toHaveLength(2);

    await go('domains', 'pinned.example.com');
    await go('create', 'Ctrl-O: custom return path, open tracking');
    await fill('settled.example.com');
    await seat.press('C-o');
    await fill('bounce', 'true', '', 'links');
    await seat.press('C-s');
    await seat.sees('Registered  settled.example.com');
    const { data } = await ask('/domains');
    const made = data.find(({ name }: { name: string }) => name === 'settled.example.com');
    expect(made).toMatchObject({ open_tracking: true, click_tracking: false });
  });

  it('change rules, segments, contacts and the team in forms', async () => {
    await go('inbound-rules', 'There are no rules yet');
    await go('create', 'support+*@example.com');
    await fill('*@mail.example.com', 'forward', 'office@example.org, desk@example.org');
    await seat.press('Enter');
    await seat.sees('Created  ');
    const [rule] = (await ask('/inbound-rules')).data;
    expect(rule).toMatchObject({ action: 'forward', forward_to: ['office@example.org', 'desk@example.org'] });
    await go('update', 'webhook_only, forward or drop');
    await fill('drop', '');
    await seat.press('Enter');
    await seat.sees('Changed  ');
    expect((await ask(`/inbound-rules/${rule.id}`)).action).toBe('drop');

    await go('segments', 'There are no segments yet.');
    await go('create', 'the name that the team uses');
    await fill('Known', '{"all":');
    await seat.press('Enter');
    await seat.sees('filter must be JSON.');
    await seat.type('[{"field":"email","op":"contains","value":"@example.org"}]}');
    await seat.press('Enter');
    await seat.sees('Created  ');
    const [segment] = (await ask('/segments')).data;
    expect((await ask(`/segments/${segment.id}`)).filter.all).toHaveLength(1);

    await go('contacts', 'ada@example.org');
    await seat.type('/ada');
    await seat.press('Enter');
    await seat.sees(/\/ada · 1/);
    await go('update', 'the address, without a name');
    await fill('', '', 'King', 'true');
    await seat.press('C-s');
    await seat.sees('Changed  ');
    expect(await ask('/contacts/ada@example.org')).toMatchObject({
      first_name: 'Ada',
      last_name: 'King',
      unsubscribed: true,
    });

    await go('team', 'Slug');
    await go('update', 'the name of the sender in marketing mail');
    await keepFrame(seat, 'team-form', 'postal code');
    await fill('Example Ltd', '1 Example Street', '', 'London', '', 'N1 1AA', 'GB');
    await seat.press('C-s');
    await seat.sees('Changed  Example');
    await go('update', /city +London/, /country +GB/);
    await fill('', '', '', '');
    await seat.press('C-u');
    await seat.type('Leeds');
    await seat.press('C-s');
    await seat.sees('Changed  Example');
    expect((await ask('/team')).sender_identity).toMatchObject({
      sender_name: 'Example Ltd',
      postal_address: { line1: '1 Example Street', city: 'Leeds', country: 'GB' },
    });
  });
});
