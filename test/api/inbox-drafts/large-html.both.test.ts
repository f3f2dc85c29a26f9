// The text of a large HTML body is made for the search of the inbox, outside the transaction that others wait for.
import { expect, it } from 'vitest';
import { writingInbox } from '../../rig/inbox.ts';
import { startScene } from '../../rig/scene.ts';

it('the plain text of a large HTML draft is made in the text thread', async () => {
  await using scene = await startScene({ roles: ['http'] });
  const team = await scene.team();
  const inbox = await writingInbox(scene, team);
  const html = `<h1>Report</h1>${'<p>A <b>line</b> with <a href="https://one.example">a link</a>.</p>'.repeat(4000)}`;
  const draft = { to: ['customer@example.org'], subject: 'Report', html: `${html}<p>Needle at the end</p>` };
  const { id } = (await inbox.call('POST', '/drafts', { body: draft })).body;
  const before = scene.app.world.texts.handedOver;
  const sent = await inbox.call('POST', `/drafts/${id}/send`, { body: {} });
  expect(sent.status, sent.text).toBe(200);
  expect(scene.app.world.texts.handedOver - before).toBe(1);
});
