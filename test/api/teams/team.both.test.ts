import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administerTeam } from '../../../src/tenancy/teams/index.ts';
import type { ApiAnswer } from '../../rig/api.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await startScene({
    config: {
      plans: { small: { name: 'Small', daily_cap: 7, included_emails: 0, retention_days: 1, contact_limit: 5 } },
      regions: { 'sa-east-1': { sandbox: true }, 'us-east-1': { sandbox: true } },
    },
  });
});
afterAll(() => scene.close());

let team: Team;
beforeEach(async () => {
  team = await scene.team();
});

const get = async () => (await scene.api('GET', '/team', { key: team.key })).body;
const patch = (body: unknown): Promise<ApiAnswer> => scene.api('PATCH', '/team', { key: team.key, body });

const address = { line1: '1 Example Street', city: 'London', country: 'GB' };
const whole = { line1: 'a', line2: 'b', city: 'c', state: 'd', postal_code: 'e', country: 'DE' };

describe('GET /team', () => {
  it('returns the team with its plan, its sender identity and the regions that are in sandbox mode', async () => {
    const made = await scene.team('Fresh & new');
    expect((await scene.api('GET', '/team', { key: made.key })).body).toEqual({
      object: 'team',
      id: made.id,
      name: 'Fresh & new',
      slug: 'fresh-new',
      risk_state: 'normal',
      created_at: new Date(scene.clock.now()).toISOString(),
      plan: {
        code: 'standard',
        name: 'Standard',
        limits: {
          included_emails: 1_000_000,
          daily_cap: null,
          domain_limit: 100,
          webhook_endpoint_limit: 20,
          contact_limit: 1_000_000,
          retention_days: 30,
        },
      },
      sender_identity: { sender_name: null, postal_address: null },
      default_language: 'en',
      language_property: null,
      logo_url: null,
      accent_color: null,
      page_headline: null,
      page_intro: null,
      page_goodbye: null,
      marketing_cap: null,
      archive_enabled: false,
      archive_indexed: false,
      archive_url: null,
      ai_assist_enabled: false,
      sso: null,
      sending: { sandbox_regions: ['us-east-1', 'sa-east-1'] },
    });
  });

  it('returns another plan as soon as the operator sets it', async () => {
    await administerTeam(scene.app.world, team.id, { plan: 'small' });
    expect((await get()).plan).toEqual({
      code: 'small',
      name: 'Small',
      limits: {
        included_emails: 0,
        daily_cap: 7,
        domain_limit: 100,
        webhook_endpoint_limit: 20,
        contact_limit: 5,
        retention_days: 1,
      },
    });
  });

  it('returns the default plan if that of the team was removed from the configuration', async () => {
    await scene.app.world.db.run('update teams set plan_code = ? where id = ?', ['gone', team.id]);
    expect((await get()).plan).toMatchObject({ code: 'standard', name: 'Standard' });
  });

  it.each(['GET', 'PATCH'])('and PATCH /team refuse a sending key: %s', async (method) => {
    const key = await team.sendingKey();
    const answer = await scene.api(method, '/team', { key, ...(method === 'PATCH' ? { body: { name: 'x' } } : {}) });
    expect(answer).toMatchObject({ status: 401, body: { name: 'restricted_api_key' } });
  });
});

describe('PATCH /team', () => {
  it('changes the named fields, keeps the others, and returns the team', async () => {
    const first = await patch({ sender_name: ' Example Ltd ', postal_address: whole });
    expect(first.status).toBe(200);
    expect(first.body).toEqual(await get());
    expect(first.body.sender_identity).toEqual({ sender_name: 'Example Ltd', postal_address: whole });
    const second = await patch({ ai_assist_enabled: true });
    expect(second.body).toEqual({ ...first.body, ai_assist_enabled: true });
    const third = await patch({ sender_name: 'Other', ai_assist_enabled: false });
    expect(third.body).toEqual({
      ...first.body,
      sender_identity: { ...first.body.sender_identity, sender_name: 'Other' },
    });
  });

  it('replaces a postal address as a whole, and keeps the sender', async () => {
    await patch({ sender_name: 'Example', postal_address: whole });
    const { body } = await patch({ postal_address: address });
    expect(body.sender_identity).toEqual({
      sender_name: 'Example',
      postal_address: { ...address, line2: null, state: null, postal_code: null },
    });
  });

  it('changes no other team', async () => {
    const other = await scene.team();
    await patch({ sender_name: 'Example', postal_address: address, ai_assist_enabled: true });
    expect((await scene.api('GET', '/team', { key: other.key })).body).toMatchObject({
      sender_identity: { sender_name: null, postal_address: null },
      ai_assist_enabled: false,
    });
  });

  it.each([[{ sender_name: 'Example' }], [{ sender_name: 'Example', ai_assist_enabled: true }]])(
    'refuses %j before there is an address, and changes nothing',
    async (body) => {
      expect(await patch(body)).toMatchObject({
        status: 422,
        body: { name: 'validation_error', message: expect.stringContaining('postal_address') },
      });
      expect(await get()).toMatchObject({ sender_identity: { sender_name: null }, ai_assist_enabled: false });
      await patch({ postal_address: address });
      expect((await patch(body)).status).toBe(200);
    },
  );

  it.each([{}, undefined, ''])('refuses an empty body (%j) and lists the fields', async (body) => {
    expect(await patch(body)).toMatchObject({
      status: 400,
      body: {
        name: 'validation_error',
        message: expect.stringMatching(/at least one of sender_name, postal_address and ai_assist_enabled/),
      },
    });
  });
});

describe('PATCH /team with the field name', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ name: 'Another' }, 'alone'],
    [{ name: null }, 'whatever it holds'],
    [{ name: 'Another', ai_assist_enabled: true }, 'beside a good field'],
    [{ name: 'Another', surprise: 1 }, 'beside an unknown one'],
    [{ ai_assist_enabled: 'yes', name: 'Another' }, 'beside a wrong one'],
    [{ sender_name: 'Too soon', name: 'Another' }, 'beside one that the resource refuses'],
  ])('returns 422 for %j, %s', async (body) => {
    const before = await get();
    expect(await patch(body)).toMatchObject({
      status: 422,
      body: { name: 'validation_error', message: expect.stringMatching(/^name cannot be changed here/) },
    });
    expect(await get()).toEqual(before);
  });
});

const line = (chars: number): string => 'x'.repeat(chars);

/** Each field has the largest valid values and the smallest invalid ones. */
const fields: { field: string; max?: number; isNullable?: true; good?: unknown[]; bad: unknown[] }[] = [
  { field: 'sender_name', max: 200, bad: [] },
  { field: 'postal_address.line1', max: 200, bad: [] },
  { field: 'postal_address.line2', max: 200, isNullable: true, bad: [] },
  { field: 'postal_address.city', max: 100, bad: [] },
  { field: 'postal_address.state', max: 100, isNullable: true, bad: [] },
  { field: 'postal_address.postal_code', max: 20, isNullable: true, bad: [] },
  {
    field: 'postal_address.country',
    good: ['DE', 'GB', 'ZW', 'AX', 'NO'],
    bad: ['de', 'De', 'DEU', 'D', 'UK', 'EU', 'XX', 'ZZ', '', ' DE', null, 49],
  },
  {
    field: 'default_language',
    good: ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ja'],
    bad: ['EN', 'de-CH', 'xx', '', null, 1],
  },
  { field: 'language_property', good: ['language', 'A_1', null], bad: ['', 'a b', 'x'.repeat(51), 1, []] },
  {
    field: 'logo_url',
    good: ['https://cdn.example.com/logo.png?v=1', null],
    bad: [
      'http://cdn.example.com/logo.png',
      'https://user@cdn.example.com/logo.png',
      'https://user:pass@cdn.example.com/logo.png',
      'javascript:alert(1)',
      'data:image/png;base64,AAAA',
      '/logo.png',
      `https://cdn.example.com/${'x'.repeat(500)}`,
      '',
      1,
    ],
  },
  { field: 'accent_color', good: ['#0b57d0', null], bad: ['0b57d0', '#0b57d', '#0b57d0ff', 'red', '', 1] },
  { field: 'page_headline', max: 100, isNullable: true, bad: [] },
  { field: 'page_intro', max: 500, isNullable: true, bad: [] },
  { field: 'page_goodbye', max: 500, isNullable: true, bad: [] },
  { field: 'ai_assist_enabled', good: [true, false], bad: ['true', 1, 0, null, []] },
  { field: 'postal_address', good: [address], bad: [null, 'London', [], 1] },
];
const lines = {
  good: (max: number) => ['x', line(max), '𠀀'.repeat(max), '1-2/3', '🚀', 'Straße “7”'],
  bad: (max: number) => ['', ' ', '\u2003', line(max + 1), 'a\nb', 'a\r\nb', 'a\u2028b', 'a\tb', '\u0085x', 5, [], {}],
};
const cases = (kind: 'good' | 'bad') =>
  fields.flatMap(({ field, max, isNullable, good = [], bad }) => {
    const listed = kind === 'good' ? good : bad;
    const nulls = max !== undefined && isNullable === (kind === 'good' ? true : undefined) ? [null] : [];
    return [...(max === undefined ? [] : lines[kind](max)), ...listed, ...nulls].map((value) => ({ field, value }));
  });

function bodyWith(field: string, value: unknown): Record<string, unknown> {
  const [top = '', part] = field.split('.');
  if (part === undefined) return { postal_address: address, [top]: value };
  return { postal_address: { ...address, [part]: value } };
}

describe('the fields of PATCH /team', () => {
  it.each(cases('good'))('accept for $field: $value', async ({ field, value }) => {
    const { status, body } = await patch(bodyWith(field, value));
    expect(status, JSON.stringify(body)).toBe(200);
    const { sender_identity: sender, ...rest } = await get();
    const kept = { ...rest, ...sender };
    expect(field.split('.').reduce((at, name) => at[name], kept)).toEqual(
      field === 'postal_address' ? expect.objectContaining(value as object) : value,
    );
  });

  it.each(cases('bad'))('refuse for $field: $value', async ({ field, value }) => {
    expect(await patch(bodyWith(field, value))).toMatchObject({
      status: 400,
      body: {
        name: 'validation_error',
        message: expect.stringMatching(new RegExp(`^${field} must be `)),
        errors: [{ path: field }],
      },
    });
    expect((await get()).sender_identity).toEqual({ sender_name: null, postal_address: null });
  });

  it.each(['line1', 'city', 'country'])('require %s in an address', async (part) => {
    const { [part as 'city']: _, ...rest } = address;
    expect(await patch({ postal_address: rest })).toMatchObject({
      status: 422,
      body: { name: 'missing_required_field', message: `Missing required field: postal_address.${part}.` },
    });
  });

  it.each([
    { surprise: 1 },
    { postal_address: { ...address, surprise: 1 } },
    { risk_state: 'normal' },
    { plan: 'small' },
  ])('do not include that of %j', async (body) => {
    expect(await patch(body)).toMatchObject({
      status: 400,
      body: { name: 'validation_error', message: expect.stringContaining('is not a field of this body') },
    });
  });
});

describe('a suspended team', () => {
  it('is refused from its very next request, with every key, and restored as quickly', async () => {
    const sending = await team.sendingKey();
    const other = await scene.team();
    const statuses = async () =>
      Promise.all(
        [team.key, sending, other.key].map(async (key) => (await scene.api('GET', '/team', { key })).body.name),
      );
    const before = await statuses();
    const { slug } = await get();
    expect(await administerTeam(scene.app.world, slug, { riskState: 'suspended' })).toMatchObject({ id: team.id });
    expect(await statuses()).toEqual(['suspended_api_key', 'suspended_api_key', before[2]]);
    await administerTeam(scene.app.world, team.id.toUpperCase(), { riskState: 'normal' });
    expect(await statuses()).toEqual(before);
    expect((await get()).risk_state).toBe('normal');
  });
});

describe('the operator command for teams', () => {
  it.each([
    ['nobody', {}, 'not_found', /Team "nobody" not found/],
    ['019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77', { name: 'x' }, 'not_found', /not found/],
    ['own', { plan: 'huge' }, 'validation_error', /no plan "huge" in the configuration; the plans are standard, small/],
    ['own', { plan: 'constructor' }, 'validation_error', /no plan/],
    ['own', { name: ' ' }, 'validation_error', /1 to 200 characters/],
    ['own', { name: 'x'.repeat(201) }, 'validation_error', /1 to 200 characters/],
    ['own', { name: 'a\nb' }, 'validation_error', /one line/],
  ])('explains why %s cannot become %j', async (name, change, errorName, message) => {
    const before = await get();
    const changed = administerTeam(scene.app.world, name === 'own' ? team.id : name, change);
    await expect(changed).rejects.toMatchObject({ errorName, message: expect.stringMatching(message) });
    expect(await get()).toEqual(before);
  });

  it('renames a team, whose slug stays', async () => {
    const { slug } = await get();
    await administerTeam(scene.app.world, slug, { name: ' Renamed ' });
    expect(await get()).toMatchObject({ name: 'Renamed', slug });
  });
});
