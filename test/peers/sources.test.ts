// A machine with three addresses in a network namespace of its own --> a pool of sources --> receivers see which one each message is from.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { InstalledMachine } from './installed-machine.ts';
import { describeOnInternet, MACHINE, type Line } from './internet.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 });

const FIRST = MACHINE.v4;
const SECOND = '192.0.34.11';
const THIRD = '192.0.34.12';
const BLOCKED = `550 5.7.1 Service unavailable; Client host [${SECOND}] blocked using zen.spamhaus.org`;

const SETTINGS = `
[sources.first]
source_v4 = "${FIRST}"
[sources.second]
source_v4 = "${SECOND}"
[sources.third]
source_v4 = "${THIRD}"
[pools.main]
sources = ["first:5", "second:3", "third:2"]
`;

describeOnInternet('on a machine with three addresses in a pool', [], () => {
  const at = new InstalledMachine();

  beforeAll(async () => {
    const said = await at.start({
      resolver: '192.0.35.53',
      receivers: [
        { domain: 'gmail.com', v4: '192.0.36.1' },
        { domain: 'plain.test', v4: '192.0.37.1' },
        { domain: 'strict.test', v4: '192.0.37.2', refusesFrom: { [SECOND]: BLOCKED } },
      ],
    });
    for (const address of [SECOND, THIRD]) at.type(`ip addr add ${address}/24 dev eth0`);
    await at.verifyDomain(said);
    at.type('cat >>/etc/rasket/rasket.toml', SETTINGS);
    at.type('systemctl restart rasket');
    at.type('until curl -sf http://127.0.0.1:3000/health >/dev/null; do sleep 0.1; done');
  });
  afterAll(() => at.stop());

  let sent = 0;
  /** Sends so many emails to a domain in batches, and returns what its receiver saw once all have arrived. */
  async function sendMany(domain: string, count: number): Promise<Line[]> {
    const before = at.internet.lines().length;
    const emails = Array.from({ length: count }, () => ({
      from: 'hello@example.com',
      to: `reader${++sent}@${domain}`,
      subject: 'Hello',
      text: 'It works.',
    }));
    for (let from = 0; from < count; from += 100) {
      at.type(
        `curl -sf http://127.0.0.1:3000/emails/batch -H 'Authorization: Bearer ${at.key}' -H 'Content-Type: application/json' -d @-`,
        JSON.stringify(emails.slice(from, from + 100)),
      );
    }
    const seen = (): Line[] => at.internet.lines().slice(before);
    await vi.waitFor(() => expect(seen().filter(({ kind }) => kind === 'arrived')).toHaveLength(count), {
      timeout: 120_000,
      interval: 100,
    });
    return seen();
  }

  const countByAddress = (lines: readonly Line[]): number[] =>
    [FIRST, SECOND, THIRD].map((one) => lines.filter(({ kind, from }) => kind === 'arrived' && from === one).length);

  it('each source sends its share, within five percent', async () => {
    const counts = countByAddress(await sendMany('plain.test', 400));
    for (const [index, share] of [200, 120, 80].entries())
      expect(Math.abs((counts[index] ?? 0) - share), String(counts)).toBeLessThanOrEqual(share * 0.05);
  });

  it('a source that a receiver has on a blocklist sends nothing there, and its share elsewhere', async () => {
    const first = await sendMany('strict.test', 10);
    expect(new Set(first.filter(({ kind }) => kind === 'refused').map(({ from }) => from))).toEqual(new Set([SECOND]));
    expect(countByAddress(first)[1]).toBe(0);
    // Once it was refused, it is not tried there any more.
    const strict = await sendMany('strict.test', 100);
    expect(strict.filter(({ kind }) => kind === 'refused')).toEqual([]);
    expect(countByAddress(strict)[1]).toBe(0);
    const [, elsewhere = 0] = countByAddress(await sendMany('plain.test', 100));
    expect(Math.abs(elsewhere - 30)).toBeLessThanOrEqual(2);
  });

  it('a source whose address disappears is left out and reported, and the others send its mail', async () => {
    at.type(`ip addr del ${THIRD}/24 dev eth0`);
    const missing = `the address ${THIRD} does not exist on this machine`;
    await vi.waitFor(() => expect(at.tryTo('rasket findings all --json').stdout).toContain(missing), {
      timeout: 60_000,
      interval: 500,
    });
    const [first = 0, second = 0, third] = countByAddress(await sendMany('plain.test', 80));
    expect(third).toBe(0);
    expect(first + second).toBe(80);
    at.type(`ip addr add ${THIRD}/24 dev eth0`);
    await vi.waitFor(async () => expect(countByAddress(await sendMany('plain.test', 20))[2]).toBeGreaterThan(0), {
      timeout: 90_000,
      interval: 1000,
    });
  });
});
