// A machine with IPv4 and IPv6 sends to receivers with both: which family is chosen, and when the other one is.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { InstalledMachine, reverseName } from './installed-machine.ts';
import { describeOnInternet, MACHINE, type Line } from './internet.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 });

/** Receivers, each with an address of either family; the last part of both is its number. */
const RECEIVERS = {
  'plain.test': {},
  'guidelines.test': {
    refusesV6:
      '550-5.7.1 [2620:0:2d0:100::10] Our system has detected that this message does\r\n550-5.7.1 not meet IPv6 sending guidelines regarding PTR records and\r\n550 5.7.1 authentication. - gsmtp',
  },
  'pointer.test': {
    refusesV6: '550 5.7.25 The IP address sending this message does not have a PTR record set up',
  },
  'unauthenticated.test': { refusesV6: '550 5.7.510 Access denied, a message sent over IPv6 must pass SPF or DKIM' },
  'later.test': { refusesV6: '450 4.7.25 Client host rejected: cannot find your reverse hostname' },
  'rule-v4.test': { refusesV4: '550 5.7.1 Not from there' },
  'rule-v6.test': { refusesV6: '550 5.7.1 Not from there' },
  'rule-both.test': { refusesV4: '550 5.7.1 Not from there', refusesV6: '550 5.7.1 Not from there' },
} as const;
type Domain = keyof typeof RECEIVERS;

const DOMAINS = Object.keys(RECEIVERS) as Domain[];
const buildV4 = (domain: Domain): string => `192.0.37.${DOMAINS.indexOf(domain) + 1}`;
const buildV6 = (domain: Domain): string => `2620:0:2d0:200::${DOMAINS.indexOf(domain) + 1}`;

/** Returns the address family of each message, and whether it was taken. */
const inWords = (lines: readonly Line[]): string[] =>
  lines.map(({ kind, at }) => `${kind} over ${at.includes(':') ? 'IPv6' : 'IPv4'}`);

describeOnInternet('on a machine with both address families', [], () => {
  const at = new InstalledMachine();
  const reverse = reverseName(MACHINE.v6);

  beforeAll(async () => {
    const said = await at.start({
      resolver: '192.0.35.53',
      receivers: [
        { domain: 'gmail.com', v4: '192.0.36.1' },
        ...DOMAINS.map((domain) => ({ domain, v4: buildV4(domain), v6: buildV6(domain), ...RECEIVERS[domain] })),
      ],
    });
    await at.verifyDomain(said);
  });
  afterAll(() => at.stop());

  let number = 0;
  /** Sends to somebody who was never written to. */
  const send = async (domain: Domain, lines = 1): Promise<string[]> =>
    inWords(await at.send(`reader${++number}@${domain}`, lines));
  /** Waits for the outcome of the latest email, which is known a moment after a receiver saw it. */
  const becomes = (outcome: object): Promise<void> =>
    vi.waitFor(() => expect(JSON.parse(at.type('rasket explain latest --json'))).toMatchObject(outcome), {
      timeout: 30_000,
      interval: 100,
    });

  /** Starts anew and sends one email, whose delivery has reverse DNS of the address examined, by so many questions. */
  async function startAnew(name: string, questions: number): Promise<string[]> {
    const asked = async (): Promise<number> =>
      (await at.internet.queries()).filter((query) => query.name === name).length;
    const before = await asked();
    at.type('systemctl restart rasket');
    at.type('until curl -sf http://127.0.0.1:3000/health >/dev/null; do sleep 0.1; done');
    const seen = await send('plain.test');
    await vi.waitFor(async () => expect((await asked()) - before).toBeGreaterThanOrEqual(questions), {
      timeout: 60_000,
      interval: 100,
    });
    return seen;
  }

  describe('with an IPv6 address without matching reverse DNS', () => {
    it('it sends over IPv4 without reverse DNS', async () => {
      expect(await startAnew(reverse, 1)).toEqual(['arrived over IPv4']);
      expect(await send('plain.test')).toEqual(['arrived over IPv4']);
    });

    it('it retries a policy refusal of the receiver once over IPv6', async () => {
      expect(await send('rule-v4.test', 2)).toEqual(['refused over IPv4', 'arrived over IPv6']);
    });

    it('it sends over IPv4 when the name leads to another address', async () => {
      await at.internet.publish(`${reverse}. IN PTR other.example.net.\nother.example.net. IN AAAA 2620:0:2d0:100::11`);
      expect(await startAnew('other.example.net', 1)).toEqual(['arrived over IPv4']);
      expect(await send('plain.test')).toEqual(['arrived over IPv4']);
    });
  });

  describe('with an IPv6 address with matching reverse DNS', () => {
    beforeAll(async () => {
      await at.internet.publish(`${reverse}. IN PTR mail.example.com.`);
      // The first email may go before the examination has ended.
      await startAnew(reverse, 1);
      await vi.waitFor(async () => expect(await send('plain.test')).toEqual(['arrived over IPv6']), {
        timeout: 60_000,
        interval: 100,
      });
    });

    it('it sends over IPv6', async () => {
      expect(await send('plain.test')).toEqual(['arrived over IPv6']);
      await becomes({ attempts: [{ address: buildV6('plain.test') }] });
    });

    it.each(['guidelines.test', 'pointer.test', 'unauthenticated.test', 'later.test'] as const)(
      'it sends over IPv4 after a refusal over IPv6 by %s, and at once the next time',
      async (domain) => {
        expect(await send(domain, 2)).toEqual(['refused over IPv6', 'arrived over IPv4']);
        await becomes({ email: { last_event: 'delivered' }, attempts: [{ attempt: 1, address: buildV4(domain) }] });
        expect(await send(domain)).toEqual(['arrived over IPv4']);
      },
    );

    it('it retries a policy refusal of the receiver once over IPv4, and sends the next email over IPv6 again', async () => {
      expect(await send('rule-v6.test', 2)).toEqual(['refused over IPv6', 'arrived over IPv4']);
      expect(await send('rule-v6.test', 2)).toEqual(['refused over IPv6', 'arrived over IPv4']);
    });

    it('it takes a refusal over both families as final', async () => {
      expect(await send('rule-both.test', 2)).toEqual(['refused over IPv6', 'refused over IPv4']);
      await becomes({ email: { last_event: 'bounced' }, pending: [] });
      const to = `reader${number}@rule-both.test`;
      expect(inWords(at.internet.lines().filter((line) => line.to === to))).toHaveLength(2);
    });
  });
});
