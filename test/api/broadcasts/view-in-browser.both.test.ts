// the link in mail to a contact that shows it in a browser --> the page, until mail, contact or team are gone
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignIn, POSTAL_ADDRESS, type Campaign } from '../../flow/campaign.ts';
import { engagements, publishTracking, readMail } from '../../flow/reader.ts';
import { desk } from '../../flow/automations-desk.ts';
import { visit } from '../../rig/preference-pages.ts';
import { startScene, type Scene } from '../../rig/scene.ts';
import { step, supply } from '../automations/graph.ts';

const HTML =
  '<p>Hello {{{FIRST_NAME|reader}}}</p><a href="https://shop.example/tea">Tea</a> <a href="{{{VIEW_IN_BROWSER_URL}}}">View in browser</a>';

describe('the link to view an email in a browser', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  });
  afterAll(() => scene.close());

  async function sent(campaign: Campaign, first_name: string) {
    const contactId = await campaign.make('/contacts', {
      email: `${first_name.toLowerCase()}@one.example`,
      first_name,
    });
    await campaign.broadcast({ subject: `For ${first_name}`, html: HTML });
    await scene.settled();
    const { data } = (await campaign.read('/emails')) as { data: { id: string; to: string[] }[] };
    const email = data.find(({ to }) => to[0]?.startsWith(first_name.toLowerCase()));
    const { html } = (await campaign.read(`/emails/${email?.id}`)) as { html: string };
    const link = /href="(http[^"]*\/view\/[^"]*)"/.exec(html)?.[1] ?? '';
    return { emailId: email?.id ?? '', contactId, html, link };
  }

  it('the link to view an email in a browser shows the mail of its recipient, and looking at it records nothing', async () => {
    const campaign = await campaignIn(scene);
    await publishTracking(scene, campaign.team, campaign.domain.id, { open_tracking: true, click_tracking: true });
    const { link, emailId, html } = await sent(campaign, 'Ada');
    expect(html).toContain('>Unsubscribe</a>');
    // The mail that arrives has tracked links, but not to this page.
    const arrived = scene.sink.messages.find(({ data }) => data.includes('Subject: For Ada'))?.data ?? Buffer.of();
    const { links } = await readMail(arrived);
    expect(links).toContain(link);
    expect(links.filter((one) => one.includes('/c/'))).toHaveLength(1);
    const page = await visit(scene, link);
    expect([page.status, page.headers['x-robots-tag']]).toEqual([200, 'noindex, nofollow, noarchive']);
    expect(page.html).toContain('Hello Ada');
    expect(page.html).toContain('<a href="https://shop.example/tea" target="_blank" rel="noopener noreferrer">');
    expect(page.html).not.toContain('.gif');
    expect(page.html).not.toContain('/c/');
    expect(page.html).not.toContain('ada@one.example');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(await engagements(scene, emailId)).toEqual([]);
    const german = await visit(scene, link, { headers: { 'accept-language': 'de' } });
    expect(german.text).toContain('Links in dieser E-Mail');
    expect((await visit(scene, link, { body: 'do=unsubscribe' })).status).toBe(405);
  });

  it('the link to view an email in a browser shows nothing with another token, and neither works on the pages of the other kind', async () => {
    const campaign = await campaignIn(scene);
    const { link, html } = await sent(campaign, 'Bo');
    const unsubscribe = /href="(http[^"]*\/unsubscribe\/[^"]*)"/.exec(html)?.[1] ?? '';
    const statuses = await Promise.all(
      [
        `${link.slice(0, -4)}AAAA`,
        unsubscribe.replace('/unsubscribe/', '/view/'),
        link.replace('/view/', '/unsubscribe/'),
        link.replace('/view/', '/preferences/'),
        link.replace('/view/', '/confirm/'),
        unsubscribe,
      ].map(async (address) => (await visit(scene, address)).status),
    );
    expect(statuses).toEqual([404, 404, 404, 404, 404, 200]);
  });

  it('the link to view an email in a browser shows nothing once the contact is erased, or the team is suspended', async () => {
    const campaign = await campaignIn(scene);
    const cleo = await sent(campaign, 'Cleo');
    const dora = await sent(campaign, 'Dora');
    expect((await visit(scene, cleo.link)).status).toBe(200);
    expect((await campaign.call('DELETE', `/contacts/${cleo.contactId}`)).status).toBe(200);
    const gone = await visit(scene, cleo.link);
    expect([gone.status, gone.html.includes('Hello')]).toEqual([404, false]);
    expect(gone.text).toContain('This email is no longer stored');
    const { db } = scene.app.world;
    await db.run("update teams set risk_state = 'suspended' where id = ?", [campaign.team.id]);
    expect((await visit(scene, dora.link)).status).toBe(404);
  });

  it('the link to view an email in a browser is in mail of automations, is a sample in previews, and does not replace the unsubscribe link', async () => {
    const has = await supply(scene);
    const { must, automate, send } = desk(scene, has);
    await must('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    const { id: template } = await must('POST', '/templates', {
      name: 'View',
      subject: 'Look',
      html: HTML,
      from: (await must('GET', `/templates/${has.template}`)).from,
    });
    await must('POST', `/templates/${template}/publish`);
    await automate(step('mail', 'send_email', { template: { id: template }, stream: 'marketing' }));
    await send();
    await scene.settled();
    const [{ id }] = (await must('GET', '/emails')).data;
    const { html } = await must('GET', `/emails/${id}`);
    const link = /href="(http[^"]*\/view\/[^"]*)"/.exec(html)?.[1] ?? '';
    expect((await visit(scene, link)).status).toBe(200);
    expect(html).toContain('/unsubscribe/');
    const campaign = await campaignIn(scene);
    const draft = await campaign.broadcast({ send: false, html: HTML });
    const preview = (await campaign.call('POST', `/broadcasts/${draft}/preview`, {})).body as {
      html: string;
      missing: string[];
    };
    expect(preview.html).toContain('/view/test"');
    expect(preview.missing).toEqual([]);
    const sample = await visit(scene, '/view/test');
    expect([sample.status, sample.text]).toEqual([200, expect.stringContaining('This link is a sample')]);
  });
});
