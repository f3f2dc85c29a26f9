// GET /domains/{domain_id}/sender-rules: the rules of mailbox providers, judged by DNS, examinations, replies and complaints
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addReputationCounts, type ReputationCount } from '../../../src/mail/reputation/index.ts';
import type { AnyBody } from '../../rig/api.ts';
import { publish, startScene, type Scene, type Team } from '../../rig/scene.ts';
import { ADDRESS, HOST, startMachine } from '../findings/examined.ts';
import { reverseName } from '../../../src/protocol/dnsbl.ts';

let scene: Scene;
let team: Team;
beforeAll(async () => {
  scene = await startScene({ startAt: '2026-11-30T10:02:00Z' });
  team = await scene.team();
});
afterAll(() => scene.close());

async function count(
  { id }: { id: string },
  { hoursAgo = 0, ...more }: Partial<ReputationCount> & { hoursAgo?: number },
): Promise<void> {
  const { db, ids, clock } = scene.app.world;
  const one: ReputationCount = {
    source: 'first',
    provider: 'google',
    domainId: id,
    teamId: team.id,
    isMarketing: true,
    outcome: 'accepted',
    cause: '',
    count: 1,
    ...more,
  };
  await db.tx((tx) => addReputationCounts(tx, ids, clock.now() - hoursAgo * 3_600_000, [one]));
}

/** Adds a domain whose links have a host of its own, and therefore https. */
async function addTrackedDomain(name: string, { key } = team): Promise<{ id: string }> {
  const { body } = await scene.api('POST', '/domains', { key, body: { name, click_tracking: true } });
  publish(scene.dns, body);
  await scene.api('POST', `/domains/${body.id}/verify`, { key });
  return body;
}

const ask = (id: string, key = team.key, on = scene) => on.api('GET', `/domains/${id}/sender-rules`, { key });

async function readProvider(id: string, provider = 'google', key = team.key, on = scene): Promise<AnyBody> {
  const { status, body } = await ask(id, key, on);
  expect(status).toBe(200);
  return body.data.find((one: { provider: string }) => one.provider === provider);
}
const listStates = ({ rules }: AnyBody): Record<string, string> =>
  Object.fromEntries(rules.map(({ rule, state }: { rule: string; state: string }) => [rule, state]));
const findRule = ({ rules }: AnyBody, name: string): AnyBody => rules.find(({ rule }: AnyBody) => rule === name);
const findings = async (key = team.key): Promise<AnyBody[]> =>
  (await scene.api('GET', '/findings', { key })).body.findings.filter(
    ({ code }: { code: string }) => code === 'sender_rules_unmet',
  );
const runJob = async (): Promise<void> =>
  void (await scene.app.jobs.find(({ name }) => name === 'check-sender-rules')?.run());

describe('the rules of mailbox providers', () => {
  it('a domain with all its records meets the rules about authentication of each provider, each with its source', async () => {
    const domain = await addTrackedDomain('good.example.com');
    const { body } = await ask(domain.id);
    expect(body).toMatchObject({
      object: 'sender_rules',
      domain_id: domain.id,
      domain_name: 'good.example.com',
      primary_domain: 'example.com',
    });
    expect(body.data.map(({ provider }: { provider: string }) => provider)).toEqual([
      'google',
      'yahoo',
      'microsoft-consumer',
      'laposte',
    ]);
    const [google, , microsoft, laposte] = body.data;
    expect(google).toMatchObject({
      provider_title: 'Gmail',
      threshold: 5000,
      level: 'below',
      volume: { last_24_hours: 0, largest_day: 0 },
    });
    expect(listStates(google)).toEqual({
      spf_or_dkim: 'met',
      spf: 'met',
      dkim: 'met',
      dmarc: 'met',
      alignment: 'met',
      reverse_dns: 'not_known',
      tls: 'met',
      spam_rate: 'not_known',
      one_click_unsubscribe: 'met',
    });
    expect(listStates(microsoft)).toEqual({ spf: 'met', dkim: 'met', dmarc: 'met', alignment: 'met' });
    expect(listStates(laposte)).toEqual({ alignment: 'met' });
    for (const { rules } of body.data)
      for (const { source, state, to_do: toDo } of rules) {
        expect(source).toMatch(/^https:\/\//);
        expect(toDo === null).toBe(state === 'met');
      }
  });

  it('the DMARC rule is met by a record of the domain or of its registered name, and without both it shows the reply and the next step', async () => {
    const domain = await team.domain('mail.nodmarc.example');
    scene.dns.forget('_dmarc.mail.nodmarc.example');
    scene.clock.advance(400_000);
    const missing = await readProvider(domain.id);
    expect(findRule(missing, 'dmarc')).toEqual({
      rule: 'dmarc',
      applies_to: 'bulk',
      state: 'unmet',
      fact: 'Neither mail.nodmarc.example nor nodmarc.example has a DMARC record.',
      consequence: 'Gmail defers such mail, and refuses part of it.',
      reply: '421 4.7.40',
      to_do: 'Publish the DMARC record that `rasket domains get mail.nodmarc.example` shows; p=none is enough.',
      source: 'https://support.google.com/a/answer/81126',
    });
    expect(findRule(await readProvider(domain.id, 'microsoft-consumer'), 'dmarc')).toMatchObject({
      state: 'unmet',
      reply: '550 5.7.515',
    });

    scene.dns.set('_dmarc.nodmarc.example', 'TXT', ['v=DMARC1; p=reject']);
    scene.clock.advance(400_000);
    expect(findRule(await readProvider(domain.id), 'dmarc')).toMatchObject({
      state: 'met',
      fact: '_dmarc.nodmarc.example has the DMARC policy p=reject.',
    });
  });

  it('mail is aligned by SPF without DKIM, unless the DMARC policy is strict about SPF', async () => {
    const domain = await team.domain('strict.example');
    const { records } = (await scene.api('GET', `/domains/${domain.id}`, { key: team.key })).body;
    for (const { record, name } of records) if (record === 'DKIM') scene.dns.forget(name);
    scene.clock.advance(400_000);
    const relaxed = await readProvider(domain.id);
    expect(listStates(relaxed)).toMatchObject({ spf_or_dkim: 'met', dkim: 'unmet', spf: 'met', alignment: 'met' });
    expect(findRule(relaxed, 'alignment').fact).toBe(
      'SPF passes for a subdomain of strict.example, the domain in From.',
    );

    scene.dns.set('_dmarc.strict.example', 'TXT', ['v=DMARC1; p=none; aspf=s']);
    scene.clock.advance(400_000);
    expect(listStates(await readProvider(domain.id))).toMatchObject({ spf_or_dkim: 'met', alignment: 'unmet' });
    expect(findRule(await readProvider(domain.id, 'laposte'), 'alignment')).toMatchObject({
      state: 'unmet',
      consequence: 'La Poste puts such mail into the spam folder, or refuses it.',
    });
  });

  it('a domain that was never verified is not looked up, and nothing is known of its records', async () => {
    const { body } = await scene.api('POST', '/domains', { key: team.key, body: { name: 'new.example.net' } });
    scene.dns.queries.length = 0;
    expect(listStates(await readProvider(body.id))).toMatchObject({
      spf: 'not_known',
      dkim: 'not_known',
      dmarc: 'not_known',
      alignment: 'not_known',
    });
    expect(scene.dns.queries).toEqual([]);
  });

  it('ten calls ask DNS no more often than one', async () => {
    const domain = await team.domain('calm.example.net');
    scene.clock.advance(400_000);
    await ask(domain.id);
    scene.dns.queries.length = 0;
    for (let call = 0; call < 10; call++) expect((await ask(domain.id)).status).toBe(200);
    expect(scene.dns.queries).toEqual([]);
  });

  it('a name server that does not answer leaves the records not known', async () => {
    const domain = await team.domain('silent.example.net');
    scene.dns.set('_dmarc.silent.example.net', 'TXT', 'SERVFAIL');
    scene.clock.advance(400_000);
    expect(findRule(await readProvider(domain.id), 'dmarc')).toMatchObject({
      state: 'not_known',
      fact: 'The DMARC record at _dmarc.silent.example.net could not be looked up.',
      to_do: 'Look the records up with `rasket domains verify silent.example.net`.',
    });
  });

  it('refusals of today because of a name in reverse DNS or of TLS are proof, and those for authentication are named', async () => {
    const domain = await team.domain('refused.example.net');
    await count(domain, { outcome: 'deferred', cause: 'ptr_helo', count: 3 });
    await count(domain, { outcome: 'deferred', cause: 'tls_required', count: 1 });
    await count(domain, { outcome: 'bounced', cause: 'authentication', count: 2 });
    const google = await readProvider(domain.id);
    expect(findRule(google, 'reverse_dns')).toMatchObject({
      state: 'unmet',
      fact: 'Gmail refused 3 recipients because of the name of an address today.',
    });
    expect(findRule(google, 'tls')).toMatchObject({
      state: 'unmet',
      fact: 'Gmail refused 1 recipient because the mail came without TLS today.',
    });
    expect(findRule(google, 'alignment').fact).toContain(
      'Gmail refused 2 recipients for lack of authentication today.',
    );
    expect(listStates(await readProvider(domain.id, 'yahoo'))).toMatchObject({ tls: 'met' });
  });

  it('complaints above 0.3 % of a week are unmet, and fewer are met', async () => {
    const domain = await team.domain('loud.example.net');
    await count(domain, { provider: 'yahoo', count: 2000, hoursAgo: 30 });
    await count(domain, { provider: 'yahoo', outcome: 'complained', count: 5 });
    const few = findRule(await readProvider(domain.id, 'yahoo'), 'spam_rate');
    expect(few).toMatchObject({ state: 'met', to_do: null });
    expect(few.fact).toBe('5 of 2000 recipients (0.25 %) reported mail as spam within seven days; the limit is 0.3 %.');
    await count(domain, { provider: 'yahoo', outcome: 'complained', count: 5 });
    expect(findRule(await readProvider(domain.id, 'yahoo'), 'spam_rate')).toMatchObject({ state: 'unmet' });
  });

  it('another team does not see the rules of a domain', async () => {
    const domain = await team.domain('mine.example.net');
    const other = await scene.team();
    expect((await ask(domain.id, other.key)).status).toBe(404);
  });
});

describe('the threshold of a provider', () => {
  it('Gmail counts all subdomains of a registered name together, and Outlook.com each name alone', async () => {
    const shop = await team.domain('shop.large.example');
    const news = await team.domain('news.large.example');
    for (const provider of ['google', 'microsoft-consumer']) {
      await count(shop, { provider, count: 3000 });
      await count(news, { provider, count: 1500, hoursAgo: 23 });
      await count(news, { provider, count: 700, hoursAgo: 50 });
    }
    expect(await readProvider(shop.id)).toMatchObject({
      level: 'near',
      volume: { last_24_hours: 4500, largest_day: 3000 },
    });
    expect(await readProvider(shop.id, 'microsoft-consumer')).toMatchObject({
      level: 'below',
      volume: { last_24_hours: 3000, largest_day: 3000 },
    });
    await count(shop, { count: 500 });
    expect(await readProvider(news.id)).toMatchObject({ level: 'over', volume: { last_24_hours: 5000 } });
  });

  it('the largest day of the last week keeps the level, because providers do not forget', async () => {
    const domain = await team.domain('past.example.org');
    await count(domain, { count: 6000, hoursAgo: 72 });
    expect(await readProvider(domain.id)).toMatchObject({
      level: 'over',
      volume: { last_24_hours: 0, largest_day: 6000 },
    });
  });

  it('much mail outside of broadcasts makes it unknown whether marketing mail has an unsubscribe link', async () => {
    const domain = await addTrackedDomain('api.example.org');
    await count(domain, { count: 6000, isMarketing: false });
    expect(findRule(await readProvider(domain.id), 'one_click_unsubscribe').state).toBe('not_known');
  });
});

describe('the finding sender_rules_unmet', () => {
  it('sender_rules_unmet appears for a domain near a threshold with an unmet rule, and ends when the rule is met or the mail is less', async () => {
    const own = await scene.team();
    const domain = await addTrackedDomain('mail.finding.example', own);
    scene.dns.forget('_dmarc.mail.finding.example');
    scene.clock.advance(400_000);
    await count(domain, { teamId: own.id, count: 3999 });
    await runJob();
    expect(await findings(own.key)).toEqual([]);

    await count(domain, { teamId: own.id, count: 1 });
    await runJob();
    expect(await findings(own.key)).toMatchObject([
      {
        severity: 'warning',
        subjects: ['mail.finding.example'],
        summary:
          'The domain mail.finding.example sends near the threshold of Gmail for bulk senders, and does not meet: dmarc.',
        advice: { command: 'rasket domains rules mail.finding.example' },
      },
    ]);
    expect(await findings((await scene.team()).key)).toEqual([]);
    const [{ since }] = (await findings(own.key)) as [AnyBody];

    scene.clock.advance(3_600_000);
    await count(domain, { teamId: own.id, count: 2000 });
    await runJob();
    expect(await findings(own.key)).toMatchObject([
      { since, summary: expect.stringContaining('sends above the threshold of Gmail') },
    ]);

    scene.dns.set('_dmarc.finding.example', 'TXT', ['v=DMARC1; p=none']);
    scene.clock.advance(400_000);
    await runJob();
    expect(await findings(own.key)).toEqual([]);

    scene.dns.forget('_dmarc.finding.example');
    scene.clock.advance(400_000);
    await runJob();
    expect(await findings(own.key)).toHaveLength(1);
    scene.clock.advance(25 * 3_600_000);
    await runJob();
    expect(await findings(own.key)).toEqual([]);
  });

  it('the finding sender_rules_unmet stays while DNS does not answer, since it began', async () => {
    const own = await scene.team();
    const domain = await addTrackedDomain('mail.quiet.example', own);
    const names = ['_dmarc.mail.quiet.example', '_dmarc.quiet.example'];
    for (const name of names) scene.dns.forget(name);
    scene.clock.advance(400_000);
    await count(domain, { teamId: own.id, count: 5000 });
    await runJob();
    const [{ since }] = (await findings(own.key)) as [AnyBody];
    for (const name of names) scene.dns.set(name, 'TXT', 'SERVFAIL');
    scene.clock.advance(3_600_000);
    await runJob();
    expect(await findings(own.key)).toMatchObject([{ since }]);
    for (const name of names) scene.dns.set(name, 'TXT', ['v=DMARC1; p=none']);
    scene.clock.advance(3_600_000);
    await runJob();
    expect(await findings(own.key)).toEqual([]);
  });

  it('a domain that was deleted has no finding any more', async () => {
    const own = await scene.team();
    const domain = await addTrackedDomain('mail.gone.example', own);
    scene.dns.forget('_dmarc.mail.gone.example');
    scene.clock.advance(400_000);
    await count(domain, { teamId: own.id, provider: 'microsoft-consumer', count: 9000 });
    await runJob();
    expect(await findings(own.key)).toHaveLength(1);
    await scene.api('DELETE', `/domains/${domain.id}`, { key: own.key });
    expect(await findings(own.key)).toEqual([]);
  });
});

it('the rule about reverse DNS follows the last examination, and unsubscribe links without https are unmet', async () => {
  await using machine = await startMachine();
  const own = await machine.scene.team();
  const domain = await own.domain('mail.example.com');
  const read = () => readProvider(domain.id, 'google', own.key, machine.scene);
  expect(findRule(await read(), 'reverse_dns')).toMatchObject({ state: 'not_known' });
  expect(findRule(await read(), 'one_click_unsubscribe')).toMatchObject({ state: 'unmet' });
  await machine.examine();
  expect(findRule(await read(), 'reverse_dns')).toMatchObject({ state: 'met', to_do: null });

  machine.scene.dns.forget(reverseName(ADDRESS));
  await machine.examine();
  const wrong = findRule(await read(), 'reverse_dns');
  expect(wrong).toMatchObject({
    state: 'unmet',
    fact: 'An address that this server sends from has no name that resolves back to it.',
    to_do: 'Ask the operator of this server to set the names that `rasket doctor` shows.',
  });
  expect(JSON.stringify(wrong)).not.toMatch(new RegExp(`${ADDRESS}|${HOST}`));
});
