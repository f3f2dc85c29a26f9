// Everything that a team, or the installation, may have a limited number of: concurrent calls do not exceed the limit.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openEventStream } from '../../rig/event-stream.ts';
import { ALLOWED, startFileServer, type FileServer } from '../../rig/file-server.ts';
import { buildForm } from '../../rig/forms.ts';
import { createReceivingDomain } from '../../rig/mx.ts';
import { scaled } from '../../rig/scale.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';
import { plantWebhook, plantWebhookEvent } from '../../rig/webhooks.ts';

const AT_ONCE = 8;
const LEFT = 3;
const ROUNDS = scaled(3);

let scene: Scene;
let server: FileServer;
beforeAll(async () => {
  server = await startFileServer((_, response) => void response.end(), { names: ['hooks.test'] });
  const limits = { domain_limit: LEFT, contact_limit: LEFT, webhook_endpoint_limit: LEFT, daily_cap: LEFT };
  scene = await startScene({
    roles: ['http'],
    trustedCa: [server.certificate.cert],
    config: {
      // Our own name server runs in this process, which may be busy.
      dns: { timeout_ms: 30_000 } as never,
      network: { http_allow_private: [`${ALLOWED}/32`] } as never,
      plans: { standard: limits },
    },
  });
  scene.dns.set('hooks.test', 'A', [ALLOWED]);
});
afterAll(async () => {
  await scene.close();
  await server.close();
});

/** Makes one more of a family, and returns the status. */
type Make = (n: number) => Promise<number>;

const countTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

const post = async (team: Team, path: string, body: object): Promise<number> =>
  (await scene.api('POST', path, { key: team.key, body })).status;

/** Fills a team up to its limit with rows, except for the last ones. */
async function fill(table: string, count: number, rowOf: (n: number, id: string) => Record<string, string | number>) {
  const { db, ids } = scene.app.world;
  const rows = countTo(count).map((n) => rowOf(n, ids.uuid()));
  await db.insertMany(table, Object.keys(rows[0] ?? {}), rows.map(Object.values));
}

const fillProperties = (team: Team) =>
  fill('contact_properties', 200 - LEFT, (n, id) => ({
    id,
    team_id: team.id,
    key: `p${n}`,
    key_folded: `p${n}`,
    type: 'string',
    slot: n + 1,
    created_at: 0,
  }));

async function upload(team: Team, column_map: object): Promise<number> {
  const form = buildForm('Mail,Column\na@example.org,x\n', { column_map });
  return (await scene.api('POST', '/contacts/imports', { key: team.key, ...form })).status;
}

async function listen(team: Team): Promise<number> {
  const stream = await openEventStream(scene.url, { key: team.key });
  streams.push(stream);
  return stream.status;
}
const streams: { drop(): void; ended: Promise<void> }[] = [];
async function endStreams(): Promise<void> {
  const ending = streams.splice(0);
  for (const stream of ending) stream.drop();
  await Promise.all(ending.map(({ ended }) => ended));
}

const FAMILIES: { what: string; prepare: (team: Team) => Promise<Make>; refused?: number; made?: number }[] = [
  {
    what: 'emails of a day',
    refused: 429,
    made: 200,
    async prepare(team) {
      const { name } = await team.domain();
      const email = { from: `a@${name}`, to: 'x@example.org', subject: 'Hello', text: 'It works.' };
      return () => post(team, '/emails', email);
    },
  },
  { what: 'domains', prepare: async (team) => (n) => post(team, '/domains', { name: `n${n}.${team.id}.example` }) },
  { what: 'contacts', prepare: async (team) => (n) => post(team, '/contacts', { email: `c${n}@example.org` }) },
  {
    what: 'topics',
    async prepare(team) {
      await fill('topics', 200 - LEFT, (n, id) => ({
        id,
        team_id: team.id,
        name: `t${n}`,
        default_subscription: 'opt_in',
        visibility: 'private',
        created_at: 0,
      }));
      return (n) => post(team, '/topics', { name: `new${n}`, default_subscription: 'opt_in' });
    },
  },
  {
    what: 'contact properties',
    async prepare(team) {
      await fillProperties(team);
      return (n) => post(team, '/contact-properties', { key: `new${n}`, type: 'string' });
    },
  },
  {
    what: 'imports that wait',
    async prepare(team) {
      for (const _ of countTo(20 - LEFT)) expect(await upload(team, { email: 'Mail' })).toBe(201);
      return () => upload(team, { email: 'Mail' });
    },
  },
  {
    what: 'forms',
    async prepare(team) {
      const { name } = await team.domain();
      const topic = await scene.api('POST', '/topics', {
        key: team.key,
        body: { name: 'News', default_subscription: 'opt_out' },
      });
      await fill('sign_up_forms', 100 - LEFT, (n, id) => ({
        id,
        team_id: team.id,
        name: `Form ${n}`,
        segment_ids: '[]',
        allowed_origins: '[]',
        enabled: 1,
        proof_of_work: 0,
        created_at: 0,
      }));
      return (n) => post(team, '/forms', { name: `New ${n}`, topic_id: topic.body.id, from: `a@${name}` });
    },
  },
  {
    what: 'inbound rules',
    async prepare(team) {
      const { name } = await createReceivingDomain(scene, team);
      await fill('inbound_rules', 200 - LEFT, (n, id) => ({
        id,
        team_id: team.id,
        pattern: `r${n}@made.example`,
        action: 'drop',
        forward_to: '[]',
        created_at: 0,
      }));
      return (n) => post(team, '/inbound-rules', { pattern: `new${n}@${name}`, action: 'drop' });
    },
  },
  {
    what: 'webhook endpoints',
    prepare: async (team) => (n) =>
      post(team, '/webhooks', { endpoint: `https://hooks.test:${server.port}/${n}`, events: ['email.sent'] }),
  },
  {
    what: 'replays of a minute',
    refused: 429,
    made: 200,
    async prepare(team) {
      const id = await plantWebhook(scene, team);
      const event = await plantWebhookEvent(scene, team, id, { status: 'failed' });
      const replay = () => post(team, `/webhooks/${id}/events/${event}/replay`, {});
      for (const _ of countTo(10 - LEFT)) expect(await replay()).toBe(200);
      return replay;
    },
  },
  {
    what: 'listeners',
    made: 200,
    async prepare(team) {
      await endStreams();
      for (const _ of countTo(10 - LEFT)) expect(await listen(team)).toBe(200);
      return () => listen(team);
    },
  },
  {
    what: 'holds of the queue',
    async prepare() {
      await scene.app.world.db.run('delete from queue_holds');
      const hold = { kind: 'destination', reason: 'x', created_by: 'Ada', created_at: 0 };
      await fill('queue_holds', 1000 - LEFT, (n, id) => ({ id, value: `h${n}.example`, ...hold }));
      const key = await scene.operator();
      return async (n) => {
        const body = { destination: `new${n}.example`, reason: 'x' };
        return (await scene.api('POST', '/operator/queue/holds', { key, body })).status;
      };
    },
  },
];

it.each(FAMILIES)('calls at once do not exceed the limit of $what', async ({ prepare, refused = 422, made = 201 }) => {
  for (let round = 0; round < ROUNDS; round++) {
    const make = await prepare(await scene.team());
    const statuses = await Promise.all(countTo(AT_ONCE).map((n) => make(n)));
    const expected = countTo(AT_ONCE).map((n) => (n < LEFT ? made : refused));
    expect(statuses.toSorted((a, b) => a - b)).toEqual(expected);
  }
  await endStreams();
});
