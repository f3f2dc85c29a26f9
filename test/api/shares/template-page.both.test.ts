import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignIn, type Campaign } from '../../flow/campaign.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { framed, unframed } from './shared.ts';

describe('the pages of templates and automations', () => {
  let scene: Scene;
  let campaign: Campaign;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    campaign = await campaignIn(scene);
    await campaign.call('POST', '/contacts', { email: 'ada@readers.example', first_name: 'Ada' });
    await campaign.make('/events', { name: 'signed.up' });
  });
  afterAll(() => scene.close());

  const share = async (path: string, body: object = {}): Promise<string> => {
    const answer = await campaign.call('POST', `${path}/share`, body);
    expect(answer.status, answer.text).toBe(200);
    return new URL((answer.body as { url: string }).url).pathname;
  };
  const open = async (path: string) => {
    const answer = await fetch(scene.url + path, { headers: { accept: 'text/html', 'user-agent': 'test' } });
    const text = await answer.text();
    return { status: answer.status, text, ours: unframed(text), frame: framed(text) };
  };
  const template = async (content: object): Promise<string> => {
    const id = await campaign.make('/templates', { name: 'Welcome', ...content });
    const published = await campaign.call('POST', `/templates/${id}/publish`);
    expect(published.status, published.text).toBe(200);
    return id;
  };
  const automation = (emails: readonly object[]): Promise<string> => {
    const keys = emails.map((_, n) => `mail_${n + 1}`);
    return campaign.make('/automations', {
      name: 'Onboarding',
      steps: [
        { key: 'start', type: 'trigger', config: { event_name: 'signed.up' } },
        ...emails.map((config, n) => ({ key: keys[n], type: 'send_email', config })),
      ],
      connections: keys.map((to, n) => ({ from: n === 0 ? 'start' : keys[n - 1], to })),
    });
  };

  it('the pages of templates and automations show the latest content of a template, published or not, with the values of a contact and the fallbacks', async () => {
    const id = await template({
      subject: 'Hello {{{FIRST_NAME}}}',
      html: '<p>Dear {{{FIRST_NAME}}}, {{{PRODUCT}}} {{{NUMBER}}}</p>',
      variables: [
        { key: 'PRODUCT', type: 'string', fallback_value: 'your coat' },
        { key: 'NUMBER', type: 'string' },
      ],
    });
    await campaign.call('PATCH', `/templates/${id}`, { subject: 'Welcome {{{FIRST_NAME}}}' });
    const path = await share(`/templates/${id}`, { contacts: ['ada@readers.example'] });
    const { status, ours, frame } = await open(path);
    expect(status).toBe(200);
    expect(ours).toContain('<h1><bdi>Welcome Ada</bdi></h1>');
    expect(ours).toContain('ada@readers.example');
    expect(ours).toContain('they have neither a value nor a default: <bdi>NUMBER</bdi>');
    expect(frame).toContain('Dear Ada, your coat');
    // A template without an unsubscribe link gets no footer.
    expect(frame).not.toContain('Unsubscribe');
    expect((await open(`${path}?part=text`)).ours).toContain('<pre dir="auto">Dear Ada, your coat');
  });

  it('the pages of templates and automations show each email of an automation as its step sends it', async () => {
    const welcome = await template({
      subject: 'Welcome',
      html: '<p>Hi {{{FIRST_NAME}}}, {{{GIFT}}}</p>',
      variables: [{ key: 'GIFT', type: 'string' }],
    });
    const offer = await template({
      subject: 'Offer',
      html: '<p>Order {{{ORDER}}}</p>',
      variables: [{ key: 'ORDER', type: 'string' }],
    });
    const id = await automation([
      { template: { id: welcome, variables: { GIFT: 'a hat' } }, from: `Shop <shop@${campaign.domain.name}>` },
      {
        template: { id: offer, variables: { ORDER: { var: 'contact.first_name' } } },
        subject: 'Your offer',
        from: `Shop <shop@${campaign.domain.name}>`,
        stream: 'marketing',
      },
    ]);
    const path = await share(`/automations/${id}`, { contacts: ['ada@readers.example'] });
    const first = await open(path);
    expect(first.ours).toContain('<h1><bdi>Welcome</bdi></h1>');
    expect(first.ours).toContain('href="?email=2"');
    expect(first.frame).toContain('Hi Ada, a hat');
    expect(first.frame).not.toContain('Unsubscribe');
    const second = await open(`${path}?email=2`);
    expect(second.ours).toContain('<h1><bdi>Your offer</bdi></h1>');
    expect(second.ours).toContain(`shop@${campaign.domain.name}`);
    expect(second.frame).toContain('Order [contact.first_name]');
    expect(second.frame).toContain('Unsubscribe');
    expect((await open(`${path}?email=3`)).ours).toContain('There is no such email.');
  });

  it('the pages of templates and automations are gone with what they show, and when their links are revoked', async () => {
    const id = await template({ subject: 'Hello', html: '<p>Hello</p>' });
    const step = { template: { id }, from: `Shop <shop@${campaign.domain.name}>` };
    const flow = await automation([step]);
    for (const [path, object] of [
      [`/templates/${id}`, 'template'],
      [`/automations/${flow}`, 'automation'],
    ] as const) {
      const page = await share(path);
      expect((await campaign.call('DELETE', `${path}/share`)).body).toMatchObject({ object, revoked: 1 });
      expect((await open(page)).status).toBe(404);
      const another = await share(path);
      expect((await open(another)).status).toBe(200);
      // The automation uses the template.
      if (object === 'automation') {
        await campaign.call('DELETE', path);
        expect((await open(another)).status).toBe(404);
      }
    }
  });

  it('the pages of templates and automations belong to one team and take no reviews', async () => {
    const other = await scene.team();
    const id = await template({ subject: 'Hello', html: '<p>Hello</p>' });
    const flow = await automation([{ template: { id }, from: `Shop <shop@${campaign.domain.name}>` }]);
    for (const path of [`/templates/${id}`, `/automations/${flow}`]) {
      for (const method of ['POST', 'DELETE'])
        expect((await scene.api(method, `${path}/share`, { key: other.key })).status).toBe(404);
      const page = await share(path);
      const { status } = await scene.api('POST', `${page}/reviews`, {
        headers: { origin: scene.url },
        body: { decision: 'approved', name: 'Grace', version: 'a'.repeat(64) },
      });
      expect(status).toBe(403);
      expect((await open(page)).text).not.toContain('Review');
    }
  });
});
