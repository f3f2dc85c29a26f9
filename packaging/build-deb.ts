/** Makes a Debian package of `dist/rasket`: `node packaging/build-deb.ts [--compress gzip]`. It needs dpkg-deb and no root. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { root, versionOf } from './modules.ts';

const HOME = '/usr/lib/rasket';
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' };
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
/** What no mode says otherwise of. */
const [FILE, PROGRAM] = [0o644, 0o755];

type Put = (name: string, content: string | Uint8Array, mode?: number) => void;

export function buildDeb(program: string, compress: string): string {
  // Folders of a package are for everyone to read, whatever the umask of the builder.
  process.umask(0o022);
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const target = path.join(path.dirname(program), `rasket_${versionOf()}_${architecture}.deb`);
  const tree = mkdtempSync(`${target}.work-`);
  try {
    chmodSync(tree, PROGRAM);
    const put: Put = (name, content, mode = FILE) => {
      const file = path.join(tree, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      chmodSync(file, mode);
    };
    putProgram(tree, program, put);
    putManuals(tree, program, put);
    putControl(tree, architecture, put);
    const words = ['--root-owner-group', `-Z${compress}`, '--build', tree, target];
    execFileSync('dpkg-deb', words, { stdio: ['ignore', 'ignore', 'inherit'] });
    return target;
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

function putProgram(tree: string, program: string, put: Put): void {
  const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
  const place = path.join(tree, HOME, 'bin/rasket');
  mkdirSync(path.dirname(place), { recursive: true });
  copyFileSync(program, place);
  chmodSync(place, PROGRAM);
  mkdirSync(path.join(tree, 'usr/bin'), { recursive: true });
  symlinkSync('../lib/rasket/bin/rasket', path.join(tree, 'usr/bin/rasket'));
  const installation = {
    data: '/var/lib/rasket',
    config: '/etc/rasket/rasket.toml',
    environment: '/etc/rasket/environment',
  };
  put(`${HOME}/.installation.json`, `${JSON.stringify(installation)}\n`);
  put(
    'usr/lib/systemd/system/rasket.service',
    read('systemd/rasket.service')
      .replaceAll('/opt/rasket', HOME)
      .replace(
        'install.sh, which puts the folder of the program in place of',
        'the package, from the copy of the program in',
      ),
  );
  put('usr/lib/sysusers.d/rasket.conf', read('packaging/debian/sysusers.conf'));
  put('etc/rasket/rasket.toml', read('packaging/debian/rasket.toml'), 0o640);
  put('usr/share/doc/rasket/default.toml', read('config/default.toml'));
  put('usr/share/doc/rasket/changelog.gz', gzipSync(read('CHANGELOG.md'), { level: 9 }));
  put('usr/share/doc/rasket/copyright', COPYRIGHT);
}

function putManuals(tree: string, program: string, put: Put): void {
  const folder = path.join(tree, 'usr/share/man/man1');
  mkdirSync(folder, { recursive: true });
  const rasket = (...words: string[]): Buffer =>
    execFileSync(program, words, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  rasket('man', '--to', folder);
  for (const name of readdirSync(folder)) {
    const page = readFileSync(path.join(folder, name));
    rmSync(path.join(folder, name));
    put(`usr/share/man/man1/${name}.gz`, gzipSync(page, { level: 9 }));
  }
  put('usr/share/bash-completion/completions/rasket', rasket('completion', 'bash'));
  put('usr/share/zsh/vendor-completions/_rasket', rasket('completion', 'zsh'));
  put('usr/share/fish/vendor_completions.d/rasket.fish', rasket('completion', 'fish'));
}

function putControl(tree: string, architecture: string, put: Put): void {
  const { DEBFULLNAME: name = 'rasket', DEBEMAIL: address = 'rasket@localhost' } = process.env;
  const kilobytes = filesIn(tree).reduce((sum, file) => sum + Math.ceil(statSync(file).size / 1024), 0);
  const control = {
    Package: 'rasket',
    Version: versionOf(),
    Architecture: architecture,
    Maintainer: `${name} <${address}>`,
    'Installed-Size': String(kilobytes),
    Depends: 'libc6 (>= 2.28), libgcc-s1, libstdc++6, systemd-standalone-sysusers | systemd | passwd, ca-certificates',
    Section: 'mail',
    Priority: 'optional',
    Description:
      'self-hosted email service\n Applications send by a REST API or by SMTP; rasket signs, delivers, retries,\n receives, and reports every step by webhooks.',
  };
  put(
    'DEBIAN/control',
    Object.entries(control)
      .map(([field, value]) => `${field}: ${value}\n`)
      .join(''),
  );
  put('DEBIAN/conffiles', '/etc/rasket/rasket.toml\n');
  for (const script of SCRIPTS)
    put(`DEBIAN/${script}`, readFileSync(path.join(root, 'packaging/debian', script)), PROGRAM);
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rasket

Files: *
Copyright: the authors of rasket
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.
`;

const { values } = parseArgs({ options: { compress: { type: 'string', default: 'xz' } } });
console.log(buildDeb(path.join(root, 'dist/rasket'), values.compress));
