// a browser --> what holds for every page of people, whatever it is about
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { peoplePages } from '../../src/ports/http/people-pages/serve.ts';
import { PageVisitor } from '../rig/page-visitor.ts';
import { createPeople } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';

let scene: Scene;
let visitor: PageVisitor;
beforeAll(async () => {
  scene = await startScene({ roles: ['http'] });
  visitor = new PageVisitor(scene);
});
afterAll(() => scene.close());

const FOREIGN: Record<string, string | null>[] = [
  { origin: null },
  { origin: 'null' },
  { origin: 'https://evil.example' },
  { origin: 'http://127.0.0.1' },
];

it('the bare address leads to the account', async () => {
  const page = await visitor.open('/');
  expect([page.status, page.headers['location']]).toEqual([303, '/account']);
});

describe('every page', () => {
  it.each(peoplePages.map(({ path }) => path))(
    'at %s runs no script, loads nothing, and is neither cached nor framed',
    async (path) => {
      const page = await visitor.open(path);
      // A visitor who comes back from no provider gets a 400.
      const statuses = path === '/auth/sso/callback' ? [400] : [200, 303, 404];
      expect(statuses).toContain(page.status);
      expect(page.headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
      });
      const policy = String(page.headers['content-security-policy'] ?? '');
      // The form of single sign-on leads on to the provider, which nobody knows before the address is typed.
      const leadsTo = path === '/auth/sso/start' ? ' https: http:' : '';
      const form =
        /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; base-uri 'none'; form-action 'self'(.*); frame-ancestors 'none'$/;
      expect(form.exec(policy)?.[1], policy).toBe(leadsTo);
      expect(page.html).not.toMatch(/<script|\son\w+=|style="|<img|<link/i);
    },
  );

  it.each(peoplePages.map(({ path }) => path))(
    'at %s responds to HEAD as to GET, and to other methods with a page that names the right ones',
    async (path) => {
      const get = await visitor.open(path);
      const head = await visitor.open(path, { method: 'HEAD' });
      expect([head.status, head.html, head.headers['content-type']]).toEqual([
        get.status,
        '',
        get.headers['content-type'],
      ]);
      expect(await visitor.open(path, { method: 'PROPFIND' })).toMatchObject({ status: 405 });
      for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const other = await visitor.open(path, { method });
        expect([method, other.status]).toEqual([method, 405]);
        expect(other.headers['allow']).toMatch(/^GET, HEAD/);
        expect(other.headers['content-type']).toBe('text/html; charset=utf-8');
      }
    },
  );

  it.each(peoplePages.filter(({ post }) => post).map(({ path }) => path))(
    'at %s accepts a form only from our own page',
    async (path) => {
      const person = await createPeople(scene).person({ team: await scene.team() });
      const signedIn = new PageVisitor(scene);
      const [name = '', value = ''] = (person.headers['cookie'] ?? '').split('=');
      signedIn.cookies.set(name, value);
      for (const headers of FOREIGN) {
        expect(await signedIn.open(path, { body: 'x=1', headers })).toMatchObject({
          status: 403,
          heading: 'This is not allowed',
        });
      }
      expect((await person.call('GET', '/auth/session')).status).toBe(200);
    },
  );

  const withParts = peoplePages.map(({ path }) => path).filter((path) => path !== '/');
  it.each(withParts)('at %s has no page below it, and does not exist below /api/v1', async (path) => {
    expect(await visitor.open(`${path}/x-y-z`)).toMatchObject({ status: 404, heading: 'Not found' });
    const moved = await visitor.open(`/api/v1${path}`);
    expect([moved.status, moved.headers['content-type']]).toEqual([404, 'application/json; charset=utf-8']);
  });
});
