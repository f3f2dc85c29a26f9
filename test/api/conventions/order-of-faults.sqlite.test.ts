import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

interface Draft {
  method: string;
  path: string;
  key: string | undefined;
  headers: Record<string, string | null>;
  body: Record<string, unknown>;
  isJson: boolean;
  /** Whether the bucket of the caller is empty before the request. */
  isDrained: boolean;
}

interface Fault {
  rank: number;
  name: string;
  status: number;
  error: string;
  /** Omitted if the operation cannot have this fault. */
  only?: 'sendEmail' | 'createDomain';
  commit: (draft: Draft) => void;
}

let keys: { unknown: string; revoked: string; suspended: string; sending: string; full: string };

// Faults by rank: of two faults in one request, the one with the lower rank is reported.
const faults: Fault[] = [
  {
    rank: 1,
    name: 'no User-Agent',
    status: 403,
    error: 'validation_error',
    commit: (draft) => (draft.headers['user-agent'] = null),
  },
  {
    rank: 2,
    name: 'an unknown path',
    status: 404,
    error: 'not_found',
    // The path resembles no family of the API, so that no route is suggested.
    commit: (draft) => (draft.path = draft.path.replace(/^\/[\w-]+/, '/qqqqqqqq')),
  },
  {
    rank: 2,
    name: 'a wrong method',
    status: 405,
    error: 'method_not_allowed',
    commit: (draft) => (draft.method = 'PUT'),
  },
  { rank: 3, name: 'no key', status: 401, error: 'missing_api_key', commit: (draft) => (draft.key = undefined) },
  {
    rank: 3,
    name: 'an unknown key',
    status: 401,
    error: 'invalid_api_key',
    commit: (draft) => (draft.key = keys.unknown),
  },
  {
    rank: 3,
    name: 'a revoked key',
    status: 403,
    error: 'restricted_api_key',
    commit: (draft) => (draft.key = keys.revoked),
  },
  {
    rank: 3,
    name: 'a suspended key',
    status: 403,
    error: 'suspended_api_key',
    commit: (draft) => (draft.key = keys.suspended),
  },
  {
    rank: 4,
    name: 'an empty bucket',
    status: 429,
    error: 'rate_limit_exceeded',
    commit: (draft) => (draft.isDrained = true),
  },
  {
    rank: 5,
    name: 'a key that may only send',
    status: 401,
    error: 'restricted_api_key',
    only: 'createDomain',
    commit: (draft) => (draft.key = keys.sending),
  },
  {
    rank: 6,
    name: 'an empty Idempotency-Key',
    status: 400,
    error: 'invalid_idempotency_key',
    only: 'sendEmail',
    commit: (draft) => (draft.headers['idempotency-key'] = ''),
  },
  {
    rank: 6,
    name: 'a long Idempotency-Key',
    status: 400,
    error: 'invalid_idempotency_key',
    only: 'sendEmail',
    commit: (draft) => (draft.headers['idempotency-key'] = 'k'.repeat(257)),
  },
  {
    rank: 7,
    name: 'an unknown query parameter',
    status: 422,
    error: 'invalid_parameter',
    commit: (draft) => (draft.path += '?surprise=1'),
  },
  { rank: 8, name: 'no JSON', status: 400, error: 'validation_error', commit: (draft) => (draft.isJson = false) },
  {
    rank: 8,
    name: 'another media type',
    status: 400,
    error: 'validation_error',
    commit: (draft) => (draft.headers['content-type'] = 'text/plain'),
  },
  {
    rank: 9,
    name: 'a missing field',
    status: 422,
    error: 'missing_required_field',
    commit: ({ body }) => void (delete body['subject'], delete body['name']),
  },
  {
    rank: 10,
    name: 'an unknown field',
    status: 400,
    error: 'validation_error',
    commit: ({ body }) => (body['surprise'] = 1),
  },
  {
    rank: 11,
    name: 'a rule of the resource',
    status: 403,
    error: 'validation_error',
    only: 'sendEmail',
    commit: ({ body }) => (body['from'] = 'a@unverified.example'),
  },
];

const pairs = faults.flatMap((first) =>
  faults.filter((second) => second.rank > first.rank).map((second) => [first, second] as const),
);

describe('for two faults in one request, the one of the lower rank is reported', () => {
  let scene: Scene;
  let team: Team;
  let domain: string;
  beforeAll(async () => {
    scene = await startScene({ ratePerSecond: 10 });
    team = await scene.team();
    domain = (await team.domain()).name;
    const issue = (name: string) => scene.api('POST', '/api-keys', { key: team.key, body: { name } });
    const revoked = await issue('Revoked');
    const suspended = await issue('Suspended');
    await scene.api('DELETE', `/api-keys/${revoked.body.id}`, { key: team.key });
    await scene.app.world.db.run('update api_keys set status = ? where id = ?', ['suspended', suspended.body.id]);
    keys = {
      unknown: 'rk_unknown',
      revoked: revoked.body.token,
      suspended: suspended.body.token,
      sending: await team.sendingKey(),
      full: team.key,
    };
  });
  afterAll(() => scene.close());

  async function askWith(...made: Fault[]) {
    const isDomain = made.some((fault) => fault.only === 'createDomain');
    const draft: Draft = {
      method: 'POST',
      path: isDomain ? '/domains' : '/emails',
      key: keys.full,
      headers: {},
      body: isDomain
        ? { name: 'order.example.com' }
        : { from: `a@${domain}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' },
      isJson: true,
      isDrained: false,
    };
    // A key can have only one fault, so the earlier fault is applied last.
    for (const fault of made.toReversed()) fault.commit(draft);
    scene.clock.advance(10_000);
    if (draft.isDrained) {
      for (let i = 0; i < 10; i++) {
        await scene.api('GET', '/domains', { key: keys.full });
        await scene.api('GET', '/health');
      }
    }
    const body = JSON.stringify(draft.body);
    return scene.api(draft.method, draft.path, {
      key: draft.key,
      headers: draft.headers,
      body: draft.isJson ? body : body.slice(0, -1),
    });
  }

  it.each(faults.map((fault) => [fault.rank, fault.name, fault] as const))(
    'a fault of rank %i is reported on its own: %s',
    async (_, __, fault) => {
      const answer = await askWith(fault);
      expect({ status: answer.status, error: answer.body.name }).toEqual({ status: fault.status, error: fault.error });
      expect(answer.body.code).toBe(fault.rank === 1 ? 1010 : undefined);
    },
  );

  const possible = pairs.filter(([a, b]) => a.only === undefined || b.only === undefined || a.only === b.only);
  it.each(possible.map(([a, b]) => [`${a.rank} ${a.name}`, `${b.rank} ${b.name}`, a, b] as const))(
    '%s is reported before %s',
    async (_, __, first, second) => {
      const alone = await askWith(first);
      const both = await askWith(first, second);
      expect({ status: both.status, error: both.body.name }).toEqual({ status: first.status, error: first.error });
      // Several faults share a name: the text distinguishes them.
      const readText = (message: string): string => message.replace(/ in JSON at position.*/, '');
      expect(readText(both.body.message)).toBe(readText(alone.body.message));
    },
  );
});
