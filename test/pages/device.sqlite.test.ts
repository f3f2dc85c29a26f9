// a browser --> the page where a person approves a program that has shown them a code
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { PageVisitor } from '../rig/page-visitor.ts';
import { createPeople, type Person } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';

let scene: Scene;
let ada: Person;
let visitor: PageVisitor;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  ada = await createPeople(scene).person({ email: 'ada@people.example', team: await scene.team() });
});
beforeEach(() => {
  const [name = '', value = ''] = (ada.headers['cookie'] ?? '').split('=');
  visitor = new PageVisitor(scene, { [name]: value });
});
// The limits of one test are not those of the next.
afterEach(() => scene.clock.advance(16 * 60_000));
afterAll(() => scene.close());

async function begin(name = 'rasket on ada-laptop'): Promise<{ link: string; code: string; device: string }> {
  const headers = { 'user-agent': 'rasket-cli/9 <b>' };
  const { body } = await scene.api('POST', '/auth/device', { body: { client_name: name }, headers });
  const { pathname, search } = new URL(body.verification_url_complete);
  return { link: pathname + search, code: body.user_code, device: body.device_code };
}
const fetchStatus = async (device: string): Promise<string> =>
  (await scene.api('POST', '/auth/device/token', { body: { device_code: device } })).body.status;

it('the device page shows what requests access, from where and since when, and signs it in after approval', async () => {
  const { code, device } = await begin();
  const page = await visitor.open('/device');
  const asks = await visitor.follow(visitor.send(page, 'Continue', { user_code: ` ${code.toLowerCase()} ` }));
  expect(asks).toMatchObject({ status: 200, heading: 'Authorize this device?' });
  for (const says of ['rasket on ada-laptop', '127.0.0.1', 'rasket-cli/9 <b>', 'ada@people.example', 'UTC'])
    expect(asks.text).toContain(says);
  expect(asks.html).not.toContain('9 <b>');
  expect(await fetchStatus(device)).toBe('pending');
  const done = await visitor.send(asks, 'Approve');
  expect(done).toMatchObject({ status: 200, heading: 'Approved' });
  scene.clock.advance(5000);
  expect(await fetchStatus(device)).toBe('approved');
});

it('the device page sends people to sign in and back, and opening its link approves nothing', async () => {
  const { link, device } = await begin();
  const stranger = await new PageVisitor(scene).open(link);
  expect(stranger).toMatchObject({ status: 303, leadsTo: `/sign-in?next=${encodeURIComponent(link)}` });
  for (let i = 0; i < 3; i++) expect((await visitor.open(link)).heading).toBe('Authorize this device?');
  expect(await fetchStatus(device)).toBe('pending');
  const asks = await visitor.open(link);
  expect((await visitor.send(asks, 'Deny')).heading).toBe('Denied');
  scene.clock.advance(5000);
  expect(await fetchStatus(device)).toBe('denied');
  expect((await visitor.open(link)).heading).toBe('Denied');
});

it('the device page shows an invalid code again with the error, and stops guessing', async () => {
  const page = await visitor.open('/device');
  const wrong = await visitor.follow(visitor.send(page, 'Continue', { user_code: 'BBBB-"><b>' }));
  expect(wrong).toMatchObject({ status: 404, forms: [{ fields: { user_code: 'BBBB-"><b>' } }] });
  expect(wrong.text).toContain('This code is not valid or has expired');
  for (let i = 1; i < 10; i++) expect((await visitor.open('/device?code=BBBB-BBBB')).status).toBe(404);
  const { link } = await begin();
  expect(await visitor.open(link)).toMatchObject({ status: 429 });
});

it('the device page accepts the decision only from our own page', async () => {
  const { link, code, device } = await begin();
  await visitor.open(link);
  const body = new URLSearchParams({ user_code: code, decision: 'approve' }).toString();
  for (const origin of [null, 'https://evil.example'])
    expect((await visitor.open('/device', { body, headers: { origin } })).status).toBe(403);
  expect(await fetchStatus(device)).toBe('pending');
});
