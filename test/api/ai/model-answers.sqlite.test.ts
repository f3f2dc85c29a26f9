import http from 'node:http';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  answerJson,
  fails,
  isCutOff,
  refuses,
  saysText,
  startModelServer,
  type Answering,
  type ModelServer,
} from '../../rig/model-server.ts';
import { startScene, type Scene, type Team } from '../../rig/scene.ts';

const SUBJECTS = { suggestions: ['Closed on Friday'] };
const KEY = 'sk-a-key-of-the-operator';
/** The page that a server shows to browsers. */
const PAGE = '<!doctype html><html><body>502 Bad Gateway</body></html>';

const withKey = (dataDir: string): void => writeFileSync(path.join(dataDir, 'model.key'), `${KEY}\n`, { mode: 0o600 });

describe.each(['openai', 'anthropic'] as const)('a model server of the kind %s', (kind) => {
  let model: ModelServer;
  let scene: Scene;
  let team: Team;
  beforeAll(async () => {
    model = await startModelServer(kind, { key: KEY });
    const ai = { ...model.settings(), key_file: 'model.key' };
    scene = await startScene({ config: { ai }, prepare: withKey });
  });
  afterAll(async () => {
    await scene.close();
    await model[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    team = await scene.team();
    await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
    model.calls.length = 0;
  });

  const ask = () => scene.api('POST', '/ai/subject-lines', { key: team.key, body: {} });
  const codes = async (): Promise<string[]> =>
    (await scene.api('GET', '/findings', { key: team.key })).body.findings.map(({ code }: { code: string }) => code);
  const used = async () => (await scene.api('GET', '/usage', { key: team.key })).body.ai_credits.used as number;

  it('is called as its provider documents, with the key from the file', async () => {
    model.says(SUBJECTS);
    expect((await ask()).body.suggestions).toEqual(SUBJECTS.suggestions);
    expect(model.violations).toEqual([]);
  });

  it('is asked again after an invalid answer and told what was wrong, for one credit in total', async () => {
    model.says('Here are some subject lines: Closed!', SUBJECTS);
    expect((await ask()).status).toBe(200);
    expect(model.calls).toHaveLength(2);
    expect(model.calls[0]?.system).not.toContain('earlier answer');
    expect(model.calls[1]?.system).toContain('earlier answer');
    expect(await used()).toBe(1);
  });

  it('may return an extra field, as small models do, which is left out', async () => {
    model.says({ ...SUBJECTS, run: 'rm', subject: 'More' });
    const { status, body } = await ask();
    expect([status, body.suggestions, Object.keys(body)]).toEqual([
      200,
      SUBJECTS.suggestions,
      expect.not.arrayContaining(['run', 'subject']),
    ]);
    expect([model.calls.length, await used()]).toEqual([1, 1]);
  });

  it.each([
    { what: 'prose', said: 'Here are some subject lines: Closed!' },
    { what: 'half a JSON', said: '{"suggestions": ["Closed' },
    { what: 'other JSON', said: { lines: ['Closed'] } },
    { what: 'an empty list', said: { suggestions: [] } },
    { what: 'a line that is too long', said: { suggestions: ['x'.repeat(201)] } },
    { what: 'a list of prototypes', said: '{"__proto__": {"suggestions": ["x"]}}' },
    { what: 'nothing but control characters', said: { suggestions: ['\u0000\u0007'] } },
  ])('that returns $what twice makes the request fail as our error, without cost', async ({ said }) => {
    model.says(said);
    expect(await ask()).toMatchObject({ status: 503, body: { name: 'service_unavailable' } });
    expect(model.calls).toHaveLength(2);
    expect(await used()).toBe(0);
  });

  const broken: { what: string; answer: Answering; calls: number; says: string }[] = [
    { what: 'HTML', calls: 2, says: 'twice', answer: (response) => response.writeHead(200).end(PAGE) },
    { what: 'an error page', calls: 1, says: '502', answer: (response) => response.writeHead(502).end(PAGE) },
    { what: 'an answer of another kind', calls: 1, says: '418', answer: (response) => answerJson(response, 418, {}) },
    {
      what: 'a redirect',
      calls: 1,
      says: '302',
      answer: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    },
    {
      what: '200 KB',
      calls: 2,
      says: 'twice',
      answer: (response) => answerJson(response, 200, { padding: 'x'.repeat(200_000) }),
    },
    {
      what: '200 KB that nobody announced',
      calls: 2,
      says: 'twice',
      answer: (response) => {
        response.writeHead(200);
        for (let n = 0; n < 20; n++) response.write('x'.repeat(10_000));
        response.end();
      },
    },
    {
      what: 'a length that is longer than the answer',
      calls: 1,
      says: 'closed the connection',
      answer: (response) => {
        response.writeHead(200, { 'content-length': 500 }).write('{}');
        setImmediate(() => response.destroy());
      },
    },
    {
      what: 'bytes that are no HTTP',
      calls: 1,
      says: 'HTTP',
      answer: (response) => void response.socket?.end('hello, this is no HTTP\r\n\r\n'),
    },
    {
      what: 'the end of the connection',
      calls: 1,
      says: 'closed the connection',
      answer: (response) => response.destroy(),
    },
  ];
  it.each(broken)(
    'that fails with $what makes the request fail as our error, without cost',
    async ({ answer, calls, says }) => {
      model.answers(answer);
      const { status, body } = await ask();
      expect([status, body.name]).toEqual([503, 'service_unavailable']);
      expect(body.message).toContain(says);
      expect(model.calls).toHaveLength(calls);
      expect(await used()).toBe(0);
    },
  );

  it.each<{ what: string; answer: Answering }>([
    { what: 'nothing, ever', answer: () => undefined },
    { what: 'an answer that never ends', answer: (response) => void response.writeHead(200).write('{"choices": [') },
  ])(
    'that sends $what makes the request fail as our error when the time limit is reached, without cost',
    async ({ answer }) => {
      const ai = { ...model.settings(), key_file: 'model.key', timeout_seconds: 1 };
      await using hasty = await startScene({ config: { ai }, prepare: withKey });
      const { key } = await hasty.team();
      await hasty.api('PATCH', '/team', { key, body: { ai_assist_enabled: true } });
      model.answers(answer);
      const { status, body } = await hasty.api('POST', '/ai/subject-lines', { key, body: {} });
      expect([status, body.message]).toEqual([503, expect.stringContaining('too long')]);
      expect((await hasty.api('GET', '/usage', { key })).body.ai_credits.used).toBe(0);
    },
  );

  const errors: { type: string; status: number; says: string; headers?: Record<string, string> }[] = [
    ...(kind === 'openai'
      ? [
          { type: 'invalid_api_key', status: 401, says: 'does not accept the key (401)' },
          { type: 'insufficient_quota', status: 429, says: 'has no credit left for this account (429)' },
          { type: 'model_not_found', status: 404, says: 'does not know the model' },
          { type: 'server_error', status: 503, says: 'has an error (503)' },
        ]
      : [
          { type: 'authentication_error', status: 401, says: 'does not accept the key (401)' },
          { type: 'billing_error', status: 402, says: 'has no credit left for this account (402)' },
          { type: 'overloaded_error', status: 529, says: 'is overloaded (529)' },
          { type: 'api_error', status: 500, says: 'has an error (500)' },
        ]),
    {
      type: kind === 'openai' ? 'rate_limit_exceeded' : 'rate_limit_error',
      status: 429,
      says: 'accepts no more requests at present (429), for 17 seconds',
      headers: { 'retry-after': '17' },
    },
    {
      type: 'rate_limit_error',
      status: 429,
      says: 'at present (429)); no credit was charged',
      headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' },
    },
  ];
  it.each(errors)(
    'that answers $type is reported as $says, without its own words',
    async ({ type, status, says, headers }) => {
      model.answers(fails(kind, status, type, headers));
      const answer = await ask();
      expect([answer.status, answer.body.name]).toEqual([503, 'service_unavailable']);
      expect(answer.body.message).toContain(says);
      expect(answer.body.message).not.toContain('PLANTED');
      expect(await used()).toBe(0);
    },
  );

  it('that refuses a prompt is not asked again, costs nothing and is not reported as a server error', async () => {
    model.answers(refuses(kind));
    const { status, body } = await ask();
    expect([status, body.message]).toEqual([503, expect.stringContaining('the model refused to answer this')]);
    expect(body.message).not.toContain('PLANTED');
    expect([model.calls.length, await used()]).toEqual([1, 0]);
    expect(await codes()).not.toContain('model_failing');
  });

  it('whose answer was cut off counts as failed, even if the answer parses', async () => {
    model.answers(isCutOff(kind, SUBJECTS));
    expect((await ask()).status).toBe(503);
    expect(model.calls).toHaveLength(2);
    expect(model.calls[1]?.system).toContain('cut off');
  });

  it('that fails gets a finding with its answer and the start time, until it works or a day has passed', async () => {
    const token = await scene.operator();
    const findings = async () =>
      (await scene.api('GET', '/operator/findings', { key: token })).body.findings.filter(
        ({ code }: { code: string }) => code === 'model_failing',
      );
    model.says(SUBJECTS);
    await ask();
    expect(await findings()).toEqual([]);
    const since = new Date(scene.clock.now()).toISOString();
    model.answers(fails(kind, 401, 'authentication_error'));
    await ask();
    scene.clock.advance(5000);
    await ask();
    const host = new URL(model.settings().url).host;
    expect(await findings()).toEqual([
      {
        code: 'model_failing',
        severity: 'warning',
        count: 1,
        subjects: ['model-1'],
        since,
        node: null,
        summary: `The model model-1 at ${host} returns no usable answers: its server does not accept the key (401).`,
        advice: { words: expect.stringContaining('[ai]'), command: 'rasket config show' },
      },
    ]);
    const told = (await scene.api('GET', '/findings', { key: team.key })).text;
    expect(told).toContain('model_failing');
    for (const secret of [host, 'model-1', KEY]) expect(told).not.toContain(secret);
    expect(told).not.toMatch(/\b401\b/);
    model.says(SUBJECTS);
    await ask();
    expect(await findings()).toEqual([]);
    model.answers(fails(kind, 500, 'api_error'));
    await ask();
    expect(await findings()).toHaveLength(1);
    scene.clock.advance(86_400_000);
    expect(await findings()).toEqual([]);
  });

  it('is no longer waited for after the caller has disconnected, and the call costs nothing', async () => {
    const { promise: isCut, resolve: cut } = Promise.withResolvers<void>();
    model.answers((response) => void response.on('close', () => cut()));
    const headers = { authorization: `Bearer ${team.key}`, 'content-type': 'application/json', 'user-agent': 'test' };
    const request = http.request(`${scene.url}/ai/subject-lines`, { method: 'POST', headers });
    request.on('error', () => undefined).end('{}');
    await model.until(1);
    request.destroy();
    await isCut;
    model.says(SUBJECTS);
    expect((await ask()).status).toBe(200);
    expect(await used()).toBe(1);
  });

  it('causes no log line with a key or a text of a team', async () => {
    model.answers((response) => answerJson(response, 400, { error: { type: 'bad', message: `${KEY} asked PLANTED` } }));
    const body = { text: 'PLANTED' };
    await scene.api('POST', '/ai/subject-lines', { key: team.key, body });
    const lines = scene.log.join('\n');
    expect(lines).toContain('the model did not return a valid response');
    for (const secret of [KEY, 'PLANTED']) expect(lines).not.toContain(secret);
  });
});

describe('a chat completions server', () => {
  const fenced = `<think>Let me see.</think>\n\`\`\`json\n${JSON.stringify(SUBJECTS)}\n\`\`\``;

  it.each([
    {
      why: 'that knows no schemas is asked without',
      answers: [refusing, saysText('prose'), saysText(JSON.stringify(SUBJECTS))],
      calls: 3,
    },
    { why: 'that puts its JSON between fences, behind thoughts, is understood', answers: [saysText(fenced)], calls: 1 },
    { why: 'that answers in parts is understood', answers: [inParts], calls: 1 },
  ])('$why', async ({ answers, calls }) => {
    await using model = await startModelServer('openai');
    await using scene = await startScene({ config: { ai: model.settings() } });
    const team = await scene.team();
    await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
    model.answers(...answers);
    const { status, body } = await scene.api('POST', '/ai/subject-lines', { key: team.key, body: {} });
    expect([status, body.suggestions]).toEqual([200, SUBJECTS.suggestions]);
    expect(model.calls.map(({ withSchema }) => withSchema)).toEqual([true, false, false].slice(0, calls));
    expect(model.violations).toEqual([]);
  });

  it('is reached on loopback if it is configured by IP address, but not if it is configured by name', async () => {
    await using model = await startModelServer('openai');
    const { port } = new URL(model.settings().url);
    for (const [url, status] of [
      [`http://localhost:${port}/v1`, 200],
      [`https://model.test:${port}/v1`, 503],
    ] as const) {
      await using scene = await startScene({ config: { ai: { ...model.settings(), url } } });
      scene.dns.set('model.test', 'A', ['127.0.0.1']);
      const team = await scene.team();
      await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
      model.says(SUBJECTS);
      const answer = await scene.api('POST', '/ai/subject-lines', { key: team.key, body: {} });
      expect(answer.status).toBe(status);
      if (status === 503) expect(answer.body.message).toContain('no address that may be connected to');
    }
    expect(model.calls).toHaveLength(1);
  });

  it('is not called if its key file cannot be read', async () => {
    await using model = await startModelServer('openai');
    await using scene = await startScene({ config: { ai: { ...model.settings(), key_file: 'none.key' } } });
    const team = await scene.team();
    await scene.api('PATCH', '/team', { key: team.key, body: { ai_assist_enabled: true } });
    const { status, body } = await scene.api('POST', '/ai/subject-lines', { key: team.key, body: {} });
    expect([status, body.message]).toEqual([503, expect.stringContaining('key')]);
    expect(model.calls).toEqual([]);
  });
});

function refusing(...[response, { withSchema }]: Parameters<Answering>): void {
  answerJson(response, withSchema ? 400 : 500, { error: { message: 'response_format is not supported' } });
}

function inParts(response: Parameters<Answering>[0]): void {
  const content = [
    { type: 'thinking', thinking: [] },
    { type: 'text', text: JSON.stringify(SUBJECTS) },
  ];
  answerJson(response, 200, {
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  });
}
