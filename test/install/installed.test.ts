import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Machine } from './machine.ts';

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 });

const machine = new Machine();
const typed = (line: string, input = '') => {
  const ended = machine.type(line, input);
  expect(ended, `${line}: ${ended.stderr}${ended.stdout}`).toMatchObject({ status: 0 });
  return ended;
};

const isPossible = Machine.isPossible();
beforeAll(() => (isPossible ? machine.start() : undefined));
afterAll(() => machine.stop());

// runs only as root, because it makes a machine of its own
describe.runIf(isPossible)('before anything is installed,', () => {
  it('operator commands find the development server of the current checkout', async () => {
    typed('cd /opt/rasket && { bin/rasket dev >/var/lib/dev.log 2>&1 & echo $! >/var/lib/dev.pid; }');
    const ready = '/opt/rasket/.rasket/run/ready.json';
    await vi.waitFor(() => expect(machine.has(ready)).toBe(true), { timeout: 120_000 });
    for (const at of ['/opt/rasket', '/opt/rasket/src']) {
      expect(typed(`cd ${at} && /opt/rasket/bin/rasket teams list`).stdout.trim().split('\n')).toHaveLength(2);
    }
    const elsewhere = machine.type('cd / && /opt/rasket/bin/rasket teams list');
    expect(elsewhere).toMatchObject({ status: 1, stderr: expect.stringContaining('/data is not a data folder') });
    typed(`kill $(cat /var/lib/dev.pid)`);
    // The last that goes is the database's journal.
    const left = [ready, '/opt/rasket/.rasket/rasket.db-wal'];
    await vi.waitFor(() => expect(left.filter((file) => machine.has(file))).toEqual([]), { timeout: 120_000 });
    typed('rm -rf /opt/rasket/.rasket');
  });
});

// runs only as root, because it makes a machine of its own
describe.runIf(isPossible)('with an installed Debian package,', () => {
  it('install.sh --uninstall refuses and removes nothing, also with --dry-run', () => {
    typed('mkdir -p /usr/lib/systemd/system && mount -t tmpfs tmpfs /usr/lib/systemd/system');
    typed('touch /usr/lib/systemd/system/rasket.service /usr/local/bin/rasket');
    for (const more of ['', ' --dry-run']) {
      const refused = machine.type(`sh /opt/rasket/install.sh --uninstall${more}`);
      expect(refused).toMatchObject({ status: 1, stdout: '' });
      expect(refused.stderr).toMatch(
        /the Debian package rasket is installed, and this script cannot remove it: apt remove/,
      );
    }
    typed('test -e /usr/local/bin/rasket && test -e /opt/rasket/bin/rasket');
    typed('rm /usr/local/bin/rasket && umount /usr/lib/systemd/system');
  });
});

// runs only as root, because it makes an account
describe.runIf(isPossible)('the installation made by install.sh', () => {
  let said = '';
  let key = '';
  beforeAll(() => {
    const installed = machine.type('sh /opt/rasket/install.sh');
    expect(installed, installed.stderr).toMatchObject({ status: 0, stderr: '' });
    said = installed.stdout;
    // From here on the machine has a systemd.
    typed('mkdir -p /run/systemd/system');
  });
  const strangers = (): string => machine.type('find /var/lib/rasket ! -user rasket -o ! -group rasket').stdout;

  it('names the next command, and requires the name of the machine before a start', async () => {
    expect(said).toMatch(/^ {2}rasket setup$/m);
    const refused = machine.type('rasket config check');
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^rasket: instance\.host is "localhost", the default, .*host = "mail\.example\.com" under \[instance\] in \/etc\/rasket\/rasket\.toml\n$/,
    );
  });

  it('is set up by rasket setup, with its first domain', async () => {
    const words = '--yes --host mail.example.com --public-address 192.0.2.10 --https none --no-acme';
    const up = typed(`rasket setup ${words} --domain example.com --email ada@example.com`).stdout;
    key = /^API key {2}(rk_\S+)$/m.exec(up)?.[1] ?? '';
    expect(key).not.toBe('');
    expect(typed('rasket config check').stdout).toBe('/etc/rasket/rasket.toml is valid.\n');
    expect(typed('rasket config show').stdout).toContain('host = "mail.example.com"  # from the file\n');
    expect(typed('stat -c "%a %U %G" /etc/rasket/rasket.toml').stdout).toBe('640 root rasket\n');
    // The setting comes after the line that shows how it is written.
    expect(typed('cat /etc/rasket/rasket.toml').stdout).toMatch(
      /^# host = "mail\.example\.com"\nhost = "mail\.example\.com"$/m,
    );
    expect(up).toContain('v=spf1 a:mail.example.com ~all');
    // Its account could not have made the build that it runs from.
    const server = 'pgrep -u rasket -f main';
    expect(typed(`tr '\\0' ' ' </proc/$(${server})/cmdline`).stdout).toMatch(
      /\/opt\/rasket\/\.cache\/build\/\w{64}\/main\.js serve/,
    );
    expect(strangers()).toBe('');
    // The last line is the first email, as it can be typed: nobody has published the records yet.
    const email = up.slice(up.indexOf('curl http'));
    expect(typed(`${email.trim()} -s -o /dev/null -w '%{http_code}'`).stdout).toMatch(/^(200|403)$/);
  });

  it('tells a service that may not read its settings the command to fix it, and not sudo', () => {
    typed('chgrp root /etc/rasket/rasket.toml');
    const refused = machine.type('setpriv --reuid=rasket --regid=rasket --clear-groups rasket serve');
    typed('chgrp rasket /etc/rasket/rasket.toml');
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^rasket: \/etc\/rasket\/rasket\.toml cannot be read by the account of the service; .* as root: chgrp \d+ .* chmod 640 [^\n]*\n$/,
    );
  });

  it('is examined by root, no further by others, and with the key of its team', () => {
    const portsMissing = {
      status: 1,
      stdout: expect.stringMatching(/port_not_open.*port 25 needs root or CAP_NET_BIND_SERVICE/),
    };
    const keyless = machine.type('rasket doctor');
    expect(keyless).toMatchObject(portsMissing);
    expect(keyless.stdout).toMatch(/^This machine +\/var\/lib\/rasket, /m);
    expect(keyless.stdout).toContain('Not checked, without a key');
    const anybody = machine.type('HOME=/nowhere setpriv --reuid=65534 --regid=65534 --clear-groups rasket doctor');
    expect(anybody, anybody.stderr).toMatchObject({
      status: 77,
      stdout: expect.stringContaining('sudo rasket doctor'),
    });
    expect(anybody.stdout).toMatch(/port_not_open/);
    expect(typed('rasket login --api-key', `${key}\n`).stdout).toMatch(/is stored in/);
    // Nothing gave its account the capability that the unit gives.
    expect(machine.type('rasket doctor')).toMatchObject(portsMissing);
    // Nobody has published anything, which is said of this very domain.
    const pending = { status: 1, stdout: expect.stringContaining('pending') };
    expect(machine.type('rasket domains verify example.com')).toMatchObject(pending);
  });

  it('is not changed by a second setup', () => {
    const before = typed('cat /etc/rasket/rasket.toml; cat /var/lib/rasket/pid').stdout;
    const again = typed('rasket setup --yes --public-address 192.0.2.10').stdout;
    expect(again).toContain('Everything was set up already; nothing was changed.');
    expect(again).not.toMatch(/^API key {2}rk_/m);
    expect(typed('cat /etc/rasket/rasket.toml; cat /var/lib/rasket/pid').stdout).toBe(before);
    expect(strangers()).toBe('');
  });

  it('is restarted when a setting has changed', () => {
    const before = typed('cat /var/lib/rasket/pid').stdout;
    const moved = typed('rasket setup --yes --public-address 192.0.2.10 --api-port 3100').stdout;
    expect(moved).toContain('The service is running: http://127.0.0.1:3100.');
    expect(typed('cat /var/lib/rasket/pid').stdout).not.toBe(before);
    expect(typed('curl -s http://127.0.0.1:3100/health').stdout).toContain('ok');
    // This is the state after a call that was broken off between the settings and the restart.
    typed(`sed -i 's/^port = 3100$/port = 3000/' /etc/rasket/rasket.toml`);
    const late = typed('rasket setup --yes --public-address 192.0.2.10').stdout;
    expect(late).toContain('already has all of this; it is not changed.');
    expect(late).toContain('The service is running: http://127.0.0.1:3000.');
  });

  it('lets operator commands find it from any folder', () => {
    for (const where of ['/', '/tmp']) expect(typed(`cd ${where} && rasket teams list`).stdout).toMatch(/\tmy-team\t/);
    expect(typed("rasket sending off --reason 'Moving'").stdout).toBe('Sending is off: Moving.\n');
    const mail = 'rasket send --from a@example.com --to b@example.org --subject Hello --text Hello';
    expect(machine.type(mail).stderr).toContain('Moving');
    expect(typed('rasket sending on').stdout).toBe('Sending is on.\n');
    typed('rasket teams create Marketing && rasket init --team Second && rasket migrate');
    expect(strangers()).toBe('');
  });

  it('uses the variables of the service’s environment as well', () => {
    typed('echo RASKET_LOG_LEVEL=warn >/etc/rasket/environment && chmod 600 /etc/rasket/environment');
    expect(typed('rasket config show').stdout).toContain('level = "warn"  # from the environment, RASKET_LOG_LEVEL\n');
    expect(typed('RASKET_LOG_LEVEL=debug rasket config show').stdout).toContain('level = "debug"  # from the env');
    typed('rm /etc/rasket/environment');
  });

  it('is overridden by explicit options', () => {
    typed('rasket init --data /var/lib/other --json');
    const settings = '[instance]\\nhost = "other.example.net"\\n';
    typed(`printf '${settings}' >/etc/other.toml`);
    expect(typed('rasket teams list --data /var/lib/other').stdout.trim().split('\n')).toHaveLength(2);
    expect(typed('RASKET_DATA=/var/lib/other rasket teams list').stdout.trim().split('\n')).toHaveLength(2);
    expect(typed('rasket teams list').stdout.trim().split('\n')).toHaveLength(4);
    expect(typed('rasket config show --config /etc/other.toml').stdout).toContain('host = "other.example.net"');
    expect(typed('RASKET_CONFIG=/etc/other.toml rasket config show').stdout).toContain('host = "other.example.net"');
    // The settings of an installation are those of its own data folder.
    expect(typed('RASKET_DATA=/var/lib/other rasket config show').stdout).toContain('host = "localhost"\n');
  });

  it('is not readable for everybody', () => {
    const refused = machine.type('setpriv --reuid=65534 --regid=65534 --clear-groups rasket teams list');
    expect(refused).toMatchObject({
      status: 1,
      stdout: '',
      stderr:
        'rasket: /etc/rasket/rasket.toml can only be read by root and the account of the service; run this command with sudo\n',
    });
  });

  it('has no files of root after an upgrade, which builds nothing again when no source has changed', () => {
    expect(typed('sh /opt/rasket/install.sh').stdout).toMatch(/^The database is up to date\.$/m);
    expect(strangers()).toBe('');
    // The first is that of the try-out above.
    expect(typed('ls /opt/rasket/.cache/build').stdout).toMatch(/^\w{64}\n$/);
  });

  it('cannot be blocked by another account, because only root can open its lock', () => {
    const nobody = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
    const upgraded = machine.type(
      `${nobody} flock -F /opt sleep 9999 & held=$!; until ! flock -n /opt true; do :; done; sh /opt/rasket/install.sh; ended=$?; kill $held; exit $ended`,
    );
    expect(upgraded, upgraded.stderr).toMatchObject({ status: 0 });
    expect(machine.type(`${nobody} flock -n /run/rasket-install.lock true`).stderr).toContain('Permission denied');
  });
});
