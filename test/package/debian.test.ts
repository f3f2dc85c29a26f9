// The package and install.sh in a Debian that has nothing of ours, under its own systemd.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { describePeers } from '../peers/peers.ts';
import { root } from './bare-root.ts';
import { buildFile } from './built-file.ts';
import { CHECKOUT, DebianMachine } from './debian-machine.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 300_000 });

const SETUP =
  'rasket setup --yes --host mail.example.com --public-address 192.0.2.10 --https none --no-acme --team Office --email ada@example.org --domain example.com';
/** The settings for the test's network: its resolver, and the port and the private addresses of its mail servers. */
const NETWORK = `[dns]
servers = ["127.0.0.1:5353"]
[network]
mail_allow_private = ["127.0.0.0/8"]
dns_allow_private = ["127.0.0.0/8"]
[delivery]
smtp_port = 2526
[rate_limit]
requests_per_second = 1000
burst = 1000
`;
const isPossible = DebianMachine.isPossible();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-debian-'));
const at = (name: string): string => path.join(folder, name);
const read = (name: string): string => (fs.existsSync(at(name)) ? fs.readFileSync(at(name), 'utf8') : '');
const machine = new DebianMachine();

const typed = (line: string): string => {
  const ended = machine.type(line);
  expect(ended, `${line}\n${ended.stdout}${ended.stderr}`).toMatchObject({ status: 0 });
  return ended.stdout;
};
const buildPackage = (version: string): string => {
  const words = ['packaging/build-deb.ts', '--compress', 'none', '--version', version];
  const made = execFileSync(process.execPath, words, { cwd: root, encoding: 'utf8' }).trim();
  return `'${CHECKOUT}/dist/${path.basename(made)}'`;
};
const OLDER = '0.0.1';
const NEWER = '0.0.2';

describePeers('in a clean Debian,', ['systemd-nspawn', 'debian-root', 'pebble'], () => {
  let older = '';
  let newer = '';
  let key = '';

  beforeAll(async () => {
    if (!isPossible) return;
    buildFile();
    [older, newer] = [buildPackage(OLDER), buildPackage(NEWER)];
    await machine.start();
    machine.startNeighbour([process.execPath, 'test/install/neighbours.ts', folder]);
    await vi.waitFor(() => expect(read('ready')).not.toBe(''), { timeout: 60_000 });
  });
  afterAll(async () => {
    await machine.stop();
    for (const version of [OLDER, NEWER])
      for (const name of fs.globSync(path.join(root, `dist/rasket_${version}_*.deb`))) fs.rmSync(name);
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  const publish = async (records: string): Promise<void> => {
    fs.rmSync(at('zone-read'), { force: true });
    fs.writeFileSync(at('zone'), records);
    typed(`kill -HUP ${(JSON.parse(read('ready')) as { pid: number }).pid}`);
    await vi.waitFor(() => expect(fs.existsSync(at('zone-read'))).toBe(true));
  };
  const arrived = (): string[] => read('arrived').match(/^\S+@example\.org$/gm) ?? [];
  const health = (): string => typed('curl -sf http://127.0.0.1:3000/health');

  // runs only as root, where a machine of its own may be started
  describe.runIf(isPossible)('the package', () => {
    it('has its dependencies, creates account and folders, and starts nothing', () => {
      expect(machine.type('command -v node npm').stdout).toBe('');
      expect(typed(`dpkg -i ${older}`)).toContain('Next, as root: rasket setup');
      expect(typed('dpkg --audit')).toBe('');
      expect(typed('dpkg-query -W -f "\\${Conffiles}" rasket').trim()).toBe('');
      expect(typed('dpkg --verify rasket')).toBe('');
      expect(typed('stat -c "%a %U:%G %n" /etc/rasket /etc/rasket/rasket.toml /var/lib/rasket').split('\n')).toEqual([
        '750 root:rasket /etc/rasket',
        '640 root:rasket /etc/rasket/rasket.toml',
        '700 rasket:rasket /var/lib/rasket',
        '',
      ]);
      expect(typed('getent passwd rasket')).toMatch(/:\/var\/lib\/rasket:\/usr\/sbin\/nologin$/m);
      expect(machine.type('systemctl is-enabled rasket').stdout).toBe('disabled\n');
      expect(typed('rasket --version')).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{8}\n$/);
    });

    it('can be set up: the service runs as its own account, responds, and sends a first email', async () => {
      typed(`cat >>/etc/rasket/rasket.toml <<'TOML'\n${NETWORK}TOML`);
      const up = typed(SETUP);
      key = /^API key {2}(rk_\S+)$/m.exec(up)?.[1] ?? '';
      expect(up).toContain('The service is running: http://127.0.0.1:3000.');
      expect(health()).toContain('ok');
      const pid = typed('systemctl show -p MainPID --value rasket').trim();
      expect(typed(`ps -o user= -p ${pid}`).trim()).toBe('rasket');
      // The one capability that the unit gives: CAP_NET_BIND_SERVICE.
      expect(typed(`grep CapBnd /proc/${pid}/status`)).toMatch(/\t0*400\n$/);
      expect(typed('systemctl is-enabled rasket')).toBe('enabled\n');
      const records = /^; example\.com.*\n([^]*?)^Publish/m.exec(up)?.[1] ?? '';
      await publish(`mail.example.com.\tIN\tA\t192.0.2.10\n${records}`);
      typed(`RASKET_API_KEY=${key} rasket domains verify example.com`);
      typed(`${up.slice(up.indexOf('curl http')).trim()} -sf`);
      await vi.waitFor(() => expect(arrived()).toEqual(['ada@example.org']), { timeout: 60_000 });
      expect(read('arrived')).toMatch(/^DKIM-Signature:/m);
    });

    it('exports a team as the line of docs/data-protection.md, for the account of the service alone', () => {
      const page = fs.readFileSync(path.join(root, 'docs/data-protection.md'), 'utf8');
      const line = /^sudo (rasket teams export \S+ --to \S+)$/m.exec(page)?.[1] ?? '';
      const [folder = ''] = /\S+$/.exec(line) ?? [];
      expect(folder).toMatch(/^\/srv\//);
      typed(line.replace(/export \S+/, 'export office'));
      expect(typed(`stat -c "%a %U" ${folder}`)).toBe('700 rasket\n');
      const manifest = JSON.parse(typed(`cat ${folder}/manifest.json`)) as { faults: unknown[] };
      expect(manifest.faults).toEqual([]);
      typed(`test -s ${folder}/rows/emails.ndjson`);
      // The next run would mix with the former.
      expect(machine.type(line.replace(/export \S+/, 'export office')).status).not.toBe(0);
      expect(typed('rasket audit all --json')).toContain('"team.exported"');
    });

    it('is confined as its unit says, with an exposure of 2.0 or better', () => {
      typed('systemd-analyze security --threshold=20 --no-pager rasket.service');
    });

    it('can be upgraded under load: everything acknowledged arrives once, without a question', async () => {
      const before = typed('systemctl show -p MainPID --value rasket; cat /etc/rasket/rasket.toml').split('\n');
      const words = ['test/package/send-steadily.ts', 'http://127.0.0.1:3000', key, at('acknowledged')];
      const load = machine.startNeighbour([process.execPath, ...words]);
      const acknowledged = (): string[] => read('acknowledged').trim().split('\n');
      try {
        await vi.waitFor(() => expect(acknowledged().length).toBeGreaterThan(20), { timeout: 60_000 });
        expect(typed(`dpkg -i ${newer} </dev/null 2>&1`)).not.toContain('did not start');
        const count = acknowledged().length;
        await vi.waitFor(() => expect(acknowledged().length).toBeGreaterThan(count + 20), { timeout: 60_000 });
      } finally {
        const ended = once(load, 'exit');
        typed('pkill -TERM -f [s]end-steadily');
        expect((await ended)[0]).toBe(0);
      }
      const [pid, ...settings] = typed('systemctl show -p MainPID --value rasket; cat /etc/rasket/rasket.toml').split(
        '\n',
      );
      expect(settings).toEqual(before.slice(1));
      expect(pid).not.toBe(before[0]);
      expect(typed('dpkg-query -W -f "\\${Version}" rasket')).toBe(NEWER);
      const mail = (): string[] => arrived().filter((address) => address.startsWith('line'));
      await vi.waitFor(() => expect(mail().length).toBeGreaterThanOrEqual(acknowledged().length), { timeout: 60_000 });
      expect(mail().sort()).toEqual(acknowledged().sort());
    });

    it('can be removed and installed again: settings, mail and the running service are back', () => {
      typed('dpkg --remove rasket');
      expect(machine.type('systemctl is-active rasket').stdout).toBe('inactive\n');
      expect(machine.type('command -v rasket').stdout).toBe('');
      typed('test -s /etc/rasket/rasket.toml && test -s /var/lib/rasket/instance.key');
      typed(`dpkg -i ${newer}`);
      expect(health()).toContain('ok');
      expect(typed(`RASKET_API_KEY=${key} rasket emails list --json`)).toContain('@example.org');
      // A service that an administrator has stopped stays stopped at an upgrade.
      typed(`systemctl stop rasket && dpkg -i ${older}`);
      expect(machine.type('systemctl is-active rasket').stdout).toBe('inactive\n');
    });

    it('can be purged: settings are removed, and mail, keys and files of the administrator stay', () => {
      typed('touch /etc/rasket/environment /etc/rasket/office.key');
      const said = typed('dpkg --purge rasket');
      expect(said).toContain('Kept: files in /etc/rasket');
      expect(said).toContain('Kept: mail and keys in /var/lib/rasket');
      expect(typed('ls -A /etc/rasket')).toBe('office.key\n');
      typed('test -s /var/lib/rasket/instance.key && id rasket');
      expect(machine.type('ls -d /var/cache/rasket /etc/systemd/system/*.wants/rasket.service').stdout).toBe('');
    });

    it('can be purged after install.sh: its settings, its service and its account stay', () => {
      const unit = '/etc/systemd/system/rasket.service';
      const want = '/etc/systemd/system/multi-user.target.wants/rasket.service';
      typed(`dpkg -i ${newer} && dpkg --remove rasket`);
      typed(`mv /var/lib/rasket /var/lib/elsewhere && touch ${unit} && ln -s ${unit} ${want}`);
      expect(typed('dpkg --purge rasket')).toContain(`Kept: everything that ${unit} uses`);
      typed(`test -s /etc/rasket/rasket.toml && test -L ${want} && id rasket`);
      typed(`rm ${unit} ${want} && mv /var/lib/elsewhere /var/lib/rasket`);
    });

    it('leaves nothing when there was nothing to keep', () => {
      typed('mv /var/lib/rasket /var/lib/kept && rm -r /etc/rasket && userdel rasket');
      typed(`dpkg -i ${newer} && dpkg --purge rasket`);
      expect(machine.type('ls -d /etc/rasket /var/lib/rasket /usr/lib/rasket /usr/share/rasket').stdout).toBe('');
      expect(machine.type('id rasket').status).not.toBe(0);
      expect(typed('dpkg --audit')).toBe('');
    });
  });

  // runs only as root, where a machine of its own may be started
  describe.runIf(isPossible)('install.sh', () => {
    const INSTALL = `sh '${CHECKOUT}/install.sh' --file '${CHECKOUT}/dist/rasket'`;
    const OPEN = 'find /opt/rasket /srv/settings /usr/local /etc/systemd ! -type l -perm /o+w';
    const pid = (): string => typed('systemctl show -p MainPID --value rasket').trim();

    /** The same, with a signal behind the nth call of a tool; every tool comes before or behind what it is to interrupt. */
    const callOff = (signal: string, tool: string, nth: number) => {
      const shim = `/usr/bin/${tool} "$@" || exit; echo >>/srv/calls; [ $(wc -l </srv/calls) -ne ${nth} ] || kill -${signal} $PPID`;
      typed(`rm -rf /srv/tools /srv/calls; mkdir /srv/tools; cat >/srv/tools/${tool} <<'SH'\n#!/bin/sh\n${shim}\nSH
chmod 755 /srv/tools/${tool}`);
      return machine.type(`PATH=/srv/tools:$PATH ${INSTALL}`);
    };

    it('installs from a path with a space, under any umask, into a folder that is a link', () => {
      typed('mkdir /srv/settings && ln -s /srv/settings /etc/rasket');
      expect(typed(`umask 077; ${INSTALL}`)).toMatch(/^ {2}rasket setup$/m);
      expect(typed(SETUP)).toContain('The service is running: http://127.0.0.1:3000.');
      expect(typed('stat -c "%a %U:%G" /srv/settings /srv/settings/rasket.toml /var/lib/rasket').split('\n')).toEqual([
        '750 root:rasket',
        '640 root:rasket',
        '700 rasket:rasket',
        '',
      ]);
      const before = pid();
      expect(typed(`umask 000; ${INSTALL}`)).toContain('upgraded; the service is running again');
      expect(pid()).not.toBe(before);
      expect(health()).toContain('ok');
      expect(typed(OPEN)).toBe('');
      expect(typed('ls -A /opt')).toBe('rasket\n');
    });

    it('restarts the service and says so when it is interrupted while the service is stopped', () => {
      // The first interruption comes after the program was moved away, with none in place; the second after the new one was moved in.
      for (const [signal, tool, nth] of [
        ['INT', 'mv', 1],
        ['TERM', 'mv', 2],
      ] as const) {
        const ended = callOff(signal, tool, nth);
        expect(ended.stderr, `${signal} at ${tool} ${nth}`).toContain(
          'the service was stopped for the upgrade and is running again. Run install.sh again to complete the upgrade.',
        );
        expect(ended.status).not.toBe(0);
        expect(health()).toContain('ok');
      }
    });

    it('starts the service in its next run when it was killed while the service was stopped', () => {
      expect(callOff('KILL', 'mv', 1).status).not.toBe(0);
      expect(machine.type('systemctl is-active rasket').stdout).toBe('inactive\n');
      expect(typed(INSTALL)).toContain('upgraded; the service is running again');
      expect(health()).toContain('ok');
      expect(typed('ls -A /opt')).toBe('rasket\n');
    });

    it('refuses when the package is installed, and removes what it has installed', () => {
      typed('mkdir -p /usr/lib/systemd/system && touch /usr/lib/systemd/system/rasket.service');
      expect(machine.type(INSTALL).stderr).toContain('the Debian package rasket is installed: upgrade it with apt');
      typed('rm /usr/lib/systemd/system/rasket.service');
      expect(typed(`sh '${CHECKOUT}/install.sh' --uninstall`)).toContain('rasket is removed.');
      expect(typed('ls -A /opt; find /usr/local /etc/systemd -name "*rasket*"')).toBe('');
      typed('test -s /srv/settings/rasket.toml && test -s /var/lib/rasket/instance.key');
    });
  });
});
