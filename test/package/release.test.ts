// A whole release, up to publishing: made of a commit, served by a web server, installed from and compared with.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { KEYRING } from '../../packaging/apt-repository.ts';
import type { Manifest } from '../../bin/release/manifest.ts';
import { describePeers } from '../peers/peers.ts';
import { freePort } from '../rig/free-port.ts';
import { root } from './bare-root.ts';
import { DebianMachine } from './debian-machine.ts';
import { ReleaseCopy } from './release-copy.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 900_000 });

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-release-'));
const at = (name: string): string => path.join(folder, name);
const { version: number } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
const sha256 = (file: string): string => createHash('sha256').update(fs.readFileSync(file)).digest('hex');

describePeers('a release', ['git', 'ssh-keygen', 'gpg', 'dpkg-deb', 'systemd-nspawn', 'debian-root'], () => {
  let copy: ReleaseCopy;
  /** The folder of the finished release. */
  let made: string;
  let manifest: Manifest;
  const released = (name: string): string => path.join(made, name);
  const executable = (architecture: string = process.arch): string =>
    released(`rasket-${number}-linux-${architecture}`);
  const rasket = (...words: string[]) =>
    spawnSync(executable(), words, { env: { HOME: at('home') }, encoding: 'utf8' });
  const readManifest = (): Manifest => JSON.parse(fs.readFileSync(released('manifest.json'), 'utf8')) as Manifest;
  const sign = (): void => {
    fs.rmSync(released('manifest.json.sig'), { force: true });
    execFileSync('ssh-keygen', ['-Y', 'sign', '-f', at('key'), '-n', 'rasket-release', released('manifest.json')], {
      stdio: 'ignore',
    });
  };
  /** Replaces a file for the time of some work. */
  const withChanged = <T>(file: string, change: (bytes: Buffer) => Buffer, work: () => T): T => {
    fs.renameSync(file, `${file}.kept`);
    fs.writeFileSync(file, change(fs.readFileSync(`${file}.kept`)), { mode: 0o755 });
    try {
      return work();
    } finally {
      fs.renameSync(`${file}.kept`, file);
    }
  };
  const flipByte = (bytes: Buffer): Buffer => {
    const changed = Buffer.from(bytes);
    const place = changed.length - 1000;
    changed[place] = (changed[place] ?? 0) ^ 1;
    return changed;
  };

  beforeAll(() => {
    copy = new ReleaseCopy(folder);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at('key')]);
    const ended = copy.release({ RASKET_RELEASE_KEY: at('key'), RASKET_APT_KEY: copy.makeAptKey() });
    expect(ended, ended.stderr).toMatchObject({ status: 0, stderr: expect.not.stringContaining('NOT SIGNED') });
    made = ended.stdout.trim();
    manifest = readManifest();
  });
  afterAll(() => {
    copy.remove();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  it('consists of the files that its manifest and SHA256SUMS list, and leaves no work behind', () => {
    const commit = copy.git('rev-parse', 'HEAD');
    expect(manifest).toMatchObject({ product: 'rasket', version: `${number}+${commit.slice(0, 8)}`, commit });
    expect(manifest.files.map(({ kind, architecture }) => `${kind} ${architecture}`).sort()).toEqual([
      'changelog null',
      'debian arm64',
      'debian x64',
      'executable arm64',
      'executable x64',
      'installer null',
      'sbom null',
      'source null',
    ]);
    for (const { name, sha256: sum, size } of manifest.files) {
      expect(sha256(released(name)), name).toBe(sum);
      expect(fs.statSync(released(name)).size, name).toBe(size);
    }
    expect(spawnSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: made })).toMatchObject({ status: 0 });
    expect(fs.readdirSync(made).sort()).toEqual(
      [
        ...manifest.files.map(({ name }) => name),
        'SHA256SUMS',
        'apt',
        'manifest.json',
        'manifest.json.sig',
        'release.pub',
      ].sort(),
    );
    expect(fs.readdirSync(copy.at('dist'))).toEqual([`rasket-${number}`]);
    expect(fs.statSync(made).mode & 0o777).toBe(0o755);
  });

  it('has executables of both architectures, and the version of each names the commit', () => {
    expect(rasket('--version').stdout).toBe(`${manifest.version}\n`);
    // Bytes 18 and 19 of an ELF file name the machine.
    const readMachine = (file: string): number => fs.readFileSync(file).subarray(0, 20).readUInt16LE(18);
    expect(readMachine(executable('x64'))).toBe(62);
    expect(readMachine(executable('arm64'))).toBe(183);
  });

  it('has the source with the commit, and a bill of materials that names every package of the program', () => {
    const source = execFileSync('tar', [
      '-xzOf',
      released(`rasket-${number}-source.tar.gz`),
      `rasket-${number}/.commit`,
    ]);
    expect(source.toString()).toBe(`${manifest.commit}\n`);
    const sbom = JSON.parse(fs.readFileSync(released(`rasket-${number}.cdx.json`), 'utf8')) as {
      bomFormat: string;
      specVersion: string;
      components: { 'bom-ref': string; purl: string; hashes?: { alg: string; content: string }[] }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
    const refs = sbom.components.map((component) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    const { dependencies } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    for (const [name, version] of Object.entries(dependencies))
      expect(refs).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    expect(refs).toContain(`pkg:generic/node@${process.versions.node}`);
    expect(refs.join()).not.toContain('vitest');
    for (const { hashes } of sbom.components) for (const { alg } of hashes ?? []) expect(alg).toBe('SHA-512');
    const own = `pkg:generic/rasket@${encodeURIComponent(manifest.version)}`;
    for (const { ref, dependsOn } of sbom.dependencies)
      for (const one of [ref, ...dependsOn]) expect([own, ...refs]).toContain(one);
  });

  it('is refused without a dated section of the changelog, and with changes that are in no commit', () => {
    fs.appendFileSync(copy.at('README.md'), '\n');
    expect(copy.release()).toMatchObject({ status: 1, stderr: expect.stringContaining('M README.md') });
    const changelog = fs.readFileSync(copy.at('CHANGELOG.md'), 'utf8');
    fs.writeFileSync(copy.at('CHANGELOG.md'), changelog.replace(/^## 0\..*$/m, '## Unreleased'));
    copy.commit('No date');
    expect(copy.release()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`CHANGELOG.md has no dated section for ${number}`),
    });
    copy.git('reset', '--quiet', '--hard', manifest.commit);
  });

  describe('rasket upgrade', () => {
    it('confirms that the running executable is the released one, with the key that it contains', () => {
      expect(rasket('upgrade', '--check', '--from', released('manifest.json'))).toMatchObject({
        status: 0,
        stderr: '',
        stdout: expect.stringContaining(`This is ${manifest.version}, the release of ${manifest.date}.`),
      });
    });

    it('refuses an executable of which a byte was changed', () => {
      const check = () => rasket('upgrade', '--check', '--from', released('manifest.json'));
      const ended = withChanged(executable(), flipByte, check);
      expect(ended).toMatchObject({
        status: 65,
        stderr: expect.stringContaining('it was changed after it was released'),
      });
    });

    it('refuses a manifest that was changed, and one that somebody else signed', () => {
      const check = (...more: string[]) => rasket('upgrade', '--check', '--from', released('manifest.json'), ...more);
      expect(
        withChanged(released('manifest.json'), (bytes) => Buffer.concat([bytes, Buffer.from(' ')]), check),
      ).toMatchObject({
        status: 65,
        stderr: expect.stringContaining('the content was changed after it was signed'),
      });
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at('other')]);
      expect(check('--key', at('other.pub'))).toMatchObject({
        status: 65,
        stderr: expect.stringContaining('it is signed with another key'),
      });
    });

    it('shows what a newer release brings, and downloads and verifies it from a web server', async () => {
      const port = await freePort();
      const server = spawn(process.execPath, ['test/package/serve-folder.ts', made, `${port}`], { cwd: root });
      const url = `http://127.0.0.1:${port}/manifest.json`;
      const before = ['manifest.json', 'manifest.json.sig', 'CHANGELOG.md'].map(
        (name) => [name, fs.readFileSync(released(name))] as const,
      );
      try {
        const text = `## 9.0.0 - 2027-01-01\n\n- Mail arrives before it is sent.\n\n${before[2]?.[1].toString()}`;
        fs.writeFileSync(released('CHANGELOG.md'), text);
        const files = manifest.files.map((file) =>
          file.kind === 'changelog' ? { ...file, sha256: sha256(released('CHANGELOG.md')) } : file,
        );
        const next = { ...manifest, version: '9.0.0+0badcafe', date: '2027-01-01', files };
        fs.writeFileSync(released('manifest.json'), JSON.stringify(next, undefined, 2));
        sign();
        await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200));
        const told = rasket('upgrade', '--check', '--from', url);
        expect(told, told.stderr).toMatchObject({ status: 0 });
        expect(told.stdout).toContain(`9.0.0+0badcafe of 2027-01-01 is available; this is ${manifest.version}.`);
        expect(told.stdout).toContain('- Mail arrives before it is sent.');
        expect(told.stdout).not.toContain('Resend');

        const fetched = rasket('upgrade', '--download', at('fetched'), '--from', url);
        expect(fetched, fetched.stderr).toMatchObject({ status: 0 });
        const [, line = ''] = /sudo (sh .*)$/m.exec(fetched.stdout) ?? [];
        const key = ['--key', released('release.pub')].join(' ');
        execFileSync('sh', ['-c', `${line} ${key} --destdir ${at('stage')}`], { stdio: 'ignore' });
        expect(sha256(at('stage/opt/rasket/bin/rasket'))).toBe(sha256(executable()));
        expect(fs.readFileSync(at('stage/opt/rasket/release.pub'), 'utf8')).toBe(
          fs.readFileSync(released('release.pub'), 'utf8'),
        );

        fs.copyFileSync(executable(), at('rasket'));
        const changed = withChanged(executable(), flipByte, () =>
          spawnSync(at('rasket'), ['upgrade', '--download', at('refused'), '--from', url], {
            env: { HOME: at('home') },
            encoding: 'utf8',
          }),
        );
        expect(changed).toMatchObject({
          status: 65,
          stderr: expect.stringContaining('is not the file that the manifest lists'),
        });
        expect(fs.readdirSync(at('refused'))).toEqual([]);
      } finally {
        for (const [name, bytes] of before) fs.writeFileSync(released(name), bytes);
        await end(server);
      }
    });

    it('says what is missing where no release and no key are known', () => {
      expect(rasket('upgrade')).toMatchObject({ status: 64, stderr: expect.stringContaining('--check') });
      expect(rasket('upgrade', '--check')).toMatchObject({
        status: 64,
        stderr: expect.stringContaining('upgrade.url'),
      });
      expect(rasket('upgrade', '--check', '--from', at('nothing'))).toMatchObject({
        status: 66,
        stderr: expect.stringContaining('does not exist'),
      });
    });
  });

  // runs only as root, where a machine of its own may be started
  describe.runIf(DebianMachine.isPossible())('in a clean Debian', () => {
    const machine = new DebianMachine();
    const typed = (line: string): string => {
      const ended = machine.type(line);
      expect(ended, `${line}\n${ended.stdout}${ended.stderr}`).toMatchObject({ status: 0 });
      return ended.stdout;
    };
    const HOST = 'http://127.0.0.1:8080';
    const SOURCE = `deb [signed-by=/etc/apt/keyrings/${KEYRING}] ${HOST}/apt stable main`;
    const APT = 'apt-get -q -o Dir::Etc::sourceparts=/nowhere -o Dir::Etc::sourcelist=/etc/apt/rasket.list';

    beforeAll(async () => {
      await machine.start();
      machine.startNeighbour([process.execPath, path.join(root, 'test/package/serve-folder.ts'), made, '8080']);
      await vi.waitFor(() => typed(`curl -sfo /srv/install.sh ${HOST}/install.sh`));
    });
    afterAll(() => machine.stop());

    it('apt installs the package from the signed repository, and refuses the repository under another key', () => {
      typed(`mkdir -p /etc/apt/keyrings && curl -sfo /etc/apt/keyrings/${KEYRING} ${HOST}/apt/${KEYRING}`);
      typed(`echo '${SOURCE}' >/etc/apt/rasket.list && ${APT} update`);
      typed(`DEBIAN_FRONTEND=noninteractive ${APT} install --yes rasket`);
      expect(typed('rasket --version')).toBe(`${manifest.version}\n`);
      expect(machine.type('sh /srv/install.sh --uninstall')).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining('apt remove rasket'),
      });
      typed('apt-get -q remove --yes rasket');
      typed(
        `cp /usr/share/keyrings/debian-archive-keyring.gpg /etc/apt/keyrings/${KEYRING}; rm -r /var/lib/apt/lists/*`,
      );
      expect(machine.type(`${APT} update && ${APT} install --yes rasket`).status).not.toBe(0);
    });

    it('the script and the executable alone install the service', () => {
      typed(`curl -sfo /srv/rasket ${HOST}/${path.basename(executable())}`);
      expect(machine.type('sh /srv/install.sh --file /srv/rasket').stderr).toContain('chmod +x /srv/rasket');
      typed('chmod +x /srv/rasket');
      expect(typed('sh /srv/install.sh --file /srv/rasket --dry-run')).toContain(`(${manifest.version})`);
      expect(typed('sh /srv/install.sh --file /srv/rasket')).toContain('rasket setup');
      expect(typed('rasket --version')).toBe(`${manifest.version}\n`);
      typed('systemctl cat rasket.service && test -s /usr/local/share/man/man1/rasket.1');
      expect(typed(`rasket upgrade --check --from ${HOST}/manifest.json`)).toContain('the one that was released');
      typed('sh /srv/install.sh --uninstall');
    });
  });
});

async function end(server: ChildProcess): Promise<void> {
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}
