import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { scratchFolder } from '../rig/scratch.ts';
import { Browsing } from '../rig/sso.ts';
import { freePort } from '../rig/free-port.ts';

/** The folders that its packages may be in: unpacked for these tests alone (`.ci/run`), or installed. */
const ROOTS = ['/usr/local/lib/lemonldap-ng', ''];

export interface Lemonldap {
  issuer: string;
  clientId: string;
  secret: string;
  /** Its key is another one from now on. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export const findLemonldap = (): string | undefined =>
  ROOTS.find((root) =>
    ['/usr/share/perl5/Lemonldap/NG/Portal/Main.pm', '/usr/bin/plackup'].every((file) => existsSync(root + file)),
  );

/** The portal of LemonLDAP::NG on loopback, with the three people of its demonstration, whose passwords are their names. */
export async function startLemonldap({ redirectUri }: { redirectUri: string }): Promise<Lemonldap> {
  const root = findLemonldap();
  if (root === undefined) throw new Error('lemonldap-ng is not installed');
  const folder = scratchFolder('rasket-lemonldap-');
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const client = { clientId: 'rasket', secret: 'a-secret: with signs+&=%' };
  let [child, said, keys]: [ChildProcess | undefined, string, number] = [undefined, '', 0];
  const configure = (): void =>
    writeFileSync(
      path.join(folder, 'conf/lmConf-1.json'),
      JSON.stringify(configuration({ ...client, issuer, folder, redirectUri, key: `key ${++keys}` })),
    );
  const start = async (): Promise<void> => {
    const args = ['--host', '127.0.0.1', '--port', String(port), '--server', 'HTTP::Server::PSGI'];
    const program = [`${root}/usr/bin/plackup`, '--env', 'deployment', ...args, path.join(folder, 'portal.psgi')];
    child = spawn('perl', program, { env: environment(root, folder), stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes: Buffer) => (said += bytes.toString()));
    const isUp = () => fetch(`${issuer}/oauth2/jwks`).then(({ status }) => status === 200 || said, String);
    await expect.poll(isUp, { interval: 100 }).toBe(true);
  };
  const stop = async (): Promise<void> => {
    child?.kill('SIGKILL');
    if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    child = undefined;
  };
  const close = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  const rotate = async (): Promise<void> => {
    await stop();
    configure();
    await start();
  };
  lay(folder, root);
  configure();
  await start().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { ...client, issuer, start, stop, close, rotate };
}

function lay(folder: string, root: string): void {
  for (const name of ['conf', 'sessions', 'persistent', 'locks', 'lib']) mkdirSync(path.join(folder, name));
  writeFileSync(
    path.join(folder, 'lemonldap-ng.ini'),
    `[all]\nlogLevel = warn\nlogger = Lemonldap::NG::Common::Logger::Std\n[configuration]\ntype = File\ndirName = ${folder}/conf\n` +
      `[portal]\ntemplateDir = ${root}/usr/share/lemonldap-ng/portal/templates\nstaticPrefix = /static\nlanguages = en\n`,
  );
  writeFileSync(
    path.join(folder, 'portal.psgi'),
    `use Lemonldap::NG::Portal::Main;\nLemonldap::NG::Portal::Main->run({ configStorage => { confFile => '${folder}/lemonldap-ng.ini' } });\n`,
  );
  // The module of pictures that come with it takes ImageMagick to load, also where nobody is shown one.
  writeFileSync(
    path.join(folder, 'lib/NoCaptcha.pm'),
    "package NoCaptcha;\nuse Mouse;\nextends 'Lemonldap::NG::Portal::Main::Plugin';\nsub init { 1 }\n1;\n",
  );
}

function environment(root: string, folder: string): NodeJS.ProcessEnv {
  const compiled = `${root}/usr/lib`;
  const architectures = root === '' || !existsSync(compiled) ? [] : readdirSync(compiled);
  const folders = architectures.flatMap((name) => {
    const perl5 = path.join(compiled, name, 'perl5');
    return existsSync(perl5) ? readdirSync(perl5).map((version) => path.join(perl5, version)) : [];
  });
  const all = [path.join(folder, 'lib'), ...(root === '' ? [] : [`${root}/usr/share/perl5`]), ...folders];
  return { PATH: process.env.PATH, PERL5LIB: all.join(':'), LLNG_DEFAULTCONFFILE: `${folder}/lemonldap-ng.ini` };
}

interface Wanted {
  issuer: string;
  folder: string;
  redirectUri: string;
  clientId: string;
  secret: string;
  key: string;
}

function configuration({ issuer, folder, redirectUri, clientId, secret, key }: Wanted): object {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const filesIn = (name: string) => ({ Directory: `${folder}/${name}`, LockDirectory: `${folder}/locks` });
  const generateModule = 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256';
  return {
    cfgNum: 1,
    cfgDate: 1,
    cfgAuthor: 'test',
    key: 'only of this test',
    captcha: 'NoCaptcha',
    portal: `${issuer}/`,
    domain: '127.0.0.1',
    cookieName: 'lemonldap',
    securedCookie: 0,
    whatToTrace: 'uid',
    authentication: 'Demo',
    userDB: 'Same',
    passwordDB: 'Null',
    registerDB: 'Null',
    demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' },
    exportedVars: {},
    macros: { verified: '1' },
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: { ...filesIn('sessions'), generateModule },
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: filesIn('persistent'),
    localSessionStorage: '',
    locationRules: { default: { default: 'accept' } },
    exportedHeaders: {},
    issuerDBOpenIDConnectActivation: 1,
    issuerDBOpenIDConnectPath: '^/oauth2/',
    issuerDBOpenIDConnectRule: 1,
    oidcServiceMetaDataIssuer: issuer,
    oidcServiceAllowAuthorizationCodeFlow: 1,
    oidcServiceKeyIdSig: key,
    oidcServicePrivateKeySig: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    oidcServicePublicKeySig: publicKey.export({ type: 'spki', format: 'pem' }),
    oidcRPMetaDataOptions: {
      [clientId]: {
        oidcRPMetaDataOptionsClientID: clientId,
        oidcRPMetaDataOptionsClientSecret: secret,
        oidcRPMetaDataOptionsRedirectUris: redirectUri,
        oidcRPMetaDataOptionsBypassConsent: 1,
        oidcRPMetaDataOptionsRequirePKCE: 1,
        oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
        oidcRPMetaDataOptionsUserIDAttr: 'uid',
      },
    },
    oidcRPMetaDataExportedVars: {
      [clientId]: { email: 'mail', name: 'cn', email_verified: 'verified;bool;auto' },
    },
  };
}

/** Types name and password into the portal's form; answers the address that it leads back to. */
export async function throughPortal(from: string, person: string): Promise<string> {
  const portal = new Browsing();
  const { text } = await portal.get(from);
  const readValue = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
  const response = await fetch(new URL('/oauth2/authorize', from), {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: [...portal.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    body: new URLSearchParams({ user: person, password: person, token: readValue('token'), url: readValue('url') }),
  });
  const location = response.headers.get('location');
  if (location === null)
    throw new Error(`the portal answered ${response.status}: ${(await response.text()).slice(0, 2000)}`);
  return location;
}
