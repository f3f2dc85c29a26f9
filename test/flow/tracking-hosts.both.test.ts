import { expect, it } from 'vitest';
import { administerTeam } from '../../src/tenancy/teams/index.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import {
  follow,
  olderClickPath,
  olderPixelPath,
  publishTracking,
  engagements,
  sendHtml,
  trackingDomain,
} from './reader.ts';

const HTML = '<a href="https://example.com/">x</a>';
const config = { tracking: { scheme: 'http' } } as const;
const DAY_MS = 24 * 3_600_000;

const statusOn = async (scene: Scene, host: string, address: string): Promise<number> =>
  (await follow(scene.url, `http://${host}${new URL(address, 'http://any.test').pathname}`)).status;

async function createMail(scene: Scene, team: Team) {
  const domain = await trackingDomain(scene, team);
  const mail = await sendHtml(scene, team, domain, { html: HTML });
  const addresses = [mail.links[0] ?? '', mail.pixel ?? ''];
  const older = [olderClickPath(scene, mail.id, 'https://example.com/'), olderPixelPath(scene, mail.id)];
  /** Returns the statuses of the link and the pixel, in the present form and in that of earlier mail. */
  const on = (host: string) => Promise.all([...addresses, ...older].map((address) => statusOn(scene, host, address)));
  return { domain, mail, on, host: `track.${domain.name}` };
}

const WORKS = [302, 200, 302, 200];
const NOWHERE = [404, 404, 404, 404];

it('links and pixels work on the tracking host of their own domain, and are recorded nowhere else', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const stranger = await scene.team();
  const { mail, on, host, domain } = await createMail(scene, team);
  const other = await createMail(scene, stranger);
  const second = await trackingDomain(scene, team);
  for (const elsewhere of [
    other.host,
    `track.${second.name}`,
    'rasket.test',
    new URL(scene.url).host,
    domain.name,
    `x.${host}`,
    'evil.test',
    '',
  ]) {
    expect([elsewhere, await on(elsewhere)]).toEqual([elsewhere, NOWHERE]);
  }
  expect(await engagements(scene, mail.id)).toEqual([]);
  expect(await on(host)).toEqual(WORKS);
  expect(await other.on(other.host)).toEqual(WORKS);
  expect(await engagements(scene, mail.id)).not.toEqual([]);
});

it('the links of a suspended team stop at once, and work again after it is resumed', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const { on, host, mail } = await createMail(scene, team);
  expect(await on(host)).toEqual(WORKS);
  await administerTeam(scene.app.world, team.id, { riskState: 'suspended' });
  expect(await on(host)).toEqual(NOWHERE);
  const answer = await follow(scene.url, mail.links[0] ?? '');
  expect([answer.headers.location, answer.body.toString()]).toEqual([
    undefined,
    expect.stringContaining('may have been disabled'),
  ]);
  await administerTeam(scene.app.world, team.id, { riskState: 'normal' });
  expect(await on(host)).toEqual(WORKS);
});

it('the links of a deleted domain stop, also when the name is added again', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const { on, host, domain } = await createMail(scene, team);
  await scene.api('DELETE', `/domains/${domain.id}`, { key: team.key });
  expect(await on(host)).toEqual(NOWHERE);
  const again = await scene.team();
  await again.domain(domain.name);
  expect(await on(host)).toEqual(NOWHERE);
});

it('the links of a domain name that another team now has stop', async () => {
  await using scene = await startScene({ config });
  const { on, host, domain } = await createMail(scene, await scene.team());
  const { db } = scene.app.world;
  const heir = await scene.team();
  // A completed claim leaves this state.
  await db.run('update domains set verified_at = null, held_at = null where id = ?', [domain.id]);
  expect(await on(host)).toEqual(WORKS);
  await heir.domain(domain.name);
  expect(await on(host)).toEqual(NOWHERE);
});

it('a changed tracking subdomain still works for ninety days', async () => {
  await using scene = await startScene({ config });
  const team = await scene.team();
  const { on, host, domain } = await createMail(scene, team);
  await publishTracking(scene, team, domain.id, { tracking_subdomain: 'links' });
  expect(await on(host)).toEqual(WORKS);
  expect(await on(`links.${domain.name}`)).toEqual(WORKS);
  await publishTracking(scene, team, domain.id, { tracking_subdomain: 'go' });
  expect(await on(host)).toEqual(WORKS);
  scene.clock.advance(89 * DAY_MS);
  expect(await on(host)).toEqual(WORKS);
  scene.clock.advance(DAY_MS);
  expect(await on(host)).toEqual(NOWHERE);
  expect(await on(`go.${domain.name}`)).toEqual(WORKS);
});

it('an older link of a removed email works when there is only one team, to which it must belong', async () => {
  await using scene = await startScene({ config });
  const { host } = await createMail(scene, await scene.team());
  const gone = olderClickPath(scene, '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e01', 'https://example.com/');
  expect([await statusOn(scene, host, gone), await statusOn(scene, 'evil.test', gone)]).toEqual([302, 404]);
  await (await scene.team()).domain();
  expect(await statusOn(scene, host, gone)).toBe(404);
});
