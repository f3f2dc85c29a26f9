// A person sees everything that they approve, in full: in the API, on the page and at the command line.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writingInbox, type WritingInbox } from '../../rig/inbox.ts';
import { startAppScene, type AppScene } from './app-scene.ts';

let stage: AppScene;
let inbox: WritingInbox;
beforeAll(async () => {
  stage = await startAppScene();
  inbox = await writingInbox(stage.scene, stage.desk.team, { signature: 'Ada, Support', from_name: 'Ada' });
});
afterAll(() => stage.close());

const fetchContent = async (id: string) => (await stage.fetchApproval(id)).content;
/** Expects these texts wherever an approval is shown. */
async function expectShown(id: string, parts: readonly string[]): Promise<void> {
  const page = await stage.openPage(id);
  const terminal = await stage.printAtTerminal('get', id);
  for (const part of parts) {
    expect(page.text).toContain(part);
    expect(terminal).toContain(part);
  }
}
const template = async (html: string): Promise<string> => {
  const { id } = (
    await stage.desk.call('POST', '/templates', { name: html.slice(0, 40), subject: 'From a template', html })
  ).body;
  await stage.desk.call('POST', `/templates/${id}/publish`, {});
  return id as string;
};
const sending = (more: object) => ({ from: `a@${stage.desk.domain.name}`, to: 'x@example.org', ...more });

describe('the content of an approval', () => {
  it('the approval of an inbox draft shows the mail as it would be sent, with recipients, signature and files', async () => {
    const token = await stage.tokenFor('sends');
    const file = {
      filename: 'terms.txt',
      content: Buffer.from('Terms').toString('base64'),
      content_type: 'text/plain',
    };
    const draft = {
      to: ['a@example.org'],
      bcc: ['attacker@evil.example'],
      subject: 'Your order',
      text: 'New bank details.',
    };
    const { id: draftId } = (await inbox.call('POST', '/drafts', { body: { ...draft, attachments: [file] } })).body;
    const id = await stage.held(token, 'POST', `${inbox.path}/drafts/${draftId}/send`);
    expect(await fetchContent(id)).toMatchObject({
      is_changed: false,
      messages: [
        {
          kind: 'draft',
          from: `Ada <${inbox.address}>`,
          to: draft.to,
          bcc: draft.bcc,
          recipients: 2,
          subjects: ['Your order'],
          text: expect.stringMatching(/New bank details\.[^]*Ada, Support/) as string,
          attachments: [{ filename: 'terms.txt', size: 5 }],
        },
      ],
    });
    await expectShown(id, ['attacker@evil.example', 'Your order', 'New bank details.', 'Ada, Support', 'terms.txt']);
  });

  it('the approval of a draft shows the headers of the request, and that of a reply the files of the request', async () => {
    const token = await stage.tokenFor('sends');
    const draft = { to: ['a@example.org'], subject: 'Your order', text: 'It is on its way.' };
    const { id: draftId } = (await inbox.call('POST', '/drafts', { body: draft })).body;
    const headers = { 'X-Priority': '1' };
    const sent = await stage.held(token, 'POST', `${inbox.path}/drafts/${draftId}/send`, { headers });
    expect((await fetchContent(sent)).messages[0].headers).toContainEqual({ name: 'X-Priority', value: '1' });
    const received = await inbox.arrive({});
    const file = { filename: 'terms.txt', content: Buffer.from('Terms').toString('base64') };
    const body = { text: 'See the terms.', attachments: [file] };
    const replied = await stage.held(token, 'POST', `${inbox.path}${received.path}/reply`, body);
    expect((await fetchContent(replied)).messages[0].attachments).toEqual([{ filename: 'terms.txt', size: null }]);
  });

  it('a reply to an email of Outlook can be approved a minute later, and waits only once', async () => {
    const token = await stage.tokenFor('sends');
    const received = await inbox.arrive({ headers: ['Thread-Index: AdxaAAAAABEiM0RVZneImaq7zN3u/w=='] });
    const reply = (): Promise<string> =>
      stage.held(token, 'POST', `${inbox.path}${received.path}/reply`, { text: 'We have refunded it.' });
    const id = await reply();
    stage.scene.clock.advance(60_000);
    expect(await reply()).toBe(id);
    expect((await fetchContent(id)).is_changed).toBe(false);
    expect((await stage.approve(id)).body.status).toBe('done');
  });

  it('the approval of a reply shows its recipients and its quote, and that of a forward shows the forwarded email', async () => {
    const token = await stage.tokenFor('sends');
    const { path } = await inbox.arrive({
      from: 'Grace <grace@example.net>',
      subject: 'Invoice 7',
      text: 'Where is invoice 7?',
    });
    const reply = await stage.held(token, 'POST', `${inbox.path}${path}/reply`, {
      text: 'Here.',
      bcc: 'attacker@evil.example',
    });
    expect((await fetchContent(reply)).messages[0]).toMatchObject({ kind: 'reply', to: ['Grace <grace@example.net>'] });
    await expectShown(reply, ['grace@example.net', 'attacker@evil.example', 'Re: Invoice 7', 'Where is invoice 7?']);
    const forward = await stage.held(token, 'POST', `${inbox.path}${path}/forward`, { to: 'colleague@example.org' });
    await expectShown(forward, ['colleague@example.org', 'Fwd: Invoice 7', 'Where is invoice 7?']);
    expect((await stage.approve(reply)).body.status).toBe('done');
  });

  it('the approval of a broadcast shows its text, fallbacks, sender and number of contacts', async () => {
    const token = await stage.tokenFor('broadcasts');
    const property = { key: 'vip_level', type: 'string', fallback_value: 'of any kind' };
    await stage.desk.call('POST', '/contact-properties', property);
    await stage.desk.call('POST', '/contact-properties', {
      key: 'unused',
      type: 'string',
      fallback_value: 'elsewhere',
    });
    for (const n of [1, 2, 3]) {
      await stage.desk.call('POST', '/contacts', {
        email: `r${n}@example.org`,
        unsubscribed: n === 3,
        segments: [{ id: stage.desk.segment }],
      });
    }
    const made = await stage.desk.make({
      name: 'July',
      html: '<p>Hi {{{vip_level}}}</p>',
      ab: { subjects: ['Other words'], test_percent: 20, wait_minutes: 60 },
    });
    const id = await stage.held(token, 'POST', `/broadcasts/${made}/send`);
    const content = await fetchContent(id);
    expect(content.messages[0]).toMatchObject({
      fallbacks: { vip_level: 'of any kind' },
      subjects: ['What is new', 'Other words'],
    });
    expect(content.audience).toMatchObject({
      segment_name: 'Readers',
      contacts: 3,
      subscribed: 2,
      subscribed_before: 2,
      over_marketing_cap: null,
    });
    await expectShown(id, [
      'July',
      'Other words',
      'of any kind',
      'Example GmbH',
      'Readers',
      '3 contacts, 2 of them get it',
    ]);
  });

  it('the approval of a batch shows every template that it names, once', async () => {
    const token = await stage.tokenFor('sends');
    const htmls = Array.from({ length: 7 }, (_, n) => `<p>Template number ${n}</p>`);
    const ids = await Promise.all(htmls.map(template));
    const batch = [...ids, ...ids].map((one) => sending({ template: { id: one } }));
    const id = await stage.held(token, 'POST', '/emails/batch', batch);
    const { messages } = await fetchContent(id);
    expect(messages.map(({ kind }: { kind: string }) => kind)).toEqual([
      ...Array<string>(14).fill('email'),
      ...Array<string>(7).fill('template'),
    ]);
    await expectShown(
      id,
      htmls.map((html) => html.slice(3, -4)),
    );
  });

  it('the approval of an automation shows the mail of its steps, and reports a template that has changed', async () => {
    const token = await stage.tokenFor('sends');
    const welcome = await template('<p>Welcome to us</p>');
    await stage.desk.call('POST', '/events', { name: 'order.placed' });
    const graph = {
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'order.placed' } },
        {
          key: 'thanks',
          type: 'send_email',
          config: { template: { id: welcome }, from: `a@${stage.desk.domain.name}`, subject: 'Thank you' },
        },
      ],
      connections: [{ from: 'start', to: 'thanks' }],
    };
    const id = await stage.held(token, 'POST', '/automations', { name: 'Thanks', status: 'enabled', ...graph });
    await expectShown(id, ['Thank you', 'Welcome to us', 'thanks']);
    const made = (await stage.desk.call('POST', '/automations', { name: 'Thanks', status: 'disabled', ...graph })).body
      .id as string;
    const enabling = await stage.held(token, 'PATCH', `/automations/${made}`, {
      status: 'enabled',
      name: 'Thanks again',
    });
    await expectShown(enabling, ['Thank you', 'Welcome to us']);
    await stage.desk.call('PATCH', `/templates/${welcome}`, { html: '<p>EVIL</p>' });
    expect((await fetchContent(id)).is_changed).toBe(false);
    await stage.desk.call('POST', `/templates/${welcome}/publish`, {});
    expect((await fetchContent(id)).is_changed).toBe(true);
    for (const one of [id, enabling]) expect((await stage.approve(one)).status).toBe(422);
    const page = await stage.openPage(id);
    expect(page.forms.map(({ submit }) => submit)).toEqual(['Reject']);
    expect(page.text).toContain('It cannot be approved');
    expect(await stage.printAtTerminal('get', id)).toContain('it cannot be approved');
  });

  it('the approval of a change to text in mail shows the values before and after it', async () => {
    const token = await stage.tokenFor('sends');
    const id = await stage.held(token, 'PATCH', inbox.path, { signature: 'NEW BANK DETAILS' });
    expect((await fetchContent(id)).changes).toEqual([
      { field: 'signature', before: 'Ada, Support', after: 'NEW BANK DETAILS' },
    ]);
    await expectShown(id, ['Ada, Support', 'NEW BANK DETAILS']);
  });

  it('the content of an approval is shown to its last character, however long it is', async () => {
    const token = await stage.tokenFor('broadcasts');
    const html = `${'<!-- x -->'.repeat(2200)}<p>The very end</p>`;
    const id = await stage.held(token, 'POST', `/broadcasts/${await stage.desk.make({ html })}/send`);
    await expectShown(id, ['The very end']);
    const inCall = await stage.held(
      await stage.tokenFor('sends'),
      'POST',
      '/emails',
      sending({ subject: 'Long', html }),
    );
    await expectShown(inCall, ['The very end']);
  });

  it('a call with more than 8 MB of content is refused instead of waiting for approval', async () => {
    const token = await stage.tokenFor('sends');
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await template(`<p>${n}${'x'.repeat(1_800_000)}</p>`.slice(0, 1_900_000)));
    const batch = ids.map((one) => sending({ template: { id: one } }));
    const refused = await stage.call(token, 'POST', '/emails/batch', batch);
    expect([refused.status, refused.body.message, refused.body.details]).toEqual([
      403,
      expect.stringContaining('more than a person can review at once'),
      undefined,
    ]);
  });

  it('the content of an approval is hidden from the app, and from everyone after the decision', async () => {
    const token = await stage.tokenFor('sends');
    const id = await stage.held(token, 'POST', '/emails', sending({ subject: 'Hello', text: 'It works.' }));
    expect((await stage.call(token, 'GET', `/approvals/${id}`)).body.content).toBeNull();
    expect((await fetchContent(id)).messages).toHaveLength(1);
    expect((await stage.approve(id)).body.content).toBeNull();
    expect(await fetchContent(id)).toBeNull();
  });
});
