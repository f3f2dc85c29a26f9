/**
 * Performs one operation with the desktop's keyring and exits: a request as JSON on standard input, the result on
 * standard output. `keyring.ts` starts it, and says why it is a process of its own.
 */
import { readFileSync } from 'node:fs';
import type { KeyringAnswer, KeyringAsk, KeyringName } from './keyring.ts';

const SERVICE = 'rasket';

/** The functions that both packages have. */
interface Keyring {
  get(account: string): Promise<string | null>;
  set(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<boolean>;
}

interface Keytar {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, secret: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

/** The addon exists only if it could be built, so the compiler must not require it. */
async function openKeytar(): Promise<Keyring> {
  const name: string = 'keytar';
  const { default: keytar } = (await import(name)) as { default: Keytar };
  return {
    get: (account) => keytar.getPassword(SERVICE, account),
    set: (account, secret) => keytar.setPassword(SERVICE, account, secret),
    remove: (account) => keytar.deletePassword(SERVICE, account),
  };
}

/** Pinned: left to itself it takes the kernel's keyring instead, which forgets everything when the machine is started again. */
async function openSecretService(): Promise<Keyring> {
  const { AsyncEntry } = await import('@napi-rs/keyring');
  const entry = (account: string) => new AsyncEntry(SERVICE, account, { linux: { store: 'secret-service' } });
  return {
    get: (account) => entry(account).getPassword(),
    set: (account, secret) => entry(account).setPassword(secret),
    remove: (account) => entry(account).deletePassword(),
  };
}

const OPENERS: Record<KeyringName, () => Promise<Keyring>> = {
  keytar: openKeytar,
  'secret-service': openSecretService,
};

async function answer({ verb, account, secret, from }: KeyringAsk): Promise<KeyringAnswer> {
  const why: KeyringAnswer['why'] = {};
  let by: KeyringName | undefined;
  for (const name of Object.keys(OPENERS) as KeyringName[]) {
    if (from !== undefined && from !== name) continue;
    try {
      const keyring = await OPENERS[name]();
      if (verb === 'set') await keyring.set(account, secret ?? '');
      if (verb === 'remove') {
        if (await keyring.remove(account)) by ??= name;
        continue;
      }
      return { by: name, why, secret: await keyring.get(account) };
    } catch (error) {
      why[name] = formatReason(error);
    }
  }
  return { ...(by && { by }), why };
}

/** Returns one line, without the paths of the require stack of a missing module. */
function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (/Cannot find (module|package|native binding)/.test(text)) return 'it is not installed on this machine';
  return (text.split('\n')[0] ?? '').trim();
}

process.stdout.write(JSON.stringify(await answer(JSON.parse(readFileSync(0, 'utf8')) as KeyringAsk)));
