// a broadcast chooses a pool --> its mail leaves by the sources of this pool, and no other mail does
import { afterEach, describe, expect, it } from 'vitest';
import { putWarmUp } from '../../src/mail/egress/index.ts';
import type { Config, DeepPartial } from '../../src/platform/config/index.ts';
import type { AnyBody } from '../rig/api.ts';
import { runInProcess } from '../cli/in-process.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { campaignIn, type Campaign } from './campaign.ts';
import { HOUR, SECOND } from './mail.ts';

const ORDINARY = '127.0.8.1';
const BULK = '127.0.8.2';
const NEWS = '127.0.8.3';

const SOURCES = {
  first: { source_v4: ORDINARY, helo_name: 'first.sender.test' },
  second: { source_v4: BULK, helo_name: 'second.sender.test' },
  third: { source_v4: NEWS, helo_name: 'third.sender.test' },
};
const POOLS = {
  main: { sources: ['first'] },
  bulk: { sources: ['second'], broadcasts: true },
  news: { sources: ['third'], broadcasts: true, streams: ['marketing' as const] },
};

let scene: Scene;
afterEach(() => scene?.close());

async function start(pools: DeepPartial<Config>['pools'] = POOLS): Promise<Campaign> {
  scene = await startScene({ config: { sources: SOURCES, pools } });
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ada@one.example', 'bob@two.example']);
  return campaign;
}

/** Lists the address that each message with a subject came from. */
const listPeers = (subject: string): string[] =>
  scene.sink.messages.filter(({ data }) => data.includes(`Subject: ${subject}\r\n`)).map(({ peer }) => peer);
const findGreetings = (): Set<string> => new Set(scene.sink.commands.filter((line) => line.startsWith('EHLO')));
const listFindings = async (key: string): Promise<AnyBody[]> =>
  (await scene.api('GET', '/findings', { key })).body.findings.filter(
    ({ code }: { code: string }) => code === 'broadcast_pool_missing',
  );
const draft = (campaign: Campaign, more: object): Promise<{ status: number; body: AnyBody }> =>
  campaign.call('POST', '/broadcasts', {
    from: `Example <news@${campaign.domain.name}>`,
    subject: 'Draft',
    segment_id: campaign.segmentId,
    html: '<p>Hello</p>',
    ...more,
  }) as Promise<{ status: number; body: AnyBody }>;

it('the mail of a broadcast leaves from the address and with the EHLO name of the pool that it chose', async () => {
  const campaign = await start();
  const id = await campaign.broadcast({ subject: 'Bulk', pool: 'bulk' });
  await scene.settled();
  expect(listPeers('Bulk')).toEqual([BULK, BULK]);
  expect(findGreetings()).toEqual(new Set(['EHLO second.sender.test']));
  expect(await campaign.get(id)).toMatchObject({ status: 'sent', pool: 'bulk' });
  const { data } = (await campaign.read('/emails')) as { data: { id: string }[] };
  const attempts = await campaign.read(`/emails/${data[0]?.id}/attempts`);
  expect(attempts['data']).toMatchObject([{ source: 'second' }]);
});

it('a broadcast without a pool leaves as other marketing mail, and a pool for broadcasts alone takes no other mail', async () => {
  const campaign = await start();
  await campaign.broadcast({ subject: 'Plain' });
  const from = `a@${campaign.domain.name}`;
  await campaign.call('POST', '/emails', { from, to: 'x@one.example', subject: 'Receipt', text: 'Paid' });
  await scene.settled();
  expect(listPeers('Plain')).toEqual([NEWS, NEWS]);
  expect(listPeers('Receipt')).toEqual([ORDINARY]);
});

it('a pool for broadcasts alone leaves all other mail to the region if there is no other pool', async () => {
  const campaign = await start({ bulk: { sources: ['second'], broadcasts: true } });
  await campaign.broadcast({ subject: 'Plain' });
  await campaign.broadcast({ subject: 'Bulk', pool: 'bulk' });
  await scene.settled();
  expect(listPeers('Plain')).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(listPeers('Bulk')).toEqual([BULK, BULK]);
});

it('mail that is deferred leaves by the chosen pool again', async () => {
  let isBusy = true;
  scene = await startScene({
    config: { sources: SOURCES, pools: POOLS },
    sink: { script: (line) => (isBusy && line.startsWith('RCPT') ? '451 4.3.0 Try again later' : undefined) },
  });
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ada@one.example']);
  await campaign.broadcast({ subject: 'Later', pool: 'bulk' });
  await scene.settled();
  isBusy = false;
  scene.clock.advance(HOUR);
  await scene.settled();
  expect(listPeers('Later')).toEqual([BULK]);
});

it('mail that waits for a source of the chosen pool says so, although another pool could send', async () => {
  scene = await startScene({
    config: {
      sources: SOURCES,
      pools: POOLS,
      providers: { acme: { title: 'Acme', domains: ['one.example'] } },
      warm_up: { daily: [1, 2], hours: 1, idle_days: 30 },
    },
  });
  const { db, clock } = scene.app.world;
  await putWarmUp(db, { source: 'second', state: 'warming', now: clock.now() });
  await scene.restart();
  const campaign = await campaignIn(scene);
  await campaign.addContacts(['ada@one.example', 'bob@one.example']);
  await campaign.broadcast({ subject: 'Warm', pool: 'bulk' });
  await scene.settled();
  expect(listPeers('Warm')).toEqual([BULK]);
  // The provider of a recipient domain is stored at the end of the process at the latest.
  await scene.restart();
  const [waiting] = await scene.app.world.db.all<{ email_id: string }>('select email_id from deliveries', []);
  const { pending } = (await campaign.read(`/emails/${waiting?.email_id}/attempts`)) as { pending: AnyBody[] };
  expect(pending).toMatchObject([{ state: 'waiting', attempts: 0, waits_because: expect.stringContaining('second') }]);
});

it('rasket broadcasts create --pool chooses a pool, rasket broadcasts get shows it, and --clear takes it back', async () => {
  const campaign = await start();
  const run = async (...words: string[]): Promise<string> => {
    const ended = await runInProcess(['broadcasts', ...words], {
      cwd: scene.dataDir,
      env: { HOME: scene.dataDir, RASKET_URL: scene.url, RASKET_API_KEY: campaign.team.key },
    });
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  const from = `news@${campaign.domain.name}`;
  const made = JSON.parse(
    await run('create', '--from', from, '--subject', 'New', '--pool', 'bulk', '--json'),
  ) as AnyBody;
  expect(await run('get', made.id)).toMatch(/^Pool +bulk$/m);
  await run('update', made.id, '--pool', 'news');
  expect((await campaign.get(made.id))['pool']).toBe('news');
  await run('update', made.id, '--clear', 'pool');
  expect((await campaign.get(made.id))['pool']).toBeNull();
});

describe('the pool of a draft', () => {
  it('the pool of a draft is changed and removed, and a copy has it too', async () => {
    const campaign = await start();
    const { body } = await draft(campaign, { pool: 'bulk' });
    const copy = await campaign.make(`/broadcasts/${body.id}/duplicate`, {});
    expect(await campaign.get(copy)).toMatchObject({ pool: 'bulk' });
    const change = async (more: object): Promise<unknown> => {
      expect((await campaign.call('PATCH', `/broadcasts/${body.id}`, more)).status).toBe(200);
      return (await campaign.get(body.id))['pool'];
    };
    expect(await change({ name: 'Other' })).toBe('bulk');
    expect(await change({ pool: 'news' })).toBe('news');
    expect(await change({ pool: null })).toBeNull();
    expect((await campaign.get((await draft(campaign, {})).body.id))['pool']).toBeNull();
  });

  it.each([
    ['a pool that the operator does not offer', 'main'],
    ['a pool that does not exist', 'elsewhere'],
  ])('the pool of a draft cannot be %s, and the error names those that may be chosen', async (_, pool) => {
    const campaign = await start();
    const message = 'pool does not match a pool that broadcasts may choose. Broadcasts may choose bulk, news.';
    const refused = { name: 'invalid_parameter', message, errors: [{ path: 'pool', message }] };
    const made = await draft(campaign, { pool });
    expect(made).toMatchObject({ status: 422, body: refused });
    const { body } = await draft(campaign, {});
    const changed = await campaign.call('PATCH', `/broadcasts/${body.id}`, { pool });
    expect(changed).toMatchObject({ status: 422, body: refused });
  });

  it('the pool of a draft cannot be chosen if no pool is offered', async () => {
    const campaign = await start({ main: { sources: ['first'] }, off: { sources: [], broadcasts: true } });
    expect((await draft(campaign, { pool: 'off' })).body.message).toBe(
      'pool does not match a pool that broadcasts may choose. The operator of this server offers none; omit it.',
    );
  });

  it('the pool of a draft is refused when the draft is sent if the operator has removed it since', async () => {
    const campaign = await start();
    const { body } = await draft(campaign, { pool: 'bulk' });
    const { bulk } = scene.app.world.config.pools;
    await scene.restart({ pools: { bulk: { ...bulk, sources: [] } } } as DeepPartial<Config>);
    const sent = await campaign.call('POST', `/broadcasts/${body.id}/send`, {});
    expect(sent).toMatchObject({ status: 422, body: { errors: [{ path: 'pool' }] } });
    await campaign.call('PATCH', `/broadcasts/${body.id}`, { pool: null });
    expect((await campaign.call('POST', `/broadcasts/${body.id}/send`, {})).status).toBe(200);
  });
});

describe('a pool that is removed while a broadcast waits', () => {
  it('a removed pool leaves mail that is in the queue already to the ordinary rules', async () => {
    let isBusy = true;
    scene = await startScene({
      config: { sources: SOURCES, pools: POOLS },
      sink: { script: (line) => (isBusy && line.startsWith('RCPT') ? '451 4.3.0 Try again later' : undefined) },
    });
    const campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@one.example']);
    await campaign.broadcast({ subject: 'Queued', pool: 'bulk' });
    await scene.settled();
    const { bulk } = scene.app.world.config.pools;
    await scene.restart({ pools: { bulk: { ...bulk, sources: [] } } } as DeepPartial<Config>);
    isBusy = false;
    scene.clock.advance(HOUR);
    await scene.settled();
    expect(listPeers('Queued')).toEqual([NEWS]);
  });

  it('a removed pool leaves mail to the ordinary rules, and a finding says so until it is back or the broadcast is sent', async () => {
    const campaign = await start();
    const at = new Date(scene.clock.now() + 2 * HOUR).toISOString();
    const id = await campaign.broadcast({ subject: 'Waiting', name: 'Spring', pool: 'bulk', scheduled_at: at });
    const { key } = campaign.team;
    expect(await listFindings(key)).toEqual([]);

    const { bulk } = scene.app.world.config.pools;
    await scene.restart({ pools: { bulk: { ...bulk, sources: [] } } } as DeepPartial<Config>);
    expect(await listFindings(key)).toMatchObject([
      {
        severity: 'warning',
        subjects: [id],
        summary:
          'The broadcast Spring chose the pool bulk, which broadcasts may not choose any more, so its mail leaves as other marketing mail does.',
      },
    ]);
    expect(await listFindings((await scene.team()).key)).toEqual([]);
    const operator = await scene.operator();
    const all = (await scene.api('GET', '/operator/findings', { key: operator })).body.findings;
    expect(JSON.stringify(all)).toContain(`The broadcast ${id} chose the pool bulk`);
    expect(JSON.stringify(all)).not.toContain('Spring');

    await scene.restart({ pools: { bulk } } as DeepPartial<Config>);
    expect(await listFindings(key)).toEqual([]);
    await scene.restart({ pools: { bulk: { ...bulk, sources: [] } } } as DeepPartial<Config>);
    scene.clock.advance(2 * HOUR + SECOND);
    await scene.settled();
    expect(listPeers('Waiting')).toEqual([NEWS, NEWS]);
    expect(await listFindings(key)).toEqual([]);
    expect(await campaign.get(id)).toMatchObject({ status: 'sent', pool: 'bulk' });
  });
});
