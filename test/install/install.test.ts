import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCommit } from '../../src/program-files/index.ts';
import { scaled } from '../rig/scale.ts';
import { root } from './tree.ts';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-stage-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const install = (...args: string[]) =>
  spawnSync('/bin/sh', [path.join(root, 'install.sh'), ...args], { encoding: 'utf8', cwd: folder });
/** Answers as the executable does, which takes half a minute to build. */
const ONE_FILE = `#!/bin/sh
case $# in
  2) cd '${root}' && cp -R systemd config docs monitoring LICENSE README.md CHANGELOG.md install.sh "$2" ;;
  *) [ "$1" = --unpack ] && echo systemd/rasket.service || echo 0.0.0 ;;
esac
`;
function oneFile(): string {
  const file = path.join(folder, 'one-file');
  fs.writeFileSync(file, ONE_FILE, { mode: 0o755 });
  return file;
}
const read = (file: string): string => fs.readFileSync(path.join(folder, file), 'utf8');
const readMode = (file: string): number => fs.statSync(path.join(folder, file)).mode & 0o777;

describe('install.sh --destdir', () => {
  it('creates program, settings, data folder, unit and link, and nothing else', () => {
    const { status, stderr } = install('--destdir', folder);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(fs.readdirSync(folder).sort()).toEqual(['etc', 'opt', 'usr', 'var']);
    expect(fs.readdirSync(path.join(folder, 'opt'))).toEqual(['rasket']);
    expect(fs.readlinkSync(path.join(folder, 'usr/local/bin/rasket'))).toBe('/opt/rasket/bin/rasket');
    expect(readMode('var/lib/rasket')).toBe(0o700);
    expect(readMode('etc/rasket/rasket.toml')).toBe(0o640);
    expect(readMode('opt/rasket/bin/rasket')).toBe(0o755);
    expect(read('etc/systemd/system/rasket.service')).toContain('ExecStart=/opt/rasket/bin/rasket serve\n');
    // A core file holds the keys.
    expect(read('etc/systemd/system/rasket.service')).toMatch(/^LimitCORE=0$/m);
    const shipped = fs.readdirSync(path.join(folder, 'opt/rasket'), { recursive: true, encoding: 'utf8' });
    expect(shipped).toContain('config/default.toml');
    for (const file of fs.readdirSync(path.join(root, 'monitoring'))) expect(shipped).toContain(`monitoring/${file}`);
    expect(shipped.filter((file) => /\.test\.tsx?$|^(test|node_modules|\.git)(\/|$)/.test(file))).toEqual([]);
  });

  it('keeps the settings and data of an earlier installation, and replaces its program', () => {
    install('--destdir', folder);
    fs.writeFileSync(path.join(folder, 'etc/rasket/rasket.toml'), '# mine\n');
    fs.writeFileSync(path.join(folder, 'var/lib/rasket/rasket.db'), 'mail');
    fs.writeFileSync(path.join(folder, 'opt/rasket/gone.ts'), '');
    expect(install('--destdir', folder).status).toBe(0);
    expect(read('etc/rasket/rasket.toml')).toBe('# mine\n');
    expect(read('var/lib/rasket/rasket.db')).toBe('mail');
    expect(fs.existsSync(path.join(folder, 'opt/rasket/gone.ts'))).toBe(false);
  });

  it('syncs the new program to disk before it replaces the earlier one', () => {
    const tools = path.join(folder, 'tools');
    fs.mkdirSync(tools);
    const calls = path.join(folder, 'calls');
    for (const tool of ['sync', 'mv'])
      fs.writeFileSync(path.join(tools, tool), `#!/bin/sh\necho "${tool} $*" >>${calls}\nexec /bin/${tool} "$@"\n`, {
        mode: 0o755,
      });
    const env = { PATH: `${tools}:${process.env['PATH']}` };
    const words = [path.join(root, 'install.sh'), '--destdir', folder, '--file', oneFile()];
    for (let time = 0; time < 2; time++) expect(spawnSync('/bin/sh', words, { env }).status).toBe(0);
    const program = path.join(folder, 'opt/rasket');
    const synced = `sync -f ${program}.new`;
    const replaced = `mv ${program}.new ${program}`;
    expect(fs.readFileSync(calls, 'utf8').trim().split('\n')).toEqual([
      synced,
      replaced,
      synced,
      `mv ${program} ${program}.previous`,
      replaced,
    ]);
  });

  it('finds its own folder with a CDPATH of the caller', () => {
    const lure = path.join(folder, 'lure');
    fs.mkdirSync(path.join(lure, 'rasket'), { recursive: true });
    fs.symlinkSync(root, path.join(folder, 'rasket'));
    const env = { ...process.env, CDPATH: lure };
    const words = ['rasket/install.sh', '--destdir', path.join(folder, 'stage'), '--file', oneFile()];
    expect(spawnSync('/bin/sh', words, { encoding: 'utf8', cwd: folder, env })).toMatchObject({
      status: 0,
      stderr: '',
    });
  });

  it('installs a single file, and can be run again after an interruption at any step', () => {
    const file = oneFile();
    const at = (name: string): string => path.join(folder, name);
    const readTree = (name: string): string[] => fs.readdirSync(at(name), { recursive: true, encoding: 'utf8' }).sort();
    expect(install('--destdir', at('whole'), '--file', file)).toMatchObject({ status: 0, stderr: '' });
    expect(fs.readFileSync(at('whole/opt/rasket/bin/rasket'), 'utf8')).toBe(ONE_FILE);
    for (const name of ['systemd/rasket.service', 'config/default.toml', 'docs/installing.md'])
      expect(fs.existsSync(at(`whole/opt/rasket/${name}`)), name).toBe(true);
    expect(fs.existsSync(at('whole/opt/rasket/src'))).toBe(false);

    // The shell is killed in place of the nth program that it starts: of every third, and with RASKET_TEST_SCALE of each.
    const tools = ['cat', 'chmod', 'cp', 'find', 'ln', 'mkdir', 'mv', 'rm', 'sed', 'sh'];
    fs.mkdirSync(at('tools'));
    for (const tool of tools) {
      const real = ['/bin', '/usr/bin'].map((bin) => path.join(bin, tool)).find((one) => fs.existsSync(one)) ?? tool;
      const count = `echo >>"$COUNT"; [ "$(/usr/bin/wc -l <"$COUNT")" -ne "$AT" ] || { kill -9 $PPID; exit 1; }`;
      fs.writeFileSync(at(`tools/${tool}`), `#!/bin/sh\n${count}\nexec ${real} "$@"\n`, { mode: 0o755 });
    }
    const installUntil = (step: number, target: string) => {
      fs.rmSync(at('count'), { force: true });
      const env = { PATH: `${at('tools')}:${process.env['PATH']}`, COUNT: at('count'), AT: String(step) };
      const words = [path.join(root, 'install.sh'), '--destdir', at(target), '--file', file];
      return spawnSync('/bin/sh', words, { env, cwd: folder });
    };
    expect(installUntil(0, 'counted').status).toBe(0);
    const programs = fs.readFileSync(at('count'), 'utf8').length;
    let broken = 0;
    const stride = scaled(1) > 1 ? 1 : 3;
    for (let step = 1; step < 60; step += stride) {
      const { signal } = installUntil(step, 'target');
      if (signal === null) break;
      broken += 1;
      expect(install('--destdir', at('target'), '--file', file), `after step ${step}`).toMatchObject({
        status: 0,
        stderr: '',
      });
      expect(readTree('target'), `after step ${step}`).toEqual(readTree('whole'));
      if (step % 2 === 0) fs.rmSync(at('target'), { recursive: true });
    }
    expect(broken).toBeGreaterThanOrEqual(Math.floor(programs / stride));
  });

  it.each(['rasket.new/notes', 'rasket.previous/bin/rasket', 'rasket.previous/.git/HEAD', 'rasket.stopped'])(
    'does not touch %s of somebody else, and says so before it changes anything',
    (precious) => {
      const words = ['--destdir', folder, '--file', oneFile()];
      expect(install(...words).status).toBe(0);
      const file = path.join(folder, 'opt', precious);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, 'precious');
      const at = path.join(folder, 'opt', precious.split('/')[0] ?? '');
      expect(install(...words)).toMatchObject({
        status: 1,
        stderr: `install.sh: ${at} is in the way and was not made by this script; move it to another place first.\n`,
      });
      expect(fs.existsSync(path.join(folder, 'opt/rasket/bin/rasket'))).toBe(true);
      expect(install('--destdir', folder, '--uninstall')).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(`${at} was not made by this script and was left in place.`),
      });
      expect(fs.readFileSync(file, 'utf8')).toBe('precious');
      expect(fs.existsSync(path.join(folder, 'opt/rasket'))).toBe(false);
    },
  );

  it('does not take a copy of the program that somebody keeps for its own', () => {
    const words = ['--destdir', folder, '--file', oneFile()];
    for (let time = 0; time < 2; time++) expect(install(...words).status).toBe(0);
    fs.cpSync(path.join(folder, 'opt/rasket'), path.join(folder, 'opt/rasket.previous'), { recursive: true });
    expect(install(...words)).toMatchObject({ status: 1, stderr: expect.stringContaining('is in the way') });
    fs.renameSync(path.join(folder, 'opt/rasket'), path.join(folder, 'opt/elsewhere'));
    expect(install(...words)).toMatchObject({ status: 1, stderr: expect.stringContaining('is in the way') });
    expect(fs.readdirSync(path.join(folder, 'opt')).sort()).toEqual(['elsewhere', 'rasket.previous']);
  });

  it('prints its steps and does nothing with --dry-run, and explains itself with --help', () => {
    expect(install('--destdir', folder, '--dry-run')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('would install'),
    });
    expect(install('--destdir', folder, '--dry-run', '--uninstall').stdout).toContain('would stay');
    expect(install('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('--file FILE') });
    expect(install('--file', path.join(folder, 'nothing'))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('not an executable file'),
    });
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it('reports with --dry-run everything that would make the installation fail', () => {
    const alone = path.join(folder, 'alone');
    fs.mkdirSync(alone);
    fs.copyFileSync(path.join(root, 'install.sh'), path.join(alone, 'install.sh'));
    const stage = path.join(folder, 'stage');
    const from = (script: string, ...args: string[]) =>
      spawnSync('/bin/sh', [script, '--destdir', stage, ...args], { encoding: 'utf8', cwd: folder });
    const broken = path.join(folder, 'broken');
    fs.writeFileSync(broken, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const old = path.join(folder, 'old');
    fs.writeFileSync(old, '#!/bin/sh\n[ "$1" = --version ] && echo 0.0.0\n', { mode: 0o755 });
    const own = path.join(root, 'install.sh');
    const faults: [string[], RegExp][] = [
      [[path.join(alone, 'install.sh')], /is not a copy of rasket: bin\/rasket is missing\. Install the executable/],
      [[path.join(alone, 'install.sh'), '--file', old], /old does not contain the files of an installation/],
      [[own, '--file', broken], /broken does not start on this machine/],
    ];
    for (const [[script = '', ...args], says] of faults)
      for (const more of [['--dry-run'], []]) {
        const ended = from(script, ...args, ...more);
        expect(ended).toMatchObject({ status: 1, stdout: '' });
        expect(ended.stderr).toMatch(says);
      }
    fs.mkdirSync(path.join(stage, 'opt/rasket'), { recursive: true });
    fs.writeFileSync(path.join(stage, 'opt/rasket/mine'), '');
    for (const more of [['--dry-run'], []])
      expect(from(own, '--file', oneFile(), ...more).stderr).toMatch(/contains other files, which would be removed/);
  });

  it('installs an executable with the script alone, and again with the copy of the script beside the program', () => {
    const alone = path.join(folder, 'alone');
    fs.mkdirSync(alone);
    fs.copyFileSync(path.join(root, 'install.sh'), path.join(alone, 'install.sh'));
    const stage = path.join(folder, 'stage');
    const program = path.join(stage, 'opt/rasket');
    for (const script of [path.join(alone, 'install.sh'), path.join(program, 'install.sh')]) {
      const words = [script, '--destdir', stage, '--file', oneFile()];
      expect(spawnSync('/bin/sh', [...words, '--dry-run'], { encoding: 'utf8' })).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('(0.0.0)'),
      });
      expect(spawnSync('/bin/sh', words, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
      expect(read('stage/etc/systemd/system/rasket.service')).toContain('ExecStart=/opt/rasket/bin/rasket serve\n');
      expect(fs.existsSync(path.join(program, 'docs/installing.md'))).toBe(true);
    }
  });

  it('notes the commit of the checkout beside the copy, whose version names it', () => {
    expect(install('--destdir', folder).status).toBe(0);
    expect(read('opt/rasket/.commit').trim()).toBe(readCommit(root));
    expect(readCommit(path.join(folder, 'opt/rasket'))).toBe(readCommit(root));
  });

  describe('with --manifest', () => {
    const at = (name: string): string => path.join(folder, name);
    const keygen = (...words: string[]): string =>
      execFileSync('ssh-keygen', words, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
    const install = (...more: string[]) =>
      spawnSync(
        '/bin/sh',
        [path.join(root, 'install.sh'), '--destdir', at('stage'), '--manifest', at('manifest.json'), ...more],
        { encoding: 'utf8' },
      );

    beforeEach(() => {
      const file = oneFile();
      const sum = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
      fs.writeFileSync(at('manifest.json'), JSON.stringify({ files: [{ name: 'rasket', sha256: sum }] }, undefined, 2));
      for (const name of ['release', 'other']) keygen('-q', '-t', 'ed25519', '-N', '', '-f', at(name));
      keygen('-Y', 'sign', '-f', at('release'), '-n', 'rasket-release', at('manifest.json'));
    });

    it('installs an executable that the signed manifest of its release lists', () => {
      expect(install('--file', at('one-file'), '--key', at('release.pub'))).toMatchObject({ status: 0, stderr: '' });
      // The next release is verified with the key that the installed program carries.
      fs.copyFileSync(at('release.pub'), at('stage/opt/rasket/release.pub'));
      expect(install('--file', at('one-file'))).toMatchObject({ status: 0, stderr: '' });
    });

    it.each([
      {
        fault: 'a byte of the executable was changed',
        make: () => fs.appendFileSync(at('one-file'), ' '),
        says: 'is not a file of the release',
      },
      {
        fault: 'the manifest was changed after it was signed',
        make: () => fs.appendFileSync(at('manifest.json'), ' '),
        says: 'is not signed with the key',
      },
      {
        fault: 'somebody else signed the manifest',
        make: () => {
          fs.rmSync(at('manifest.json.sig'));
          keygen('-Y', 'sign', '-f', at('other'), '-n', 'rasket-release', at('manifest.json'));
        },
        says: 'is not signed with the key',
      },
      {
        fault: 'the signature is for another purpose',
        make: () => {
          fs.rmSync(at('manifest.json.sig'));
          keygen('-Y', 'sign', '-f', at('release'), '-n', 'file', at('manifest.json'));
        },
        says: 'is not signed with the key',
      },
      {
        fault: 'there is no signature',
        make: () => fs.rmSync(at('manifest.json.sig')),
        says: 'manifest.json.sig is missing',
      },
    ])('runs and installs nothing if $fault', ({ make, says }) => {
      fs.writeFileSync(at('one-file'), `#!/bin/sh\n: >'${at('was-run')}'\n`);
      const sum = createHash('sha256')
        .update(fs.readFileSync(at('one-file')))
        .digest('hex');
      fs.writeFileSync(at('manifest.json'), JSON.stringify({ files: [{ name: 'rasket', sha256: sum }] }, undefined, 2));
      fs.rmSync(at('manifest.json.sig'));
      keygen('-Y', 'sign', '-f', at('release'), '-n', 'rasket-release', at('manifest.json'));
      make();
      for (const more of [['--dry-run'], []]) {
        const ended = install('--file', at('one-file'), '--key', at('release.pub'), ...more);
        expect(ended).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(says) });
      }
      expect(fs.existsSync(at('was-run'))).toBe(false);
      expect(fs.existsSync(at('stage'))).toBe(false);
    });

    it('refuses a release that is older than the installed one, unless --allow-older is given', () => {
      const sign = (version: string): void => {
        fs.writeFileSync(at('one-file'), ONE_FILE.replace('echo 0.0.0', `echo ${version}`), { mode: 0o755 });
        const sum = createHash('sha256')
          .update(fs.readFileSync(at('one-file')))
          .digest('hex');
        const files = [{ name: 'rasket', sha256: sum }];
        fs.writeFileSync(at('manifest.json'), JSON.stringify({ files }, undefined, 2));
        fs.rmSync(at('manifest.json.sig'));
        keygen('-Y', 'sign', '-f', at('release'), '-n', 'rasket-release', at('manifest.json'));
      };
      const words = ['--file', at('one-file'), '--key', at('release.pub')];
      for (const version of ['0.2.9+0badcafe', '0.10.0', '0.10.0+0badcafe']) {
        sign(version);
        expect(install(...words), version).toMatchObject({ status: 0, stderr: '' });
      }
      sign('0.9.9+0badcafe');
      for (const more of [['--dry-run'], []])
        expect(install(...words, ...more)).toMatchObject({
          status: 1,
          stdout: '',
          stderr: expect.stringContaining(
            'older than the installed 0.10.0+0badcafe; to go back to it, add --allow-older',
          ),
        });
      expect(read('stage/opt/rasket/bin/rasket')).toContain('0.10.0+0badcafe');
      expect(install(...words, '--allow-older')).toMatchObject({ status: 0, stderr: '' });
      expect(read('stage/opt/rasket/bin/rasket')).toContain('0.9.9+0badcafe');
    });

    it('asks for the public key if no installed program has one', () => {
      expect(install('--file', at('one-file'))).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('name its file with --key FILE'),
      });
    });
  });

  it.each([
    { how: 'an executable', args: ['--file', '/bin/true'], missing: 'useradd' },
    { how: 'the checkout', args: [], missing: 'npm' },
  ])('reports with --dry-run that $missing is missing, which installing $how needs', ({ args, missing }) => {
    const tools = path.join(folder, 'tools');
    fs.mkdirSync(tools);
    for (const tool of ['id', 'ls', 'uname']) fs.symlinkSync(`/bin/${tool}`, path.join(tools, tool));
    const words = [path.join(root, 'install.sh'), ...args, '--dry-run'];
    expect(spawnSync('/bin/sh', words, { encoding: 'utf8', env: { PATH: tools } })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `install.sh: ${missing} was not found in PATH and is needed to install.\n`,
    });
  });

  it.each([['--dry-run'], []])('refuses an executable that is not rasket (%j)', (...more) => {
    const words = [path.join(root, 'install.sh'), '--destdir', folder, '--file', '/bin/true', ...more];
    expect(spawnSync('sh', words, { encoding: 'utf8' })).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('--file /bin/true is not rasket'),
    });
  });

  it('does not put a single file in the place of the checkout it is called from', () => {
    const checkout = path.join(folder, 'same/opt/rasket');
    fs.mkdirSync(path.join(checkout, 'bin'), { recursive: true });
    for (const folderOfIt of ['systemd', 'config']) fs.mkdirSync(path.join(checkout, folderOfIt));
    for (const name of [
      'install.sh',
      'bin/rasket',
      'package-lock.json',
      'systemd/rasket.service',
      'config/default.toml',
    ])
      fs.copyFileSync(path.join(root, name), path.join(checkout, name));
    const words = [path.join(checkout, 'install.sh'), '--destdir', path.join(folder, 'same'), '--file', oneFile()];
    expect(spawnSync('sh', words, { encoding: 'utf8' })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`this checkout is in ${checkout}, where the file would be installed`),
    });
    expect(fs.readdirSync(checkout).sort()).toEqual(['bin', 'config', 'install.sh', 'package-lock.json', 'systemd']);
  });

  it('puts another prefix into the link, the unit and the settings', () => {
    expect(install('--destdir', folder, '--prefix', '/srv/mail/rasket').status).toBe(0);
    expect(fs.existsSync(path.join(folder, 'srv/mail/rasket/bin/rasket'))).toBe(true);
    expect(read('etc/systemd/system/rasket.service')).toContain('ExecStart=/srv/mail/rasket/bin/rasket serve\n');
    expect(read('etc/systemd/system/rasket.service')).not.toContain('/opt/rasket/');
    expect(read('etc/rasket/rasket.toml')).toContain('/srv/mail/rasket/config/default.toml');
  });

  it('removes the program and keeps settings and mail with --uninstall', () => {
    install('--destdir', folder);
    fs.writeFileSync(path.join(folder, 'var/lib/rasket/rasket.db'), 'mail');
    expect(install('--destdir', folder, '--uninstall').status).toBe(0);
    expect(fs.existsSync(path.join(folder, 'opt/rasket'))).toBe(false);
    expect(fs.existsSync(path.join(folder, 'etc/systemd/system/rasket.service'))).toBe(false);
    expect(fs.readdirSync(path.join(folder, 'usr/local/bin'))).toEqual([]);
    expect(read('var/lib/rasket/rasket.db')).toBe('mail');
    expect(fs.existsSync(path.join(folder, 'etc/rasket/rasket.toml'))).toBe(true);
  });

  it('does not remove a folder that is not the program', () => {
    fs.mkdirSync(path.join(folder, 'opt/other'), { recursive: true });
    fs.writeFileSync(path.join(folder, 'opt/other/precious'), '');
    install('--destdir', folder, '--uninstall', '--prefix', '/opt/other');
    expect(fs.existsSync(path.join(folder, 'opt/other/precious'))).toBe(true);
  });

  it('does not replace a folder that is not the program, or a checkout', () => {
    for (const precious of ['srv/other/precious', 'srv/checkout/.git/precious']) {
      fs.mkdirSync(path.join(folder, path.dirname(precious)), { recursive: true });
      fs.writeFileSync(path.join(folder, precious), '');
    }
    for (const [prefix, why] of [
      ['/srv/other', 'contains other files, which would be removed'],
      ['/srv/checkout', 'is a checkout'],
    ] as const) {
      const ended = install('--destdir', folder, '--prefix', prefix);
      expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining(why) });
    }
    expect(fs.existsSync(path.join(folder, 'srv/other/precious'))).toBe(true);
    expect(fs.existsSync(path.join(folder, 'srv/checkout/.git/precious'))).toBe(true);
    expect(fs.readdirSync(folder)).toEqual(['srv']);
  });

  it('does not take a system folder for the program because a link is there, with --uninstall', () => {
    fs.mkdirSync(path.join(folder, 'usr/bin'), { recursive: true });
    fs.writeFileSync(path.join(folder, 'usr/bin/rasket'), '');
    for (const prefix of ['/usr/', '/usr/.', '//usr'])
      expect(install('--destdir', folder, '--uninstall', '--prefix', prefix)).toMatchObject({ status: 1 });
    expect(fs.existsSync(path.join(folder, 'usr/bin/rasket'))).toBe(true);
  });

  it.each([
    '/',
    '/usr',
    '/opt/',
    '/opt//',
    '/opt/.',
    '/srv',
    '//srv',
    'opt/rasket',
    '/opt/../etc',
    '/opt/a b',
    '/opt/x;y',
    '/home/rasket/program',
    '/var/lib/rasket',
    '/var/lib/rasket/',
    '/var/lib/rasket/program',
  ])('refuses the prefix %s', (prefix) => {
    expect(install('--destdir', folder, '--prefix', prefix)).toMatchObject({ status: 1 });
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it.each([['--prefix'], ['--force'], ['--destdir']])('explains itself when it is called with %s alone', (argument) => {
    expect(install(argument)).toMatchObject({ status: 64, stderr: expect.stringContaining('usage') });
  });
});

describe('the shipped files:', () => {
  const has = (command: string): boolean => spawnSync('/bin/sh', ['-c', `command -v ${command}`]).status === 0;

  it.each(['bin/rasket', 'bin/ensure-installed', 'install.sh'])('%s is plain POSIX shell and executable', (file) => {
    const shell = has('dash') ? 'dash' : 'sh';
    expect(() => execFileSync(shell, ['-n', path.join(root, file)], { stdio: 'pipe' })).not.toThrow();
    expect(fs.readFileSync(path.join(root, file), 'utf8')).not.toMatch(/\[\[|\bfunction \w+|\blocal \w+=|<<</);
    expect(fs.statSync(path.join(root, file)).mode & 0o111).toBe(0o111);
  });

  it.each(['.ci/run', '.ci/install'])('%s is valid bash and executable', (file) => {
    expect(() => execFileSync('bash', ['-n', path.join(root, file)], { stdio: 'pipe' })).not.toThrow();
    expect(fs.statSync(path.join(root, file)).mode & 0o111).toBe(0o111);
  });

  // runs only where systemd's own checker is installed
  it.runIf(has('systemd-analyze'))('rasket.service is accepted by systemd', () => {
    const unit = path.join(folder, 'rasket.service');
    const text = fs.readFileSync(path.join(root, 'systemd/rasket.service'), 'utf8');
    fs.writeFileSync(unit, text.replaceAll('/opt/rasket', root));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
    expect(stderr).not.toMatch(/rasket\.service/);
    expect(status).toBe(0);
  });

  // runs only where systemd's own checker is installed
  it.runIf(has('systemd-analyze'))('rasket.service has an exposure of 2.0 or better', () => {
    const unit = path.join(folder, 'rasket.service');
    fs.copyFileSync(path.join(root, 'systemd/rasket.service'), unit);
    const readExposure = (file: string) =>
      spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager', file], {
        encoding: 'utf8',
      });
    const judged = readExposure(unit);
    expect(judged.status, judged.stdout + judged.stderr).toBe(0);
    // A unit without its restrictions is reported.
    const open = path.join(folder, 'open.service');
    fs.writeFileSync(open, fs.readFileSync(unit, 'utf8').replaceAll(/^(Protect|Restrict|System|Private).*$/gm, ''));
    expect(readExposure(open).status).not.toBe(0);
  });
});
