import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { linksTo, press, visit } from '../rig/preference-pages.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';

let scene: Scene;
let campaign: Campaign;
beforeAll(async () => {
  scene = await startScene();
});
afterAll(() => scene.close());
beforeEach(async () => {
  campaign = await campaignIn(scene);
  scene.sink.messages.length = 0;
});

const declare = (key: string, more: object = {}) =>
  campaign.make('/contact-properties', { key, type: 'string', ...more });

const addContact = async (email: string, properties: object = {}) => ({
  id: await campaign.make('/contacts', { email, properties }),
  email,
});

/** Returns the mail that arrived, by the address of its recipient. */
async function arrivedMail() {
  await scene.settled();
  const mails = scene.sink.messages.map(async ({ rcptTo, data }) => {
    const { html = '', text = '' } = await PostalMime.parse(data);
    return [rcptTo[0] ?? '', { html, text: text.replaceAll('\r\n', '\n') }] as const;
  });
  return Object.fromEntries(await Promise.all(mails));
}

const footerOf = (html: string): string[] =>
  /<div lang="([^"]*)"[^>]*><p[^>]*>(.*)<\/p><p[^>]*><a href="http[^"]*\/unsubscribe\/[^"]*"[^>]*>([^<]*)<\/a>/
    .exec(html)
    ?.slice(1) ?? [];

describe('the footer of a broadcast', () => {
  it('is in the language of each contact, and otherwise in that of the team', async () => {
    await declare('language');
    await campaign.call('PATCH', '/team', { default_language: 'nl' });
    await addContact('de@one.example', { language: 'de-CH' });
    await addContact('fr@one.example', { language: 'Français' });
    await addContact('klingon@one.example', { language: 'tlh' });
    await addContact('none@one.example');
    await campaign.broadcast();
    const mail = await arrivedMail();
    const lines = 'Example Ltd<br>1 Mail Street<br>10115 Berlin BE<br>';
    expect(footerOf(mail['de@one.example']?.html ?? '')).toEqual(['de', `${lines}Deutschland`, 'Abmelden']);
    expect(footerOf(mail['fr@one.example']?.html ?? '')).toEqual(['fr', `${lines}Allemagne`, 'Se désabonner']);
    expect(footerOf(mail['klingon@one.example']?.html ?? '')).toEqual(['nl', `${lines}Duitsland`, 'Afmelden']);
    expect(footerOf(mail['none@one.example']?.html ?? '')).toEqual(['nl', `${lines}Duitsland`, 'Afmelden']);
    expect(mail['fr@one.example']?.text).toMatch(/\n10115 Berlin BE\nAllemagne\nSe désabonner: http\S+\n$/);
  });

  it('is escaped once where the name of a country contains a special character', async () => {
    await declare('locale');
    await addContact('none@one.example');
    const postal_address = { line1: '1 Street', city: 'Sarajevo', country: 'BA' };
    await campaign.call('PATCH', '/team', { postal_address });
    await campaign.broadcast();
    const { html = '', text = '' } = (await arrivedMail())['none@one.example'] ?? {};
    expect(html).toContain('Sarajevo<br>Bosnia &amp; Herzegovina</p>');
    expect(text).toContain('\nBosnia & Herzegovina\n');
  });

  it('reads the property that the team has chosen, and no other', async () => {
    await declare('language');
    await declare('Sprache');
    await campaign.call('PATCH', '/team', { language_property: 'sprache' });
    await addContact('ada@one.example', { language: 'fr', Sprache: 'it' });
    await addContact('bob@one.example', { language: 'fr' });
    await campaign.broadcast();
    const mail = await arrivedMail();
    expect(footerOf(mail['ada@one.example']?.html ?? '')[0]).toBe('it');
    expect(footerOf(mail['bob@one.example']?.html ?? '')[0]).toBe('en');
  });

  it('stays in the language of the team that was set when the broadcast was sent', async () => {
    await declare('language');
    await addContact('ada@one.example');
    await addContact('bob@one.example', { language: 'pl' });
    await campaign.broadcast({ scheduled_at: 'in 2 hours' });
    await campaign.call('PATCH', '/team', { default_language: 'ja' });
    scene.clock.advance(2 * 3_600_000);
    const mail = await arrivedMail();
    expect(footerOf(mail['ada@one.example']?.html ?? '')[0]).toBe('en');
    expect(footerOf(mail['bob@one.example']?.html ?? '')[0]).toBe('pl');
  });
});

describe('the footer of an email of an automation', () => {
  it('is in the language of the contact', async () => {
    await declare('language');
    const { id: contact_id } = await addContact('ada@one.example', { language: 'es' });
    await campaign.make('/events', { name: 'welcome' });
    const topic_id = await campaign.make('/topics', { name: 'News', default_subscription: 'opt_in' });
    const from = `Shop <shop@${campaign.domain.name}>`;
    const template = await campaign.make('/templates', {
      name: 'T',
      from,
      subject: 'Hi',
      html: '<p>Hi</p>',
      text: 'Hi',
    });
    await campaign.call('POST', `/templates/${template}/publish`);
    await campaign.make('/automations', {
      name: 'A',
      status: 'enabled',
      steps: [
        { key: 's', type: 'trigger', config: { event_name: 'welcome' } },
        { key: 'm', type: 'send_email', config: { template: { id: template }, topic_id } },
      ],
      connections: [{ from: 's', to: 'm' }],
    });
    await campaign.call('POST', '/events/send', { event: 'welcome', contact_id });
    const { html = '', text = '' } = (await arrivedMail())['ada@one.example'] ?? {};
    expect(footerOf(html)).toEqual([
      'es',
      'Example Ltd<br>1 Mail Street<br>10115 Berlin BE<br>Alemania',
      'Darse de baja',
    ]);
    expect(text).toContain('Alemania\nDarse de baja: http');
  });
});

describe('the pages of preference links', () => {
  const open = async (contact: { id: string; email: string }, headers: Record<string, string> = {}) =>
    visit(scene, (await linksTo(scene, campaign.team, contact)).unsubscribe, { headers });
  const languageOf = ({ html }: { html: string }): string => /<html lang="([^"]*)">/.exec(html)?.[1] ?? '';

  it('are in the language of the contact, then of the browser, then of the team', async () => {
    await declare('language');
    const german = await addContact('de@one.example', { language: 'de' });
    const unknown = await addContact('none@one.example');
    const japanese = { 'accept-language': 'ja,en;q=0.5' };
    const page = await open(german, japanese);
    expect(languageOf(page)).toBe('de');
    expect(page.text).toContain('Alle E-Mails von Example Ltd abbestellen');
    expect(page.text).toContain('10115 Berlin BE Deutschland');
    expect(languageOf(await open(unknown, japanese))).toBe('ja');
    expect(languageOf(await open(unknown))).toBe('en');
    await campaign.call('PATCH', '/team', { default_language: 'pt' });
    expect(languageOf(await open(unknown))).toBe('pt');
    expect(languageOf(await open(unknown, { 'accept-language': 'tlh' }))).toBe('pt');
  });

  it('answer a button in the same language', async () => {
    await declare('locale');
    const contact = await addContact('it@one.example', { locale: 'it_IT' });
    const left = await press(scene, await open(contact), 'unsubscribe');
    expect(languageOf(left)).toBe('it');
    expect(left.text).toContain('Iscrizione annullata');
    expect(left.text).toContain('Fatto.');
  });

  it.each([
    ['/unsubscribe/x', 404, 'Dieser Link funktioniert nicht'],
    ['/preferences/test', 200, 'Dieser Link ist ein Beispiel'],
  ])('are in the language of the browser without a contact: %s', async (address, status, title) => {
    const page = await visit(scene, address, { headers: { 'accept-language': 'de' } });
    expect(page.status).toBe(status);
    expect(languageOf(page)).toBe('de');
    expect(page.text).toContain(title);
  });
});
