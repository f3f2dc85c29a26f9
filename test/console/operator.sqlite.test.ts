// the console --> the API with an operator's token: the queue and the audit log of the whole installation
import { checkFrame } from './golden.ts';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorSections } from '../../console/catalog.ts';
import { addReputationCounts } from '../../src/mail/reputation/index.ts';
import { Desk } from '../cli/desk.ts';
import { evaluate, recordOutcomes } from '../flow/breakers-desk.ts';
import { mailIn } from '../flow/mail.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { normalise } from './normalise.ts';
import { Screen } from './screen.ts';

const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
  { columns: 200, rows: 50 },
];

describe('the console of a development server', () => {
  it('has the screens of the team, followed by those of an operator', async () => {
    await using desk = new Desk();
    const database = await desk.database();
    const server = await desk.serve(['dev', '--data', 'dev'], { env: database });
    const env = { RASKET_DATA: desk.at('dev'), RASKET_URL: undefined, RASKET_API_KEY: undefined };
    await using seat = await Screen.take({ url: '', key: '', columns: 100, env });
    await seat.sees('Mail of the last', '1 overview', 'dev.json', /Queue +nothing waits/);
    for (const [name, sees] of [
      ['destinations', 'The queue is empty.'],
      ['queue', 'The queue is empty.'],
      ['operator-audit', /^ operator-audit/m],
      ['domains', 'playground.test'],
    ] as const) {
      await seat.type(`:${name}`);
      await seat.sees(`:${name}`);
      await seat.press('Enter');
      await seat.sees(new RegExp(`^ ${name}`, 'm'), sees);
    }
    // The same on the command line, and after another start with the same token.
    const typed = { env: { RASKET_DATA: desk.at('dev') } };
    expect(await desk.rasket(['queue'], typed)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The queue is empty.'),
    });
    const tokenNow = () => JSON.parse(readFileSync(desk.at('dev/run/dev.json'), 'utf8')).operator_token as string;
    const token = tokenNow();
    await server.stop();
    await desk.serve(['dev', '--data', 'dev'], { env: database });
    await expect.poll(tokenNow).toBe(token);
    const doctor = await desk.rasket(['doctor'], {
      env: { ...typed.env, RASKET_API_KEY: token, RASKET_URL: urlNow(desk) },
    });
    expect(doctor, doctor.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/It is +accepted, for an operator/),
    });
  });
});

describe('the overview with the token of an operator', () => {
  it('shows the queue by destination', async () => {
    await using desk = new Desk();
    await desk.serve(['dev', '--data', 'dev'], { env: await desk.database() });
    const env = { RASKET_DATA: desk.at('dev'), RASKET_URL: undefined, RASKET_API_KEY: undefined };
    const typed = { env: { RASKET_DATA: desk.at('dev') } };
    const hold = ['queue', 'hold', '--destination', 'example.org', '--reason', 'It moves'];
    expect(await desk.rasket(hold, typed)).toMatchObject({ code: 0 });
    const mail = ['--from', 'hello@playground.test', '--to', 'ada@example.org', '--subject', 'Hi', '--text', 'Hi'];
    expect(await desk.rasket(['send', ...mail], typed)).toMatchObject({ code: 0 });
    await using seat = await Screen.take({ url: '', key: '', env });
    await seat.sees('Mail of the last', /Queue +1 waiting, for 1 destination: example\.org 1 \(\d+ min\)/);
  });
});

const urlNow = (desk: Desk): string => JSON.parse(readFileSync(desk.at('dev/run/dev.json'), 'utf8')).url as string;

describe('the console of an operator', () => {
  let scene: Scene;
  let team: Team;
  let token: string;
  let seat: Screen;
  beforeAll(async () => {
    scene = await startScene({ config: { operators: { subjects: 'text' } } });
    team = await scene.team('Example');
    await team.domain('mail.example.com');
    token = await scene.operator();
    for (const to of ['tempfail@example.net', 'tempfail@example.net', 'tempfail@example.org', 'tempfail@example.com'])
      await send(to);
    await ask('POST', '/holds', { destination: 'example.com', reason: 'Their server is being moved' });
    seat = await Screen.take({ url: scene.url, key: token });
    await seat.sees('4 waiting, for 3 destinations.');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  async function send(to: string): Promise<string> {
    const body = { from: 'hello@mail.example.com', to, subject: 'Your receipt', text: 'Thank you.' };
    const sent = await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    scene.clock.advance(1000);
    return sent.body.id;
  }
  const ask = async (method: string, path: string, body?: Record<string, unknown>) =>
    (await scene.api(method, `/operator/queue${path}`, { key: token, ...(body ? { body } : {}) })).body;
  const go = async (command: string, sees: string | RegExp): Promise<string> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    return seat.sees(sees);
  };
  const destinationsNow = async () =>
    (await ask('GET', '')).destinations.map(({ destination }: never) => destination).sort();

  for (const size of SIZES) {
    const { columns, rows } = size;
    it.each(operatorSections.map(({ name }) => name))(`shows %s at ${columns}×${rows}`, async (name) => {
      await seat.resize(columns, rows);
      await go(name, new RegExp(`^ ${name}(?: +(?:0|\\d+/\\d+\\+?))?$`, 'm'));
      await seat.sees(/^ \? (?:more|keys) {2,3}: go to/m, /^(?![^]*loading)/i);
      const frame = await settled();
      await checkFrame(`operator/${name}`, size, frame, normalise(frame));
    });
  }

  async function settled(): Promise<string> {
    for (let before = await seat.frame(); ;) {
      const now = await seat.frame();
      if (now === before && !/loading/i.test(now)) return now;
      before = now;
    }
  }

  it('offers nothing of a team, and ? lists its actions', async () => {
    await go('destinations', /^ destinations +\d+\/\d+$/m);
    await seat.press('?');
    const frame = await seat.sees(
      'Actions of this screen',
      'hold: hold mail until it is released',
      'drop: remove mail',
    );
    expect(frame).not.toContain('suppressions');
    await seat.press('Escape');
    await go('domains', 'There is no domains here');
  });

  it('holds a destination from its row with a reason, and releases it after a confirmation', async () => {
    await seat.resize(100, 30);
    await go('destinations', /^› \S+ +/m);
    await seat.press('g');
    const first = /^› (\S+)/m.exec(await seat.sees(/^› \S+/m))?.[1] ?? '';
    await go('hold', new RegExp(`destination +${first.replaceAll('.', '\\.')}\\s`));
    const frame = await seat.sees('one of destination, team and email', '› reason *');
    expect(frame).not.toMatch(/│ {3}(team|email) /);
    await seat.press('C-o');
    await seat.sees(/│ › team /, /│ {3}email /, /│ {3}reason \* /);
    await seat.press('Up', 'Up');
    await seat.press('Enter');
    await seat.sees('reason is required.');
    await seat.type('On fire');
    await seat.press('Enter');
    await seat.sees('Held');
    const { data } = await ask('GET', '/holds');
    expect(data[0]).toMatchObject({ destination: first, reason: 'On fire' });
    await go('holds', /^› .*On fire|On fire/m);
    await seat.press('g');
    await go('release', `End a hold: ${first}, on http://127.0.0.1`);
    await seat.press('n');
    expect((await ask('GET', '/holds')).data).toHaveLength(data.length);
    await go('release', 'y confirm');
    await seat.press('y');
    await seat.sees(/^ Released; \d+ deliver/m);
    expect((await ask('GET', '/holds')).data).toHaveLength(data.length - 1);
  });

  it('opens a destination as its queue, and copies its name', async () => {
    await go('destinations', /example\.org/);
    await seat.press('g');
    while (!/^› example\.org/m.test(await seat.frame())) await seat.press('j');
    await seat.press('y');
    await seat.sees('Copied to the clipboard');
    expect(await seat.clipboard()).toBe('example.org');
    await seat.press('Enter');
    const frame = await seat.sees(/^ destinations › example\.org +\d+\/1$/m, /^› example\.org +! retrying/m);
    expect(frame).not.toContain('example.net');
    await seat.press('Escape');
    await seat.sees(/^ destinations +\d+\/\d+$/m, 'example.net');
  });

  it('opens a row of the queue as the story of its email, which can be dropped or held there', async () => {
    await go('queue', /^ queue +\d+\/4$/m);
    await seat.press('g', 'Enter');
    await seat.sees(
      /^ queue › Your receipt/m,
      '[timeline]',
      /from .*hello@mail\.example\.com to tempfail@example\.com/,
      'team example',
      'Accepted, and queued.',
    );
    await seat.press('Right');
    await seat.sees('[details]', /To +tempfail@example\.com/, /Size +\d+ bytes/);
    await go('hold', /email +[0-9a-f]{8}-[^]*› reason \*/);
    await seat.press('Escape');
    await seat.sees(/^(?![^]*› reason)/, /^ queue › Your receipt/m);
    await seat.press('Escape');
    await seat.sees(/^ queue +\d+\/4$/m);
  });

  it('retries a waiting delivery at once', async () => {
    await go('queue /', /queue/);
    await go('queue destination=example.org', /\/destination=example\.org · \d+\/1$/m);
    const [before] = (await ask('GET', '/deliveries?destination=example.org')).data;
    await go('retry', /email +[0-9a-f]{8}-/);
    await seat.press('Enter');
    await seat.sees(/1 delivery due now\./);
    await scene.settled();
    const [after] = (await ask('GET', '/deliveries?destination=example.org')).data;
    expect(after.attempts).toBe(before.attempts + 1);
  });

  it('shows a provider with its limits, and suspends and resumes it', async () => {
    await seat.resize(100, 30);
    await go('providers', /^ providers +\d+\/\d+$/m);
    await seat.press('g');
    await seat.sees(/^› mx\.sink\.test/m);
    await seat.press('s');
    await seat.sees('› minutes *', 'reason *');
    await seat.type('60');
    await seat.press('Down');
    await seat.type('They move');
    await seat.press('Enter');
    await seat.sees(/Nothing is sent to mx\.sink\.test until .* UTC\./);
    await seat.press('Escape');
    await seat.press('Enter');
    await seat.sees(/^ providers › mx\.sink\.test/m, /Limits +suspended until [^]*They/, 'delivery.idle_seconds');
    await seat.press('e', 'y');
    await seat.sees('1 limit removed; ');
  });

  it('requires a reason and the name for a drop, and the audit log has it', async () => {
    await go('destinations', /example\.net/);
    await seat.press('g');
    while (!/^› example\.net/m.test(await seat.frame())) await seat.press('j');
    await go('drop', /destination +example\.net/);
    await seat.sees('› reason *');
    await seat.type('Sent by a stolen key');
    await seat.press('Enter');
    await seat.sees('This will drop all queued mail to example.net.', 'Type example.net to do it');
    await seat.type('example.com');
    await seat.press('Enter');
    await seat.sees('The name does not match; nothing was changed.');
    expect(await destinationsNow()).toContain('example.net');
    await seat.press('C-u');
    await seat.type('example.net');
    await seat.press('Enter');
    await seat.sees('2 dropped.');
    expect(await destinationsNow()).not.toContain('example.net');
    await go('operator-audit', 'queue.dropped');
  });
});

describe('the circuit breakers', () => {
  it('an operator sees which mail is limited on the screen of breakers', async () => {
    await using scene = await startScene({ startAt: '2026-11-30T13:20:00Z' });
    const mail = await mailIn(scene);
    await recordOutcomes(scene, mail, { accepted: 1000, complained: 50 });
    await evaluate(scene);
    await using seat = await Screen.take({ url: scene.url, key: await scene.operator() });
    await seat.sees('The queue is empty.');
    await seat.type(':breakers');
    await seat.sees(':breakers');
    await seat.press('Enter');
    await seat.sees(/^ breakers +\d+\/2$/m, mail.domain.name, 'google', 'paused');
  });
});

describe('the sources of mail', () => {
  it('an operator starts and stops a warm-up on the screen of sources', async () => {
    await using scene = await startScene({
      config: {
        sources: { fresh: { source_v4: '127.0.8.1' }, old: { source_v4: '127.0.8.2' } },
        pools: { main: { sources: ['fresh', 'old:3'] } },
      },
    });
    await using seat = await Screen.take({ url: scene.url, key: await scene.operator() });
    await seat.sees('The queue is empty.');
    await seat.type(':egress');
    await seat.sees(':egress');
    await seat.press('Enter');
    await seat.sees(/^ egress +\d+\/2$/m, /fresh +\S ready +127\.0\.8\.1/, /old +\S ready/);
    await seat.press('g', 's', 'y');
    await seat.sees('fresh is being warmed up');
    await seat.press('Escape');
    await seat.sees(/fresh +\S warming/);
    await seat.press('Enter');
    await seat.sees(/^ egress › fresh/m, /Warm-up +\S? ?warming since/);
    await seat.press('t', 'y');
    await seat.sees('fresh is not being warmed up');
  });
});

describe('the reputation of sources', () => {
  it('the reputation is a map of sources and providers, whose cells have marks, and the selected cell is shown with its causes', async () => {
    await using scene = await startScene({
      startAt: '2026-11-30T10:02:00Z',
      config: {
        sources: { first: { source_v4: '127.0.8.1' }, second: { source_v4: '127.0.8.2' } },
        pools: { main: { sources: ['first', 'second'] } },
        providers: { acme: { title: 'Acme', domains: ['acme.test'] } },
      },
    });
    const { db, ids, clock } = scene.app.world;
    const team = await scene.team();
    const domain = await team.domain();
    const common = { domainId: domain.id, teamId: team.id, isMarketing: false };
    const counts = [
      { source: 'first', provider: 'acme', outcome: 'accepted', cause: '', count: 300 },
      { source: 'first', provider: 'acme', outcome: 'bounced', cause: 'recipient_unknown', count: 30 },
      { source: 'first', provider: '', outcome: 'accepted', cause: '', count: 5 },
      { source: 'second', provider: 'acme', outcome: 'accepted', cause: '', count: 90 },
      { source: 'second', provider: 'acme', outcome: 'deferred', cause: 'rate', count: 4 },
    ] as const;
    await db.tx((tx) =>
      addReputationCounts(
        tx,
        ids,
        clock.now(),
        counts.map((one) => ({ ...common, ...one })),
      ),
    );
    await using seat = await Screen.take({ url: scene.url, key: await scene.operator(), columns: 100 });
    await seat.sees('The queue is empty.');
    await seat.type(':reputation');
    await seat.sees(':reputation');
    await seat.press('Enter');
    await seat.sees(
      /^ reputation +1\/2$/m,
      /SOURCE +Acme +Others/,
      /› first +\[✗ 91 %\] +· 100 %/,
      /second +! 96 % +–/,
      /first → Acme +✗ bad +9\.09 % of the recipients bounced/,
      /bounced +30 \(9\.09 %\): 30 recipient_unknown/,
      /blocklists +first \(127\.0\.8\.1\): not checked/,
    );
    await seat.press('j');
    await seat.sees(/› second +\[! 96 %\]/, /deferred +4 \(4\.44 %\): 4 rate/);
    await seat.press('Right');
    await seat.sees(/\[–\]/, 'Nothing was sent by this source to this provider.');
    await seat.press('Tab');
    await seat.sees(/\[30 days\]/);
  });
});
