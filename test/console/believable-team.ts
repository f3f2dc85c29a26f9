import { receiveMail } from '../rig/received-mail.ts';
import type { Scene, Team } from '../rig/scene.ts';
import { plantAttempt, plantWebhook, plantWebhookEvent } from '../rig/webhooks.ts';

/** A team with one or two of everything, whose names do not change from run to run. */
export async function makeBelievableTeam(scene: Scene): Promise<Team> {
  const team = await scene.team('Example');
  const post = async (path: string, body: object): Promise<string> => {
    const answer = await scene.api('POST', path, { key: team.key, body });
    // Deliveries take as long as the scene's clock says: none of them may be under way when it moves.
    await scene.settled();
    scene.clock.advance(1000);
    return answer.body.id as string;
  };
  const { id: domainId } = await team.domain('mail.example.com');
  await post('/domains', { name: 'news.example.com' });
  const send = (to: string, subject: string): Promise<string> =>
    post('/emails', {
      from: 'Example <hello@mail.example.com>',
      to,
      subject,
      text: 'Thank you.\nSee you.',
      html: '<p>Thank you.</p>',
    });
  await send('ada@example.org', 'Your receipt');
  await send('permfail@example.org', 'Your invoice');
  await post('/api-keys', { name: 'Billing' });
  await post('/suppressions', { email: 'gone@example.net' });
  await post('/contacts', { email: 'ada@example.org', first_name: 'Ada' });
  await post('/segments', { name: 'Customers' });
  await post('/topics', { name: 'News', default_subscription: 'opt_in' });
  await post('/templates', { name: 'Receipt', html: '<p>Hello</p>' });
  await post('/contact-properties', { key: 'plan', type: 'string' });
  await receiveMail(scene, team);
  const webhook = await plantWebhook(scene, team, { endpoint: 'https://hooks.example.com/rasket' });
  for (const status of ['failed', 'failed', 'success'] as const) {
    const event = await plantWebhookEvent(scene, team, webhook, {
      status,
      attempts: 1,
      lastStatus: status === 'failed' ? 500 : 200,
    });
    await plantAttempt(
      scene,
      { webhookId: webhook, publicId: event },
      { status: status === 'failed' ? 500 : 200, response: 'It broke.\nTwice.' },
    );
    scene.clock.advance(1000);
  }
  const receiving = { capabilities: { receiving: 'enabled' }, confirm_replace_mx: true };
  await scene.api('PATCH', `/domains/${domainId}`, { key: team.key, body: receiving });
  await post('/inboxes', { email_address: 'support@mail.example.com', name: 'Customer support' });
  return team;
}
