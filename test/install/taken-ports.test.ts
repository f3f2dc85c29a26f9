// Tests what rasket setup reports about ports that other programs have, and what works then: on a machine within this one.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Machine, type Ended } from './machine.ts';

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 });

const machine = new Machine();
const isPossible = Machine.isPossible();
beforeAll(async () => {
  if (!isPossible) return;
  await machine.start();
  typed('mkdir -p /opt/web /opt/lib/postfix/sbin /var/www');
});
afterEach(() => {
  if (isPossible) typed('for pid in $(cat /opt/web/pids 2>/dev/null); do kill -9 $pid; done; rm -f /opt/web/pids');
});
afterAll(() => machine.stop());

const typed = (line: string): Ended => {
  const ended = machine.type(line);
  expect(ended, `${line}: ${ended.stderr}${ended.stdout}`).toMatchObject({ status: 0 });
  return ended;
};

/** A program of that name with that port: Perl, under the path of another one. */
function listen(program: string, address: string): void {
  const path = `/opt/${program}`;
  const script = '/opt/web/listen.pl';
  const perl = `use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 5, LocalAddr => $ARGV[0]) or die $!; open F, ">>", "/opt/web/pids"; print F "$$ "; close F; open F, ">", "/opt/web/up"; close F; sleep 9999`;
  typed(`rm -f /opt/web/up; printf '%s' '${perl}' >${script}; ln -sf "$(command -v perl)" ${path}`);
  typed(`setsid ${path} ${script} ${address} >/dev/null 2>&1 </dev/null & until [ -e /opt/web/up ]; do :; done`);
}

const setUp = (words: string): Ended =>
  machine.type(
    `cd /opt && /opt/rasket/bin/rasket setup --data /var/lib/new --config /etc/new.toml --host mail.example.com --public-address 192.0.2.10 --team Office --no-email --no-domain ${words}`,
  );

// runs only as root, because it makes a machine of its own
describe.runIf(isPossible)('rasket setup with a port in use', () => {
  it('at 443 by nginx suggests a reverse proxy, with its configuration and certificate', () => {
    listen('web/nginx', '0.0.0.0:443');
    listen('web/nginx', '0.0.0.0:80');
    const asked = setUp('--no-acme --dry-run');
    expect(asked).toMatchObject({ status: 64 });
    expect(asked.stderr).toMatch(/--https \(found: proxy, port 443 is taken by nginx \(process \d+\); --yes accepts/);
    expect(setUp('--no-acme --https own --dry-run').stderr).toMatch(
      /^rasket: --https: port 443 is taken by nginx \(process \d+\); got "own"\n$/,
    );
    // Neither 80 nor 443 is ours, so that nothing can be proven at another port.
    expect(setUp('--https 8443 --acme-directory https://ca.example.com/dir --dry-run').stderr).toContain('see --https');
    const planned = setUp('--yes --https proxy --no-acme --print');
    expect(planned.stdout).toContain('public_url = "https://mail.example.com"\ntrusted_proxies = ');
    const other = setUp('--https 8443 --no-acme --print');
    expect(other.stdout).toContain('public_url = "https://mail.example.com:8443"');
    expect(other.stdout).toContain('[https]\nports = [ 8443 ]\n');
    expect(other.stdout).not.toContain('redirect_ports');
  });

  it('at 80 only proves names at port 443', () => {
    listen('web/apache2', '0.0.0.0:80');
    const acme = '--acme-directory https://ca.example.com/dir --agree-to-terms --acme-contact ada@example.com';
    const { stdout, status, stderr } = setUp(`--https own ${acme} --print`);
    expect(status, stderr).toBe(0);
    expect(stdout).toContain('[https]\nports = [ 443 ]\n');
    expect(stdout).toContain('challenge = "tls-alpn-01"');
  });

  it('at 25 by Postfix only sends, or waits for the port, and stops nothing by itself', () => {
    listen('lib/postfix/sbin/master', '0.0.0.0:25');
    const asked = setUp('--https none --no-acme --dry-run');
    expect(asked.stderr).toMatch(
      /--receive or --no-receive \(found: no, port 25 is taken by Postfix \(process \d+\); --yes accepts/,
    );
    const sends = setUp('--https none --no-acme --no-receive --print').stdout;
    expect(sends).toContain('[receiving]\nports = []\n');
    expect(sends).toContain('[submission]\nports = [ 587, 2587 ]\n');
    const waits = setUp('--https none --no-acme --receive --print');
    expect(waits.stdout).not.toContain('[receiving]');
    expect(waits.stderr).toMatch(/Port 25 stays with Postfix \(process \d+\) until you stop it/);
    // It is still there.
    typed('kill -0 $(cat /opt/web/pids)');
  });

  it('at 587 by another program leaves this port out', () => {
    listen('web/other-mta', '0.0.0.0:587');
    const { stdout, stderr } = setUp('--https none --no-acme --print');
    expect(stderr).toMatch(
      /Port 587, for applications, is used by other-mta \(process \d+\), so rasket does not open it\./,
    );
    expect(stdout).toContain('[submission]\nports = [ 25, 2587 ]\n');
  });

  it('says when it cannot see the program of a port', () => {
    listen('web/nginx', '0.0.0.0:443');
    const line = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
    const { stderr } = machine.type(
      `cd /opt && HOME=/tmp ${line} /opt/rasket/bin/rasket setup --data /tmp/none --config /tmp/none.toml --host mail.example.com --public-address 192.0.2.10 --https own --no-acme --no-domain --no-email --team T --dry-run`,
    );
    expect(stderr).toContain('port 443 is taken by a program that only root can see');
  });
});
