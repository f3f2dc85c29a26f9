// A machine whose network blocks port 25, from install.sh to the first email, by what README.md and docs/ say.
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { InstalledMachine, readDocs } from './installed-machine.ts';
import { describeOnInternet } from './internet.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

const RELAY = 'smtp.example.com';
const PASSWORD = 'Correct horse, battery: staple';
const RECEIVER = '192.0.37.25';
const LARGE = ['gmail.com', 'outlook.com', 'yahoo.com'];

/** The lines of docs/relays.md that write the password to a file, and name the relay. */
const KEEP_PASSWORD = /^sudo (install .*relay\.password)/m;
const NAME_RELAY = /^sudo (rasket setup --relay smtp\.example\.com:587 --relay-user me .*relay\.password)$/m;

describeOnInternet('on a machine whose network blocks port 25,', ['postfix', 'saslpasswd2'], () => {
  const at = new InstalledMachine();
  let setUp = '';

  beforeAll(async () => {
    setUp = await at.start({
      resolver: '192.0.35.53',
      blocksPort25: true,
      receivers: [
        ...LARGE.map((domain, n) => ({ domain, v4: `192.0.36.${n + 1}`, hasWebServer: true as const })),
        { domain: 'example.org', v4: RECEIVER },
      ],
      relay: { host: RELAY, address: '192.0.38.1', user: 'me', password: PASSWORD, passesTo: RECEIVER },
    });
  });
  afterAll(() => at.stop());

  it('rasket setup and rasket doctor report that it is blocked, and what to type', () => {
    expect(setUp).toMatch(
      /^Outgoing port 25 is blocked: .*rasket setup --relay smtp\.example\.com:587 --relay-user NAME/m,
    );
    expect(setUp).toMatch(
      /^port25\tfailed\t.*\(gmail\.com: ETIMEDOUT, .*\), although other outgoing connections work\.$/m,
    );
    expect(at.tryTo('rasket doctor').stdout).toContain('port25_blocked');
  });

  it('rasket setup explains how to make a password file that the service can read', () => {
    const file = '/etc/rasket/mine.password';
    const command = `rasket setup --yes --relay ${RELAY} --relay-user me --relay-password-file ${file}`;
    at.type(`umask 077 && cat >${file}`, `${PASSWORD}\n`);
    const before = at.type('cat /etc/rasket/rasket.toml');
    const { status, stderr } = at.tryTo(command);
    expect({ status, stderr }).toMatchObject({ status: 64, stderr: expect.stringContaining('(EACCES)') });
    expect(at.type('cat /etc/rasket/rasket.toml')).toBe(before);
    at.type(/must be able to read it: (.*)$/m.exec(stderr)?.[1] ?? 'false');
    at.type(`setpriv --reuid=rasket --regid=rasket --clear-groups cat ${file}`);
  });

  it('the first email is sent through a relay that is set up in one step, and rasket explain names the relay', async () => {
    // A terminal can be opened again by its name, and the socket that stands in for it here cannot.
    at.type(`cat | ${readDocs('relays.md', KEEP_PASSWORD)}`, `${PASSWORD}\n`);
    const step = readDocs('relays.md', NAME_RELAY);
    const said = at.type(
      `${step} --yes --relay-spf spf.relay.example --relay-ca-file ${at.internet.folder}/relay-ca.pem`,
    );
    expect(said).toContain(`The relay main (${RELAY}) allows this server to send.`);
    expect(said).not.toContain('port25_blocked');
    expect(said).toMatch(/^relays\tpassed\tThe relay main \(smtp\.example\.com\) allows this server to send/m);
    expect(said).toContain('"v=spf1 include:spf.relay.example a:mail.example.com ~all"');

    await at.verifyDomain(said);
    expect(at.type(at.firstEmail)).toContain('"id"');
    const [line] = await vi.waitFor(
      () => {
        const lines = at.internet.lines();
        expect(lines).toHaveLength(1);
        return lines;
      },
      { timeout: 60_000, interval: 50 },
    );
    expect(line).toMatchObject({ kind: 'arrived', at: RECEIVER, to: 'ada@example.org' });
    const content = line?.kind === 'arrived' ? line.content : '';
    expect(content).toMatch(
      /^Received: from mail\.example\.com .*\r\n\tby smtp\.example\.com \(Postfix\) with ESMTPSA/m,
    );
    expect(content).toMatch(/^DKIM-Signature: .*d=example\.com;/m);

    const story = at.type('rasket explain latest');
    expect(story).toMatch(/^ +Try 1 through the relay main, smtp\.example\.com \[192\.0\.38\.1\], TLSv1\.3/m);
    expect(story).toContain('The relay main accepted the message');
    expect(at.type('cat /var/lib/service.log /etc/rasket/rasket.toml')).not.toContain(PASSWORD);
  });
});
