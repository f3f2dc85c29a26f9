// utm_ parameters of a broadcast and of a step --> mail with tracked links --> filters that ask for the author's link
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { line, start, step, supply } from '../api/automations/graph.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { desk } from './automations-desk.ts';
import { campaignIn, POSTAL_ADDRESS } from './campaign.ts';
import { MINUTE } from './mail.ts';
import { follow, letReadingsSettle, publishTracking, readMail } from './reader.ts';

const HTML =
  '<a href="https://shop.example/tea?b=2&amp;a=1#new">Tea</a> <a href="https://shop.example/x?utm_source=own">X</a> <a href="{{{VIEW_IN_BROWSER_URL}}}">View</a>';

describe('utm_ parameters', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ config: { tracking: { scheme: 'http' } } });
  });
  afterAll(() => scene.close());

  it('utm_ parameters of a broadcast are added to its links, also to tracked ones, and filters find the clicks by the author’s link', async () => {
    const campaign = await campaignIn(scene);
    await publishTracking(scene, campaign.team, campaign.domain.id, { click_tracking: true });
    await campaign.addContacts(['ada@one.example', 'bo@one.example']);
    const draft = await campaign.broadcast({
      name: 'Spring Sale!',
      subject: 'Tags',
      html: HTML,
      utm: true,
      send: false,
    });
    expect(await campaign.get(draft)).toMatchObject({ utm: { source: null, campaign: null } });
    await campaign.call('PATCH', `/broadcasts/${draft}`, { utm: { term: 'a b' } });
    const preview = (await campaign.call('POST', `/broadcasts/${draft}/preview`, {})).body as { text: string };
    const added = 'utm_medium=email&utm_campaign=spring-sale&utm_term=a%20b';
    expect(preview.text).toContain(`https://shop.example/tea?b=2&a=1&utm_source=example-ltd&${added}#new`);
    expect(preview.text).toContain(`https://shop.example/x?utm_source=own&${added}`);
    await campaign.call('POST', `/broadcasts/${draft}/send`);
    await scene.settled();
    const arrived = scene.sink.messages.find(
      ({ data, rcptTo }) => data.includes('Subject: Tags') && rcptTo[0]?.startsWith('ada'),
    );
    const { links } = await readMail(arrived?.data ?? Buffer.of());
    const [tea = '', , view = '', unsubscribe = ''] = links;
    expect([view, unsubscribe].filter((link) => link.includes('utm_'))).toEqual([]);
    // Clicks right after the arrival count as those of a machine.
    scene.clock.advance(MINUTE);
    const clicked = await follow(scene.url, tea);
    const target = `https://shop.example/tea?b=2&a=1&utm_source=example-ltd&${added}#new`;
    expect([clicked.status, clicked.headers.location]).toEqual([302, target]);
    await letReadingsSettle(scene);
    let segments = 0;
    const ask = async (filter: object): Promise<string[]> => {
      const segment = await campaign.make('/segments', { name: `Clicked ${++segments}`, filter });
      const { data } = (await campaign.read(`/segments/${segment}/contacts`)) as { data: { email: string }[] };
      return data.map(({ email }) => email);
    };
    for (const link of ['https://shop.example/tea?b=2&a=1#new', target]) {
      expect(await ask({ engagement: 'clicked', link })).toEqual(['ada@one.example']);
      expect(await ask({ engagement: 'clicked', broadcast: draft, link })).toEqual(['ada@one.example']);
    }
    expect(await ask({ engagement: 'clicked', link: 'https://shop.example/tea' })).toEqual([]);
    const report = (await campaign.read(`/broadcasts/${draft}/clicked-links`)).data;
    expect(report).toMatchObject([{ url: target }]);
  });

  it('utm_ parameters of a step are added to the mail of the template, with the name of the automation as the campaign', async () => {
    const has = await supply(scene);
    const { must, call, send } = desk(scene, has);
    await must('PATCH', '/team', { postal_address: POSTAL_ADDRESS });
    const from = (await must('GET', `/templates/${has.template}`)).from;
    const { id: template } = await must('POST', '/templates', { name: 'T', subject: 'S', html: HTML, from });
    await must('POST', `/templates/${template}/publish`);
    const build = (utm: unknown) => ({
      name: 'Welcome series',
      status: 'enabled',
      ...line(start, step('mail', 'send_email', { template: { id: template }, stream: 'marketing', utm })),
    });
    const refused = await call('POST', '/automations', build({ sauce: 'x' }));
    expect(refused.body.message).toContain('utm as true or as an object of source, medium');
    await must('POST', '/automations', build({ source: 'shop' }));
    await send();
    await scene.settled();
    const [{ id }] = (await must('GET', '/emails')).data;
    const { html } = await must('GET', `/emails/${id}`);
    expect(html).toContain('a=1&amp;utm_source=shop&amp;utm_medium=email&amp;utm_campaign=welcome-series#new"');
    expect(/href="[^"]*\/(?:view|unsubscribe)\/[^"]*utm_/.test(html)).toBe(false);
  });
});
